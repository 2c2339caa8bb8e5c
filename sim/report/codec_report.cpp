#include "sim/report/codec_report.hpp"

#include <cmath>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/report/table.hpp"
#include "sim/schedule/codec.hpp"

namespace allreplay {

namespace {

constexpr Word<Aggregation> aggregations[] = {{Aggregation::AllReduce, "all-reduce"},
                                              {Aggregation::AllGather, "all-gather"},
                                              {Aggregation::GTopKTree, "gtopk-tree"}};

// Whether the codec's payload depends on this option.
bool reads(const CodecRequest& request, std::string_view option) {
  return find_codec(request.codec->name, {}).option == option;
}

std::string described(const CodecRequest& request) {
  if (reads(request, "density")) return fmt::format("{}, density {}", request.codec->name, request.options.density);
  if (reads(request, "bits")) return fmt::format("{}, {} bits", request.codec->name, request.options.bits);
  return std::string(request.codec->name);
}

double ratio(const CodecMeasurement& report) {
  return 4 * static_cast<double>(report.request.elements) / static_cast<double>(report.round_trip.bytes);
}

}  // namespace

std::string codec_table(const CodecMeasurement& report, const Screen& screen) {
  const CodecRequest& request = report.request;
  const RoundTrip& one = report.round_trip;
  const auto share = [](double value) { return TableCell(fmt::format("{:.4g}", value)); };
  const auto after = fmt::format("mean of {}", request.iterations);
  std::string text =
      fmt::format("{}: {} {} elements in fp32, {} -> {} on the wire (1/{:.4g})\n\n", described(request),
                  request.elements, name_of(distributions, request.distribution), format_size(4 * request.elements),
                  format_size(static_cast<Bytes>(one.bytes)), ratio(report));
  text +=
      fmt::format("processor time on this machine's {} (one core, median of {})\n", report.device, request.repetitions);
  text = wrapped(text, screen.width);
  Table times({"", "time", "per element"});
  for (const auto& [name, seconds] : {std::pair("encode", one.encode_s), {"decode", one.decode_s}})
    times.add({name, cell::seconds(seconds), cell::seconds(seconds / static_cast<double>(request.elements))});
  Table errors({"one worker", "relative error"});
  errors.add({"one round trip", share(one.error)});
  errors.add({"  its cosine", share(one.cosine)});
  errors.add({after + " round trips", share(one.mean_error)});
  if (one.mean_error_feedback) errors.add({"  with error feedback", share(*one.mean_error_feedback)});
  text += times.text(screen) + "\n" + errors.text(screen);
  if (!report.aggregated) return text;
  const Aggregated& all = *report.aggregated;
  Table rows(
      {fmt::format("{}, {}", counted(request.workers, "worker"), name_of(aggregations, request.codec->aggregation)),
       ""});
  rows.add({"sent, and received, by a worker", format_size(static_cast<Bytes>(std::llround(all.bytes)))});
  rows.add({"error of the first mean", share(all.error)});
  rows.add({fmt::format("error of the sum of {} means", request.iterations), share(all.total_error)});
  if (all.lost)
    rows.add({fmt::format("lost share of the update ({} residuals)", name_of(residual_rules, request.residuals)),
              share(*all.lost)});
  return text + "\n" + rows.text(screen);
}

JsonValue codec_json(const CodecMeasurement& report) {
  const CodecRequest& request = report.request;
  const RoundTrip& one = report.round_trip;
  auto options = JsonValue::object();
  if (reads(request, "density")) options["density"] = request.options.density;
  if (reads(request, "bits")) options["bits"] = request.options.bits;
  JsonValue json{{"codec", request.codec->name},
                 {"elements", request.elements},
                 {"options", options},
                 {"distribution", name_of(distributions, request.distribution)},
                 {"seed", request.options.seed},
                 {"bytes", one.bytes},
                 {"ratio", ratio(report)},
                 {"device", report.device},
                 {"encode_s", one.encode_s},
                 {"decode_s", one.decode_s},
                 {"repetitions", request.repetitions},
                 {"iterations", request.iterations},
                 {"error", one.error},
                 {"cosine", one.cosine},
                 {"mean_error", one.mean_error},
                 {"mean_error_feedback", one.mean_error_feedback},
                 {"workers", request.workers},
                 {"aggregated", nullptr}};
  if (const auto& all = report.aggregated)
    json["aggregated"] = {{"collective", name_of(aggregations, request.codec->aggregation)},
                          {"correlation", request.correlation},
                          {"bytes_per_worker", all->bytes},
                          {"error", all->error},
                          {"total_error", all->total_error},
                          {"residuals", name_of(residual_rules, request.residuals)},
                          {"lost", all->lost}};
  return json;
}

}  // namespace allreplay
