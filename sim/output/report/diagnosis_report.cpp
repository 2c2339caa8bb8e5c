#include "sim/output/report/diagnosis_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr std::size_t most_slowest = 5;
constexpr double noticeable = 0.005;  // share of a step for which a rank is waited for
constexpr double noteworthy = 0.05;   // share of a step that the replay misses, of ops that contradict the clocks

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Fixing something can make a step faster than the ideal one, or slower than it was; neither counts as waste.
double waste_share(double mended) { return std::clamp(mended, 0.0, 1.0); }

double slowdown_of(const Diagnosis& known, const WorkerPlace& worker) {
  return known.by_worker[known.job.worker(worker.first, worker.second)];
}

// By stage, then replica.
std::vector<WorkerPlace> all_workers(const Diagnosis& known) {
  std::vector<WorkerPlace> workers;
  for (std::uint32_t stage = 0; stage < known.job.graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < known.job.graph.replicas; ++replica) workers.emplace_back(replica, stage);
  return workers;
}

// Names whole replicas first: "replica 2", "worker 5 (replica 1, stage 2)".
JsonValue names_of(const Diagnosis& known, const std::vector<WorkerPlace>& workers) {
  const std::uint32_t stages = known.job.graph.stages;
  std::map<std::uint32_t, std::uint32_t> counts;  // by replica
  for (const auto& [replica, stage] : workers) ++counts[replica];
  auto names = JsonValue::array();
  const auto is_whole = [&](std::uint32_t replica) { return stages > 1 && counts[replica] == stages; };
  for (const auto& [replica, count] : counts)
    if (is_whole(replica)) names.push_back(fmt::format("replica {}", replica));
  for (const WorkerPlace& worker : workers)
    if (!is_whole(worker.first)) names.push_back(worker_name(known, worker));
  return names;
}

double computes_of_stage(const Diagnosis& known, std::size_t stage) {
  return known.stage_compute_s[stage].forward + known.stage_compute_s[stage].backward;
}

// Divides a stage's compute time by the mean of the other stages'.
double compute_ratio(const Diagnosis& known, std::size_t heavy) {
  double others = 0;
  for (std::size_t stage = 0; stage < known.stage_compute_s.size(); ++stage)
    if (stage != heavy) others += computes_of_stage(known, stage);
  return computes_of_stage(known, heavy) * static_cast<double>(known.stage_compute_s.size() - 1) / others;
}

JsonValue passes(const PassPair& pair) {
  return {{"forward-compute", pair.forward}, {"backward-compute", pair.backward}};
}

JsonValue pairs_of(const std::vector<WorkerPlace>& workers) {
  return array_of(workers, [](const WorkerPlace& one) { return std::vector<std::uint32_t>{one.first, one.second}; });
}

JsonValue numbered(const std::vector<double>& values) {
  auto object = JsonValue::object();
  for (std::size_t i = 0; i < values.size(); ++i) object[std::to_string(i)] = values[i];
  return object;
}

// Returns the largest of the workers' compute ratios; none with one replica.
std::optional<double> largest_ratio(const Diagnosis& known, const std::vector<WorkerPlace>& workers) {
  const std::vector<double> ratios = compute_ratios(known);
  if (ratios.empty() || workers.empty()) return std::nullopt;
  double largest = 0;
  for (const auto& [replica, stage] : workers) largest = std::max(largest, ratios[known.job.worker(replica, stage)]);
  return largest;
}

JsonValue finding_json(const Diagnosis& known, const Finding& found) {
  JsonValue object{{"what", std::string(name_of(finding_words, found.what))}, {"M", found.mended}};
  if (!found.workers.empty()) object["workers"] = pairs_of(found.workers);
  if (found.what == Finding::What::Stage) object["stage"] = found.number;
  if (found.what == Finding::What::Replica) object["replica"] = found.number;
  if (!found.kind.empty()) object["kind"] = found.kind;
  if (!found.workers.empty()) object["names"] = names_of(known, found.workers);
  if (found.what == Finding::What::Stage) object["compute_ratio"] = compute_ratio(known, found.number);
  if (found.what == Finding::What::Replica) object["compute_ratio"] = compute_ratio_of_replica(known, found.number);
  if (const auto ratio = largest_ratio(known, found.workers)) object["compute_ratio"] = *ratio;
  object["step_s"] = known.iteration_without_s(found.mended);
  object["waste_share"] = waste_share(found.mended);
  if (found.as_others_s)
    object.update(
        {{"as_others_s", *found.as_others_s}, {"saved_share", 1 - *found.as_others_s / known.mean_replayed_s()}});
  return object;
}

// Doubts about the numbers, and time that no op accounts for.
JsonValue notes_on(const Diagnosis& known) {
  auto notes = JsonValue::array();
  const double lost = std::abs(mean_of(known.measured_s) - known.mean_replayed_s());
  if (known.replay_error > noteworthy) {
    JsonValue note{{"note", "time between ops"}, {"share", known.replay_error}, {"lost_s", lost}};
    const double longest = *std::max_element(known.gap_s.begin(), known.gap_s.end());
    std::vector<WorkerPlace> late = all_workers(known);
    std::erase_if(late, [&](const WorkerPlace& one) {
      return known.gap_s[known.job.worker(one.first, one.second)] < 0.5 * longest;
    });
    if (longest > 0) note.update({{"workers", names_of(known, late)}, {"longest_s", longest}});
    notes.push_back(std::move(note));
  }
  if (known.replay_error < -noteworthy)
    notes.push_back({{"note", "ops overlap"}, {"share", -known.replay_error}, {"lost_s", lost}});
  if (const double early = known.durations.ended_early; early > noteworthy)
    notes.push_back({{"note", "clocks differ"}, {"share", early}});
  return notes;
}

// Adds the share of the critical path; sends and receives of a direction are one kind.
double critical_share(const Diagnosis& known, const std::string& asked) {
  double share = 0;
  for (const auto& [kind, part] : known.critical_share)
    if (asked == kind || (asked == "forward-pp-comm" && (kind == "forward-send" || kind == "forward-recv")) ||
        (asked == "backward-pp-comm" && (kind == "backward-send" || kind == "backward-recv")))
      share += part;
  return share;
}

// Makes an object with a value for each worker, by "replica,stage".
template <class Value>
JsonValue by_worker(const Diagnosis& known, const Value& value_of) {
  auto object = JsonValue::object();
  for (std::uint32_t replica = 0; replica < known.job.graph.replicas; ++replica)
    for (std::uint32_t stage = 0; stage < known.job.graph.stages; ++stage)
      object[fmt::format("{},{}", replica, stage)] = value_of(known.job.worker(replica, stage));
  return object;
}

// The rows of the report's tables.
void add_rows(const Diagnosis& known, JsonValue& json) {
  json["kinds"] = array_of(known.by_kind, [&](const KindAnswer& kind) {
    return JsonValue{{"kind", kind.name},
                     {"slowdown", kind.slowdown},
                     {"waste_share", waste_share(kind.mended)},
                     {"critical_share", critical_share(known, kind.name)}};
  });
  json["stage_rows"] = JsonValue::array();
  for (std::size_t stage = 0; stage < known.by_stage.size(); ++stage)
    json["stage_rows"].push_back({{"stage", stage},
                                  {"slowdown", known.by_stage[stage]},
                                  {"forward_s", known.stage_compute_s[stage].forward},
                                  {"backward_s", known.stage_compute_s[stage].backward}});
  std::vector<WorkerPlace> workers = all_workers(known);
  std::stable_sort(workers.begin(), workers.end(), [&](const WorkerPlace& a, const WorkerPlace& b) {
    return slowdown_of(known, a) > slowdown_of(known, b);
  });
  workers.resize(std::min(workers.size(), most_slowest));
  const std::vector<double> ratios = compute_ratios(known);
  if (!ratios.empty()) json["compute_ratios"] = by_worker(known, [&](std::size_t worker) { return ratios[worker]; });
  json["slowest_workers"] = array_of(workers, [&](const WorkerPlace& worker) {
    JsonValue row{{"worker", worker_name(known, worker)}, {"slowdown", slowdown_of(known, worker)}};
    if (!ratios.empty()) row["compute_ratio"] = ratios[known.job.worker(worker.first, worker.second)];
    return row;
  });
}

JsonValue exposed_json(const ExposedTime& exposed) {
  return {{"late_rank_s", exposed.late_rank_s}, {"transfer_s", exposed.transfer_s}, {"gap_s", exposed.gap_s}};
}

// Adds the keys that only sharded jobs have: exposed collectives by unit, the last ranks, what-ifs.
void add_exposure(const Diagnosis& known, const ExpectedTimes& expected_s, JsonValue& json) {
  const Exposure& exposure = *known.exposure;
  json["exposed_gather_s"] = exposure.gathers.total_s();
  json["exposed_reduce_s"] = exposure.reductions.total_s();
  json["exposed_gather"] = exposed_json(exposure.gathers);
  json["exposed_reduce"] = exposed_json(exposure.reductions);
  std::vector<std::pair<double, JsonValue>> rows;
  json["exposed_by_unit"] = JsonValue::array();
  for (const auto& [unit, one] : exposure.units) {
    JsonValue row{{"unit", unit.first},
                  {"kind", std::string(name_of(unit.second))},
                  {"exposed_s", one.exposed.total_s()},
                  {"length_s", one.length_s}};
    row.update(exposed_json(one.exposed));
    if (unit.first < known.job.unit_names.size()) row["name"] = known.job.unit_names[unit.first];
    if (const auto size = known.job.unit_sizes.find({unit.second, unit.first});
        size != known.job.unit_sizes.end() && size->second.bytes > 0) {
      const auto bytes = static_cast<double>(size->second.bytes);
      row["bytes"] = size->second.bytes;
      if (one.length_s > 0) row["reached_GBps"] = bytes / one.length_s * 1e-9;
      if (const auto time = expected_s.find(unit); time != expected_s.end() && time->second > 0)
        row.update({{"expected_s", time->second}, {"expected_GBps", bytes / time->second * 1e-9}});
    }
    rows.emplace_back(one.exposed.total_s(), row);
    json["exposed_by_unit"].push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  json["most_exposed"] = JsonValue::array();
  for (std::size_t i = 0; i < std::min(rows.size(), most_slowest); ++i)
    if (rows[i].first > 0) json["most_exposed"].push_back(rows[i].second);
  json["waited_for_s"] = by_worker(known, [&](std::size_t worker) { return exposure.waited_for_s[worker]; });
  const auto last = static_cast<std::uint32_t>(
      std::max_element(exposure.waited_for_s.begin(), exposure.waited_for_s.end()) - exposure.waited_for_s.begin());
  if (const double waited = exposure.waited_for_s[last]; waited > noticeable * mean_of(known.measured_s))
    json["latest"] = {{"worker", worker_name(known, {last, 0})},
                      {"waited_for_s", waited},
                      {"compute_ratio", largest_ratio(known, {{last, 0}}).value_or(1)}};
  json["what_ifs"] = array_of(known.what_ifs, [&](const WhatIfAnswer& answer) {
    return JsonValue{
        {"what", answer.what}, {"step_s", answer.step_s}, {"saved_share", 1 - answer.step_s / known.mean_replayed_s()}};
  });
}

JsonValue fitted_json(const FittedJob& fitted) {
  const Calibration& line = fitted.collectives;
  JsonValue json{{"alpha", line.alpha},
                 {"beta", line.beta},
                 {"collectives", line.log.points.size()},
                 {"collective", line.algorithm->name},
                 {"workers", line.workers()}};
  if (fitted.launch) json.update({{"launch_s", fitted.launch->value}, {"gaps", fitted.launch->events}});
  for (const auto& [worker, slowdown] : fitted.stragglers)
    json["stragglers"].push_back({{"worker", worker}, {"slowdown", slowdown}});
  if (fitted.sigma) json.update({{"sigma", fitted.sigma->value}, {"ranks", fitted.sigma->events}});
  return json;
}

constexpr const char* slowest_computes =
    "The slowest computes {compute_ratio:2} times as long as the median of its stage's other replicas.";

const View& suspect_view() {
  static const View view{{
      ViewText{"Suspect: none. No worker, stage or kind of op is slow.", "what=none"},
      ViewText{"Suspect: slow workers: {names}.", "what=workers"},
      ViewText{"Suspect: slow in every step: {names}.", "what=workers-in-every-step"},
      ViewText{slowest_computes, "what=workers"},
      ViewText{slowest_computes, "what=workers-in-every-step"},
      ViewText{
          "Suspect: stage {stage}, which computes {compute_ratio:1} times as long as the others. Move layers off it.",
          "what=stage"},
      ViewText{"Suspect: micro-batches of different length. Balance the tokens.", "what=micro-batches"},
      ViewText{
          "Suspect: replica {replica}, which computes {compute_ratio:2} times as long as the median of the others.",
          "what=replica"},
      ViewText{"Suspect: {kind}, which is slow, or varies.", "what=kind"},
      ViewText{"Suspect: no worker, but the sizes of {kind}, which differ by seq.", "what=sizes"},
      ViewText{"Suspect: all durations, which vary everywhere.", "what=spread"},
      ViewText{"With one replica, a slow worker looks like a stage with too many layers.", "what=workers replicas=1"},
      ViewText{"If they were as fast as the others, a step would take {as_others_s}, {saved_share} less."},
      ViewText{"With usual times (of all, the slow ones included) a step would take {step_s}, and {waste_share} of the "
               "waste would disappear.",
               "!what=none"},
  }};
  return view;
}

const View& sharded_view() {
  static const View view{{
      ViewTable{"what_ifs", {{"if", "{what}"}, {"a step takes", "{step_s}"}, {"saved", "{saved_share}"}}},
      ViewTable{"most_exposed",
                {{"unit", "{unit}"},
                 {"name", "{name}"},
                 {"waits for", "{kind}"},
                 {"exposed", "{exposed_s}"},
                 {"late rank", "{late_rank_s}", "exposed"},
                 {"transfer", "{transfer_s}", "exposed"},
                 {"gap", "{gap_s}", "exposed"},
                 {"reached GB/s", "{reached_GBps:1}"},
                 {"cluster GB/s", "{expected_GBps:1}"}},
                3},
  }};
  return view;
}

}  // namespace

std::string worker_name(const Diagnosis& known, const WorkerPlace& worker) {
  return fmt::format("worker {} (replica {}, stage {})", known.job.ranks[known.job.worker(worker.first, worker.second)],
                     worker.first, worker.second);
}

JsonValue diagnosis_json(const Diagnosis& known, const FittedJob* fitted, const ExpectedTimes& expected_s) {
  const JobGraph& graph = known.job.graph;
  const double measured = mean_of(known.measured_s);
  JsonValue slowdowns = JsonValue::object(), mended = JsonValue::object(), shares = JsonValue::object(),
            computes = JsonValue::object();
  for (const KindAnswer& kind : known.by_kind) {
    slowdowns[kind.name] = kind.slowdown;
    mended[kind.name] = kind.mended;
  }
  for (const auto& [kind, share] : known.critical_share) shares[kind] = share;
  for (std::size_t stage = 0; stage < known.stage_compute_s.size(); ++stage)
    computes[std::to_string(stage)] = passes(known.stage_compute_s[stage]);
  const auto slowest = static_cast<std::size_t>(std::max_element(known.replayed_s.begin(), known.replayed_s.end()) -
                                                known.replayed_s.begin());
  JsonValue json{
      {"steps", known.job.steps},
      {"replicas", graph.replicas},
      {"stages", graph.stages},
      {"measured_s", known.measured_s},
      {"replayed_s", known.replayed_s},
      {"ideal_s", known.ideal_s},
      {"replay_error", known.replay_error},
      {"launch_slowdown", known.launch_slowdown},
      {"slowdown", known.slowdown},
      {"waste", known.waste},
      {"by_kind", slowdowns},
      {"by_replica", numbered(known.by_replica)},
      {"by_stage", numbered(known.by_stage)},
      {"by_worker", by_worker(known, [&](std::size_t worker) { return known.by_worker[worker]; })},
      {"worst_workers", pairs_of(known.worst_workers)},
      {"M_W", known.mended_workers},
      {"M_S", known.mended_stage},
      {"M_stage", numbered(known.mended_stages)},
      {"M_kind", mended},
      {"critical_share", shares},
      {"stage_compute_s", computes},
      {"microbatch_spread", passes(known.microbatch_spread)},
      {"fb_correlation", known.fb_correlation},
      {"suspects", known.suspects},
      {"findings", array_of(known.findings, [&](const Finding& found) { return finding_json(known, found); })},
      {"gap_share", by_worker(known, [&](std::size_t worker) { return known.gap_s[worker] / measured; })},
      {"ops", graph.ops.size()},
      {"step_count", known.job.steps.size()},
      {"mean",
       {{"measured_s", measured}, {"replayed_s", known.mean_replayed_s()}, {"ideal_s", mean_of(known.ideal_s)}}},
      {"slowest_step",
       {{"step", known.job.steps[slowest]},
        {"replayed_s", known.replayed_s[slowest]},
        {"slowdown", known.replayed_s[slowest] / known.ideal_s[slowest]}}}};
  add_rows(known, json);
  if (known.exposure) add_exposure(known, expected_s, json);
  json["notes"] = notes_on(known);
  if (fitted) json["fitted"] = fitted_json(*fitted);
  return json;
}

const View& diagnosis_view() {
  static const View view{{
      ViewFacts{
          {{"job", "replicas: {replicas}, stages: {stages}, steps: {step_count}, ops of a step: {ops}"},
           {"a step, measured", "{mean/measured_s}"},
           {"  replayed", "{mean/replayed_s} (off by {replay_error:percent})"},
           {"  ideal", "{mean/ideal_s}, if all ops of a kind took equally long"},
           {"slowdown", "{slowdown:3}: {waste:percent} of the time is wasted"},
           {"slowest step", "step {slowest_step/step}: {slowest_step/replayed_s}, slowdown {slowest_step/slowdown:3}"},
           {"waits for gathers",
            "{exposed_gather_s}: late ranks {exposed_gather/late_rank_s}, transfers {exposed_gather/transfer_s}, "
            "gaps {exposed_gather/gap_s}"},
           {"waits for reductions",
            "{exposed_reduce_s}: late ranks {exposed_reduce/late_rank_s}, transfers {exposed_reduce/transfer_s}, "
            "gaps {exposed_reduce/gap_s}"}}},
      ViewText{
          "Last to arrive at collectives: {latest/worker}. The ranks wait for it, {latest/waited_for_s} per step. It "
          "computes {latest/compute_ratio:2} times as long as the median of the others."},
      ViewEach{"findings", &suspect_view()},
      ViewNotes{},
      ViewTable{"kinds",
                {{"kind", "{kind}"},
                 {"slowdown", "{slowdown:3}"},
                 {"of the waste", "{waste_share}"},
                 {"of the critical path", "{critical_share}"}}},
      ViewTable{"stage_rows",
                {{"stage", "{stage}"},
                 {"slowdown", "{slowdown:3}"},
                 {"a forward op", "{forward_s}"},
                 {"a backward op", "{backward_s}", "a forward op"}}},
      ViewTable{"slowest_workers",
                {{"slowest workers", "{worker}"},
                 {"slowdown", "{slowdown:3}"},
                 {"computing / others'", "{compute_ratio:3}"}}},
      &sharded_view(),
      ViewText{"Slowdown: how much longer than the ideal one a step is if only these ops take their measured time; a "
               "worker's is the lesser of its replica's and its stage's. Of the waste: the share that disappears if "
               "they take the usual time. A forward or backward op: the mean of a stage's, of which a step has one for "
               "each micro-batch, bucket or unit."},
      ViewText{"Computing / others': its forward and backward ops over the median of its stage's other replicas.",
               "compute_ratios"},
  }};
  return view;
}

const View& fitted_job_view() {
  static const View view{{
      ViewFacts{{{"alpha",
                  "{fitted/alpha:time}, from {fitted/collectives} collectives ({fitted/collective} among "
                  "{fitted/workers} workers)"},
                 {"beta", "{fitted/beta:per_byte}"},
                 {"launch", "{fitted/launch_s}, from {fitted/gaps} gaps before collectives"},
                 {"stragglers", "{fitted/stragglers}"},
                 {"sigma of the ranks", "{fitted/sigma:4}, from {fitted/ranks} ranks"}}},
      ViewText{"note: two ranks are too few for a sigma to trust", "fitted/ranks=2"},
  }};
  return view;
}

}  // namespace allreplay
