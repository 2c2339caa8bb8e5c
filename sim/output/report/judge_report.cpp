#include "sim/output/report/judge_report.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_causes = 6, most_sizes = 6;  // in a text

std::string_view quantity_of(MeasuredKind kind) {
  switch (kind) {
    case MeasuredKind::Tokens:
      return "tokens_per_s_per_gpu";
    case MeasuredKind::Samples:
      return "samples_per_s_per_gpu";
    case MeasuredKind::Mfu:
      return "mfu";
    case MeasuredKind::Iteration:
      break;
  }
  return "iteration_s";
}

// The seconds of an iteration, and the quantity that was measured.
JsonValue speed_json(const Judgement& judgement, double seconds) {
  JsonValue json{{"iteration_s", seconds}};
  const MeasuredKind kind = judgement.measured.kind;
  json[std::string(quantity_of(kind))] = in_unit(judgement.expected, kind, seconds);
  return json;
}

// The measured number in the unit that was probably meant; null if the given unit may be right. A speed that is too
// high may be that of all GPUs, which is a cause.
JsonValue meant_number(const Judgement& judgement) {
  const auto& [kind, value, place] = judgement.measured;
  const bool is_time = kind == MeasuredKind::Iteration, is_mfu = kind == MeasuredKind::Mfu;
  const auto slip =
      unit_slip(judgement.measured_s / judgement.expected.result.metrics.iteration_s, is_mfu ? 100 : 1000);
  if (!slip || (!is_time && *slip > 1)) return {};
  if (is_time && *slip > 1) return fmt::format("{:g} s", value * *slip);
  if (is_time) return value < 1 ? fmt::format("{:g} us", 1e3 * value) : fmt::format("{:g} ms", value);
  if (is_mfu) return fmt::format("{:g} %", 1e4 * value);
  return fmt::format("{:g} {}/s", value / *slip, kind == MeasuredKind::Tokens ? "tokens" : "samples");
}

// Adds the speed of one GPU if the number is probably that of all GPUs ("of_all"), or was divided by their number once
// too often ("of_part"): it is far off, and then it would not be.
void add_other_gpus(JsonValue& json, const Judgement& judgement) {
  constexpr double far = 3, near = 2;  // times
  const MeasuredKind kind = judgement.measured.kind;
  const auto workers = static_cast<double>(judgement.expected.scenario.workers);
  const double ratio = judgement.measured_s / judgement.expected.result.metrics.iteration_s;
  const bool is_fast = ratio < 1;
  const double factor = is_fast ? workers : 1 / workers, there = ratio * factor;
  json["of_all"] = json["of_part"] = nullptr;
  if ((kind != MeasuredKind::Tokens && kind != MeasuredKind::Samples) ||
      judgement.verdict == SpeedVerdict::AsExpected || std::abs(std::log(ratio)) < std::log(far) ||
      std::abs(std::log(there)) > std::log(near))
    return;
  JsonValue& meant = json[is_fast ? "of_all" : "of_part"] = speed_json(judgement, judgement.measured_s * factor);
  meant["ratio"] = there;
  meant["verdict"] = name_of(speed_verdicts, verdict_on(there, judgement.error.p90_quotient()));
}

void add_cause(JsonValue& causes, const Cause& cause, double expected_s, double measured_s, bool shown) {
  causes.back().update({{"cause", cause.name},
                        {"kind", name_of(cause_kinds, cause.kind)},
                        {"explains", std::log(cause.time_s / expected_s) / std::log(measured_s / expected_s)},
                        {"ratio", measured_s / cause.time_s},
                        {"fitted", cause.is_fitted},
                        {"own_flags", cause.own_flags},
                        {"flags", cause.flags},
                        {"shown", shown}});
}

// The flags that describe the cluster, of arguments of `allreplay run`.
std::vector<std::string> cluster_flags(const std::vector<std::string>& flags) {
  const auto is_of_cluster = [](std::string_view flag) {
    const auto named = [&](const auto& rows) {
      return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return flag.substr(2) == row.name; });
    };
    const ChangeRow* change = flag.starts_with("--") ? row_named(change_rows(), flag.substr(2)) : nullptr;
    return flag == "--cluster" || (flag.starts_with("--") && named(cluster_word_rows())) ||
           (change && change->changed == Changed::Network && change->name != "interference");
  };
  std::vector<std::string> of_cluster;
  for (std::size_t i = 0; i + 1 < flags.size(); ++i)
    if (is_of_cluster(flags[i])) of_cluster.insert(of_cluster.end(), {flags[i], flags[i + 1]});
  return of_cluster;
}

std::string command_of(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return shell_words(words);
}

void add_step(JsonValue& steps, std::string_view why, const std::string& command) {
  steps.push_back({{"why", why}, {"command", command}});
}

// The command that judges the same job on fewer GPUs.
std::string on_fewer_gpus(const Judgement& judgement) {
  std::vector<std::string> flags = judgement.flags;
  const auto workers = std::find(flags.begin(), flags.end(), "--workers");
  if (workers != flags.end()) flags.erase(workers, workers + 2);
  flags.insert(flags.end(), {"--workers", std::to_string(judgement.fewer_workers), judgement.measured.place.path});
  return command_of({"allreplay", "judge"}, flags) + " NUMBER";
}

// Measurements that would confirm or rule out the best causes.
JsonValue next_steps(const Judgement& judgement) {
  std::set<CauseKind> kinds;
  const Cause* setting = nullptr;
  for (std::size_t i = 0; i < std::min<std::size_t>(judgement.causes.size(), 3); ++i) {
    kinds.insert(judgement.causes[i].kind);
    if (!setting && judgement.causes[i].kind == CauseKind::Setting) setting = &judgement.causes[i];
  }
  auto steps = JsonValue::array();
  if (kinds.contains(CauseKind::Network)) {
    add_step(steps, "the network alone, among the same GPUs", "all_reduce_perf -b 8 -e 4G -f 2 -g 1 > nccl.log");
    add_step(steps, "is that as it should be?",
             command_of({"allreplay", "judge", "nccl.log"}, cluster_flags(judgement.flags)));
  }
  if (kinds.contains(CauseKind::Worker) || kinds.contains(CauseKind::Host) || kinds.contains(CauseKind::Overlap))
    add_step(steps, "who waits for whom: traces of all ranks", "allreplay diagnose rank*.pt.trace.json.gz");
  if (kinds.contains(CauseKind::Computing) && judgement.fewer_workers > 0)
    add_step(steps, "with less communication", on_fewer_gpus(judgement));
  if (setting)
    add_step(steps, fmt::format("{}: compare with a trace", setting->name),
             command_of({"allreplay", "run"}, setting->flags) + " --timeline setting.json");
  return steps;
}

// True if a cause that a text shows is fitted, so that its sign has to be explained.
bool some_fitted(const std::vector<Cause>& causes) {
  const auto end = causes.begin() + static_cast<std::ptrdiff_t>(std::min(causes.size(), most_causes));
  return std::any_of(causes.begin(), end, [](const Cause& cause) { return cause.is_fitted; });
}

}  // namespace

JsonValue judgement_json(const Judgement& judgement) {
  const Metrics& metrics = judgement.expected.result.metrics;
  const double expected_s = metrics.iteration_s, measured_s = judgement.measured_s;
  const NearestError& error = judgement.error;
  JsonValue json{{"title", title(judgement.expected.scenario)},
                 {"strategy", strategy_text(judgement.expected.scenario)},
                 {"verdict", name_of(speed_verdicts, judgement.verdict)},
                 {"quantity", quantity_of(judgement.measured.kind)},
                 {"ratio", measured_s / expected_s},
                 {"measured", speed_json(judgement, measured_s)},
                 {"expected", speed_json(judgement, expected_s)},
                 {"fastest", speed_json(judgement, expected_s / error.p90_quotient())},
                 {"slowest", speed_json(judgement, expected_s * error.p90_quotient())},
                 {"error", error_json(error)},
                 {"causes", JsonValue::array()},
                 {"without_effect", judgement.without_effect},
                 {"left_out", judgement.left_out},
                 {"flags", judgement.flags}};
  for (std::size_t i = 0; i < judgement.causes.size(); ++i) {
    json["causes"].push_back(speed_json(judgement, judgement.causes[i].time_s));
    if (judgement.measured.kind == MeasuredKind::Iteration)  // of several quantities a text has the measured one
      json["causes"].back()["time_s"] = judgement.causes[i].time_s;
    add_cause(json["causes"], judgement.causes[i], expected_s, measured_s, i < most_causes);
  }
  json["some_fitted"] = some_fitted(judgement.causes);
  json["meant"] = meant_number(judgement);
  add_other_gpus(json, judgement);
  json["next"] = next_steps(judgement);
  json["notes"] = note_on_origin(judgement.expected.scenario.profile);
  return json;
}

const View& judgement_view() {
  static const std::string speeds =
      "[{KEY/tokens_per_s_per_gpu:0} tokens/s per GPU, ][{KEY/samples_per_s_per_gpu:2} samples/s per GPU, ][MFU "
      "{KEY/mfu}, ]{KEY/iteration_s:like expected/iteration_s} an iteration";
  const auto speed = [](const std::string& key) {
    std::string text = speeds;
    for (std::size_t at = text.find("KEY"); at != std::string::npos; at = text.find("KEY")) text.replace(at, 3, key);
    return text;
  };
  const auto per_gpu = [](const std::string& key) {
    return fmt::format(
        "then [{{{0}/tokens_per_s_per_gpu:0}} tokens/s][{{{0}/samples_per_s_per_gpu:2}} samples/s] per GPU, "
        "{{{0}/ratio:2}} times the expected time: {{{0}/verdict}}",
        key);
  };
  static const View view{{
      ViewText{"{title}"},
      ViewFacts{{{"measured", speed("measured")},
                 {"expected", speed("expected")},
                 {"as expected from", speed("slowest")},
                 {"to", speed("fastest")},
                 {"verdict", "{verdict}: {ratio:2} times the expected time[; was {meant} meant?]"},
                 {"of all GPUs?", per_gpu("of_all")},
                 {"divided twice?", per_gpu("of_part")}}},
      ViewText{"The band is the error of 9 in 10 predictions ({error/p90:percent}; median {error/median:percent}) of "
               "the nearest measurements, {error/data} ({error/points} points, {error/page})."},
      ViewText{"None of these was of this kind: {error/differs}.", "error/differs"},
      ViewTable{.rows = "causes",
                .columns = {{"each alone gives", "{cause}"},
                            {"iteration", "{time_s}"},
                            {"tokens/s", "{tokens_per_s_per_gpu:0}"},
                            {"samples/s", "{samples_per_s_per_gpu:2}"},
                            {"MFU", "{mfu}"},
                            {"gap", "{explains:percent}", "", "~ fitted"},
                            {"flags", "{own_flags:words}", "", "", true}},
                .when = "shown"},
      ViewText{"~: its size is fitted to the number, so it ranks as if it missed by the median error.", "some_fitted"},
      ViewNotes{},
      ViewList{"left_out", "left out: {.}"},
      ViewList{"next", "To measure next: {why}: `{command}`", "", 4},
  }};
  return view;
}

namespace {

JsonValue size_json(const JudgedSize& one, bool shown) {
  return {{"bytes", one.bytes},
          {"time_s", one.time_s},
          {"expected_s", one.expected_s},
          {"busbw_GBps", one.busbw_GBps},
          {"expected_busbw_GBps", one.expected_busbw_GBps},
          {"ratio", one.ratio},
          {"verdict", name_of(speed_verdicts, one.verdict)},
          {"shown", shown}};
}

JsonValue range_json(const JudgedRange& range) {
  return {{"from", range.from},
          {"to", range.to ? JsonValue(*range.to) : JsonValue()},
          {"sizes", range.sizes},
          {"slow", range.slow},
          {"fast", range.fast},
          {"ratio", range.ratio},
          {"worst", range.worst},
          {"worst_bytes", range.worst_bytes},
          {"median", range.error.median},
          {"p90", range.error.p90},
          {"verdict", name_of(speed_verdicts, range.verdict)}};
}

// By how much all times of a log are too long or short if their unit is wrong; null if it may be right.
JsonValue unit_slip_of(const LogJudgement& judgement) {
  std::set<std::optional<double>> slips;
  for (const JudgedRange& range : judgement.ranges) slips.insert(unit_slip(range.ratio));
  if (slips.size() > 1 || !*slips.begin()) return {};
  return **slips.begin() < 1 ? "longer" : "shorter";
}

JsonValue next_steps(const LogJudgement& judgement) {
  auto steps = JsonValue::array();
  if (verdict_on(judgement.ranges) == SpeedVerdict::AsExpected) return steps;
  const Network& network = judgement.scenario.cluster.network;
  if (nodes_of(network, judgement.log.workers) > 1)
    add_step(steps, "each node alone: is one of them slow?",
             fmt::format("all_reduce_perf -b 8 -e 4G -f 2 -g {} > node.log", node_workers_of(network)));
  add_step(steps, "constants that fit this log",
           command_of({"allreplay", "calibrate", judgement.log.file},
                      {"--workers", std::to_string(judgement.log.workers), "--cluster-out", "measured.json"}));
  return steps;
}

}  // namespace

JsonValue log_judgement_json(const LogJudgement& judgement) {
  const MeasurementLog& log = judgement.log;
  JsonValue json{{"file", log.file},
                 {"format", log.format},
                 {"benchmark", log.benchmark},
                 {"operation", to_string(log.operation.value_or(CollectiveOp::AllReduce))},
                 {"workers", log.workers},
                 {"cluster", named_with_routing(judgement.scenario.cluster)},
                 {"verdict", name_of(speed_verdicts, verdict_on(judgement.ranges))},
                 {"small", judgement.ranges.front().to ? range_json(judgement.ranges.front()) : JsonValue()},
                 {"large", judgement.ranges.back().to ? JsonValue() : range_json(judgement.ranges.back())},
                 {"error",
                  {{"page", "docs/generated/validation.md"},
                   {"data", judgement.errors->row},
                   {"points", judgement.errors->points},
                   {"relative_to", "measured time"}}},
                 {"ranges", JsonValue::array()},
                 {"sizes", JsonValue::array()},
                 {"causes", JsonValue::array()},
                 {"without_effect", judgement.without_effect},
                 {"left_out", judgement.left_out},
                 {"warnings", log.notes}};
  json["some_fitted"] = some_fitted(judgement.causes);
  json["fitted_miss"] = fitted_miss_in_log;
  json["unit_slip"] = unit_slip_of(judgement);
  json["error"]["other_library"] = !judgement.is_nccl;
  json["next"] = next_steps(judgement);
  for (const JudgedRange& range : judgement.ranges) json["ranges"].push_back(range_json(range));
  const std::size_t step = (judgement.sizes.size() + most_sizes - 1) / most_sizes;
  for (std::size_t i = 0; i < judgement.sizes.size(); ++i)
    json["sizes"].push_back(size_json(judgement.sizes[i], (judgement.sizes.size() - 1 - i) % step == 0));
  std::size_t causes = 0;
  for (const Cause& cause : judgement.causes)
    json["causes"].push_back({{"cause", cause.name},
                              {"kind", name_of(cause_kinds, cause.kind)},
                              {"miss", std::expm1(cause.miss)},
                              {"time_s", cause.time_s},
                              {"fitted", cause.is_fitted},
                              {"own_flags", cause.own_flags},
                              {"shown", causes++ < most_causes}});
  return json;
}

const View& log_judgement_view() {
  static const View view{{
      ViewText{
          "{file}: {operation} among {workers} workers[ ({benchmark:nonzero})], compared with {cluster}: {verdict}"},
      ViewText{"All times are about 1000 times {unit_slip} than expected: is their unit right?"},
      ViewTable{.rows = "ranges",
                .columns = {{"sizes from", "{from:exact}"},
                            {"below", "{to:exact}"},
                            {"sizes", "{sizes}"},
                            {"ratio", "{ratio:2}"},
                            {"worst", "{worst:2}"},
                            {"slow", "{slow:nonzero}"},
                            {"fast", "{fast:nonzero}"},
                            {"error, 9 in 10", "{p90:percent}"},
                            {"verdict", "{verdict}"}}},
      ViewTable{.rows = "sizes",
                .columns = {{"bytes", "{bytes:0}"},
                            {"time", "{time_s}"},
                            {"expected", "{expected_s}", "time"},
                            {"busbw GB/s", "{busbw_GBps:2}"},
                            {"expected", "{expected_busbw_GBps:2}"},
                            {"ratio", "{ratio:2}"},
                            {"verdict", "{verdict}"}},
                .when = "shown"},
      ViewText{"The error is that of {error/data} ({error/points} points, {error/page})."},
      ViewText{"These measured NCCL; of other libraries there are none.", "error/other_library"},
      ViewTable{.rows = "causes",
                .columns = {{"each alone", "{cause}"},
                            {"misses by", "{miss:percent}", "", "~ fitted"},
                            {"flags", "{own_flags:words}", "", "", true}},
                .when = "shown"},
      ViewText{"~: fitted to the log, so it ranks as if it missed by {fitted_miss:percent} more. Misses are means over "
               "sizes; `allreplay collective` with the flags prints times.",
               "some_fitted"},
      ViewList{"next", "To measure next: {why}: `{command}`", "", 4},
  }};
  return view;
}

}  // namespace allreplay
