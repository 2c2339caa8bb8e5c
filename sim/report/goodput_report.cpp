#include "sim/report/goodput_report.hpp"

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

// "1.79 h": checkpoints and failures are hours apart; a horizon has many days.
std::string long_text(double seconds) {
  for (const auto& [unit, size] : {std::pair("d", 86400.), {"h", 3600.}, {"min", 60.}})
    if (seconds >= 1e4 * size)
      return fmt::format("{:.0f} {}", seconds / size, unit);
    else if (seconds >= 2 * size)
      return fmt::format("{:.4g} {}", seconds / size, unit);
  return format_duration(seconds);
}

std::string operated_text(const Operated& operated, bool waits) {
  const std::string waited =
      waits ? fmt::format("; {} without enough nodes", long_text(operated.waited_s)) : std::string();
  return fmt::format("{} useful, {} failure{}{}", percent(operated.useful_fraction), operated.failures,
                     operated.failures == 1 ? "" : "s", waited);
}

}  // namespace

std::string goodput_report(const Goodput& goodput, const Reliability& reliability, const Screen& screen) {
  std::vector<std::pair<std::string, TableCell>> rows{
      {"nodes", cell::count(goodput.nodes)},
      {"a failure every", fmt::format("{} (of one node: {})", long_text(goodput.mtbf_s), long_text(reliability.mtbf))},
      {"checkpoint every", fmt::format("{}: {} iteration{}", long_text(goodput.chosen.seconds),
                                       goodput.interval_iterations, goodput.interval_iterations == 1 ? "" : "s")}};
  Table intervals({"interval", "time between checkpoints", "useful, expected"});
  for (const auto& [name, choice] : {std::pair("chosen", &goodput.chosen),
                                     {"exact optimum", &goodput.optimal},
                                     {"Daly", &goodput.daly},
                                     {"Young", &goodput.young}})
    intervals.add({name, long_text(choice->seconds), cell::percent(choice->useful_fraction, 3)});
  const bool waits = reliability.spares.has_value();
  std::vector<std::pair<std::string, TableCell>> after{
      {"simulated", fmt::format("over {}: {}", long_text(horizon_of(reliability, goodput.nodes)),
                                operated_text(goodput.simulated, waits))}};
  if (goodput.elastic) after.emplace_back("elastic", operated_text(*goodput.elastic, waits));
  // The formula knows no spares that run out.
  const Operated& operated = goodput.elastic ? *goodput.elastic : goodput.simulated;
  const double useful = waits ? operated.useful_fraction : goodput.chosen.useful_fraction;
  std::string verdict = fmt::format("{} of the time is useful ({}", percent(useful),
                                    waits ? fmt::format("simulated{}, with {}", goodput.elastic ? ", elastic" : "",
                                                        counted(*reliability.spares, "spare"))
                                          : "expected, with a spare whenever one is needed");
  verdict += ")";
  if (const auto& all = goodput.undisturbed_samples_per_s)
    verdict += fmt::format(": {:.4g} of {:.4g} samples/s", useful * *all, *all);
  return fmt::format("\n{}\n{}\n{}\n{}", facts(rows, screen), intervals.text(screen), facts(after, screen),
                     wrapped(verdict + "\n", screen.width));
}

std::string idle_reliability(const Reliability& reliability) {
  if (reliability.spares || (reliability.repair == 0 && !reliability.elastic)) return "";
  return fmt::format("{} nothing without --spares: a standby node is always available",
                     reliability.repair == 0 ? "elastic changes"
                     : !reliability.elastic  ? "repair changes"
                                             : "repair and elastic change");
}

JsonValue goodput_json(const Goodput& goodput) {
  JsonValue json = {{"mtbf_s", goodput.mtbf_s},
                    {"nodes", goodput.nodes},
                    {"interval_s", goodput.chosen.seconds},
                    {"interval_iterations", goodput.interval_iterations},
                    {"young_s", goodput.young.seconds},
                    {"daly_s", goodput.daly.seconds},
                    {"optimal_s", goodput.optimal.seconds},
                    {"useful_fraction", goodput.chosen.useful_fraction},
                    {"simulated_fraction", goodput.simulated.useful_fraction}};
  if (goodput.elastic) json["elastic_fraction"] = goodput.elastic->useful_fraction;
  json["failures"] = goodput.simulated.failures;
  json["waited_s"] = goodput.simulated.waited_s;
  json["samples_per_s"] = goodput.samples_per_s;
  return json;
}

}  // namespace allreplay
