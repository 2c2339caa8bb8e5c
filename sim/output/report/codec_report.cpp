#include "sim/output/report/codec_report.hpp"

#include "sim/plans/schedule/codec.hpp"

namespace allreplay {

namespace {

constexpr Word<Aggregation> aggregations[] = {{Aggregation::AllReduce, "all-reduce"},
                                              {Aggregation::AllGather, "all-gather"},
                                              {Aggregation::GTopKTree, "gtopk-tree"}};

// True if the codec's payload depends on this option.
bool reads(const CodecRequest& request, std::string_view option) {
  return find_codec(request.codec->name, {}).reads(option);
}

double ratio(const CodecMeasurement& report) {
  return 4 * static_cast<double>(report.request.elements) / static_cast<double>(report.round_trip.bytes);
}

}  // namespace

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

const View& codec_view() {
  static const View view{{
      ViewText{"{codec}[, {options:nonzero}]: {elements} {distribution} elements in fp32, {bytes} on the wire "
               "(1/{ratio})"},
      ViewText{"processor time on one core of {device}, median of {repetitions}"},
      ViewFacts{{
          {"encode", "{encode_s}"},
          {"decode", "{decode_s}"},
      }},
      ViewText{"one worker, errors relative to the exact gradient"},
      ViewFacts{{
          {"one round trip", "{error}, cosine {cosine}"},
          {"mean of several", "{mean_error}[, with error feedback {mean_error_feedback}]; round trips: {iterations}"},
      }},
      ViewText{"exchange by {aggregated/collective}, workers: {workers}"},
      ViewFacts{{
          {"sent, and received, by a worker", "{aggregated/bytes_per_worker:size}"},
          {"error of the first mean", "{aggregated/error}"},
          {"error of the sum of means", "{aggregated/total_error}; iterations: {iterations}"},
          {"lost share of the update", "{aggregated/lost} ({aggregated/residuals} residuals)"},
      }},
  }};
  return view;
}

}  // namespace allreplay
