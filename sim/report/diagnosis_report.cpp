#include "sim/report/diagnosis_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/report/calibration_report.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

constexpr std::size_t workers_shown = 5;
constexpr double noteworthy = 0.05;  // of a step that the replay misses, of ops that no one clock can have timed

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// A part of the waste in percent. Mending one thing may leave a step faster than the ideal one, whose means hold what
// is slow as well, or slower than it was: neither is waste.
double percent_of_waste(double mended) { return 100 * std::min(1.0, std::max(0.0, mended)); }

// "a step takes 4 s instead of 5.2 s (80 % of the waste)".
std::string brings(const Diagnosis& known, double mended) {
  return fmt::format("a step takes {} instead of {} ({:.0f} % of the waste{})",
                     format_duration(known.without_s(mended)), format_duration(known.mean_replayed_s()),
                     percent_of_waste(mended), mended >= 1.005 ? ", capped at the ideal" : "");
}

// "replica 2 (on all its stages)", "worker 5 (replica 1, stage 2)".
std::vector<std::string> worker_names(const Diagnosis& known, const std::vector<WorkerPlace>& workers) {
  const std::uint32_t stages = known.job.graph.stages;
  std::map<std::uint32_t, std::uint32_t> counts;  // by replica
  for (const auto& [replica, stage] : workers) ++counts[replica];
  const auto is_whole = [&](std::uint32_t replica) { return stages > 1 && counts[replica] == stages; };
  std::vector<std::string> names;
  for (const auto& [replica, count] : counts)
    if (is_whole(replica)) names.push_back(fmt::format("replica {} (on all its stages)", replica));
  for (const WorkerPlace& worker : workers)
    if (!is_whole(worker.first)) names.push_back(worker_words(known, worker));
  return names;
}

// Whose ops start later than they could: those with at least half of the longest gaps.
std::string gaps_in_words(const Diagnosis& known) {
  const double longest = *std::max_element(known.gap_s.begin(), known.gap_s.end());
  std::vector<WorkerPlace> workers;
  for (std::uint32_t stage = 0; stage < known.job.graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < known.job.graph.replicas; ++replica)
      if (longest > 0 && known.gap_s[known.job.worker(replica, stage)] >= 0.5 * longest)
        workers.emplace_back(replica, stage);
  if (workers.empty()) return "before no ops";
  return fmt::format("before the ops of {} {}{} a step",
                     workers.size() == known.gap_s.size() ? "all workers" : listed(worker_names(known, workers)),
                     workers.size() == 1 ? "" : "up to ", format_duration(longest));
}

std::size_t slowest_step(const Diagnosis& known) {
  return static_cast<std::size_t>(std::max_element(known.replayed_s.begin(), known.replayed_s.end()) -
                                  known.replayed_s.begin());
}

double slowdown_of(const Diagnosis& known, const WorkerPlace& worker) {
  return known.by_worker[known.job.worker(worker.first, worker.second)];
}

double computes_of_stage(const Diagnosis& known, std::size_t stage) {
  return known.stage_compute_s[stage].forward + known.stage_compute_s[stage].backward;
}

// "computes 1.5 times as long as the others".
std::string heavier(const Diagnosis& known, std::size_t heavy) {
  double others = 0;
  for (std::size_t stage = 0; stage < known.stage_compute_s.size(); ++stage)
    if (stage != heavy) others += computes_of_stage(known, stage);
  return fmt::format("computes {:.2g} times as long as the others",
                     computes_of_stage(known, heavy) * static_cast<double>(known.stage_compute_s.size() - 1) / others);
}

// Nobody is taken away: the rest of the job would take more work each.
std::string without(bool one, const Diagnosis& known, const Finding& found) {
  return fmt::format("without {} {}, if {} ops took as long as the mean of all workers", one ? "it" : "them",
                     brings(known, found.mended), one ? "its" : "their");
}

std::string workers_in_words(const Diagnosis& known, const Finding& found) {
  const bool one = found.workers.size() == 1;
  const std::string names = listed(worker_names(known, found.workers));
  if (known.job.graph.replicas == 1 && known.job.graph.stages > 1 && one)
    return fmt::format(
        "{} is slow, or its stage has too many layers, which cannot be separated with one replica: the stage {}: fix "
        "the worker, or move layers off it; at the usual durations {}",
        names, heavier(known, found.workers.front().second), brings(known, found.mended));
  return fmt::format("{} {} slow: {}", names, one ? "is" : "are", without(one, known, found));
}

std::string steady_in_words(const Diagnosis& known, const Finding& found) {
  const std::vector<std::string> names = worker_names(known, found.workers);
  const std::string_view when = known.job.steps.size() > 1 ? " in every step" : "";
  if (names.size() == 1) return fmt::format("{} is slow{}: {}", names.front(), when, without(true, known, found));
  return fmt::format("these workers are slow{}: {}; {}", when, listed(names), without(false, known, found));
}

std::string stage_in_words(const Diagnosis& known, const Finding& found) {
  const bool last = found.number + 1 == known.job.graph.stages;
  return fmt::format("{} {}: move layers off it; at the mean of all stages {}",
                     last ? "the last stage" : fmt::format("stage {}", found.number), heavier(known, found.number),
                     brings(known, found.mended));
}

std::string nobody_in_words(const Diagnosis& known) {
  const std::string ideal = format_duration(mean_of(known.ideal_s));
  const std::string replayed = format_duration(known.mean_replayed_s());
  if (known.replay_error > noteworthy)
    return "no worker is slow while it runs ops; the loss is between ops: " + gaps_in_words(known);
  if (ideal == replayed && known.replayed_s[slowest_step(known)] >= straggling * known.ideal_s[slowest_step(known)])
    return fmt::format(
        "no single cause: whole steps differ; if all ops of a kind took equally long, a step would still take {} on "
        "average",
        ideal);
  if (ideal == replayed)
    return fmt::format(
        "no single cause: no op is slower than others of its kind; if all ops of a kind took equally long, a step "
        "would still take {}",
        ideal);
  return fmt::format("no single cause: if all ops of a kind took equally long, a step would take {} instead of {}",
                     ideal, replayed);
}

std::string in_words(const Diagnosis& known, const Finding& found) {
  using What = Finding::What;
  const auto brought = [&] { return brings(known, found.mended); };
  switch (found.what) {
    case What::Nobody:
      return nobody_in_words(known);
    case What::Workers:
      return workers_in_words(known, found);
    case What::SteadyWorkers:
      return steady_in_words(known, found);
    case What::Stage:
      return stage_in_words(known, found);
    case What::Replica:
      return fmt::format("replica {} is slow: {}", found.number, without(true, known, found));
    case What::MicroBatches:
      return fmt::format(
          "micro-batches differ in length: forward and backward vary together; balance the tokens: with equal ones {}",
          brought());
    case What::Kind:
      if (found.kind == name_of(OpKind::ForwardCompute) || found.kind == name_of(OpKind::BackwardCompute))
        return fmt::format("{} varies: always as long as usual, {}", found.kind, brought());
      return fmt::format("{} is slow: with its usual duration {}", found.kind, brought());
    case What::Sizes:
      return fmt::format(
          "no worker is slow: {} ops differ by seq, in the same way on all replicas and in all steps, like buckets of "
          "different sizes; only if all took equally long, {}",
          found.kind, brought());
    case What::Spread:
      break;
  }
  return fmt::format(
      "no single worker, stage or kind of op: all durations vary; if all of a kind took equally long, {}", brought());
}

// Of kinds that sends and receives share, both.
double critical_share(const Diagnosis& known, const std::string& asked) {
  double share = 0;
  for (const auto& [kind, part] : known.critical_share)
    if (asked == kind || (asked == "forward-pp-comm" && (kind == "forward-send" || kind == "forward-recv")) ||
        (asked == "backward-pp-comm" && (kind == "backward-send" || kind == "backward-recv")))
      share += part;
  return share;
}

std::string kinds_table(const Diagnosis& known, const Screen& screen) {
  Table table({"kind", "slowdown alone", {"of the waste", "%"}, {"of the critical path", "%"}});
  for (const KindAnswer& kind : known.by_kind)
    table.add({kind.name, cell::number(kind.slowdown, 3), cell::number(percent_of_waste(kind.mended), 1),
               cell::number(100 * critical_share(known, kind.name), 1)});
  return table.text(screen);
}

std::string stages_table(const Diagnosis& known, const Screen& screen) {
  Table table({"stage", "slowdown alone", "forward", TableColumn("backward").like("forward")});
  for (std::size_t stage = 0; stage < known.by_stage.size(); ++stage)
    table.add({std::to_string(stage), cell::number(known.by_stage[stage], 3),
               cell::seconds(known.stage_compute_s[stage].forward),
               cell::seconds(known.stage_compute_s[stage].backward)});
  return table.text(screen);
}

std::string workers_table(const Diagnosis& known, const Screen& screen) {
  const JobGraph& graph = known.job.graph;
  std::vector<WorkerPlace> workers;
  for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) workers.emplace_back(replica, stage);
  std::stable_sort(workers.begin(), workers.end(), [&](const WorkerPlace& a, const WorkerPlace& b) {
    return slowdown_of(known, a) > slowdown_of(known, b);
  });
  const std::size_t all = workers.size();
  workers.resize(std::min(all, workers_shown));
  Table table({all > workers_shown ? fmt::format("{} slowest of {} workers", workers_shown, all) : "workers",
               "lesser of its replica's and its stage's slowdown"});
  for (const WorkerPlace& worker : workers)
    table.add({worker_words(known, worker), cell::number(slowdown_of(known, worker), 3)});
  return table.text(screen);
}

JsonValue passes(const PassPair& pair) {
  return {{"forward-compute", pair.forward}, {"backward-compute", pair.backward}};
}

JsonValue pairs_of(const std::vector<WorkerPlace>& workers) {
  JsonValue list = JsonValue::array();
  for (const auto& [replica, stage] : workers) {
    JsonValue pair = JsonValue::array();
    pair.push_back(replica);
    pair.push_back(stage);
    list.push_back(std::move(pair));
  }
  return list;
}

JsonValue finding_json(const Finding& found) {
  JsonValue object{{"what", std::string(name_of(finding_words, found.what))}, {"M", found.mended}};
  if (!found.workers.empty()) object["workers"] = pairs_of(found.workers);
  if (found.what == Finding::What::Stage) object["stage"] = found.number;
  if (found.what == Finding::What::Replica) object["replica"] = found.number;
  if (!found.kind.empty()) object["kind"] = found.kind;
  return object;
}

}  // namespace

std::string worker_words(const Diagnosis& known, const WorkerPlace& worker) {
  return fmt::format("worker {} (replica {}, stage {})", known.job.ranks[known.job.worker(worker.first, worker.second)],
                     worker.first, worker.second);
}

std::vector<std::string> suspects_in_words(const Diagnosis& known) {
  std::vector<std::string> words;
  for (const Finding& found : known.findings) words.push_back(in_words(known, found));
  return words;
}

std::vector<std::string> diagnosis_notes(const Diagnosis& known) {
  const double measured = mean_of(known.measured_s), replayed = known.mean_replayed_s();
  const std::string gap = format_duration(std::abs(measured - replayed));
  std::vector<std::string> notes;
  if (known.replay_error > noteworthy)
    notes.push_back(
        fmt::format("the replay is {:.0f} % faster than the measurement: {} of a step are lost between ops, to "
                    "launches on the host or to work that the timeline does not show, such as loading data{}",
                    100 * known.replay_error, gap,
                    known.findings.front().what == Finding::What::Nobody ? "" : ": " + gaps_in_words(known)));
  if (known.replay_error < -noteworthy)
    notes.push_back(
        fmt::format("the replay is {:.0f} % slower than the measurement, by {} a step: ops overlap that the replay "
                    "runs one after another, or the workers' clocks differ",
                    -100 * known.replay_error, gap));
  if (const double early = known.durations.ended_early; early > noteworthy)
    notes.push_back(fmt::format(
        "the workers' clocks differ: {:.0f} % of the transfers and collectives end on one worker before they "
        "start on another",
        100 * early));
  return notes;
}

std::string diagnosis_report(const Diagnosis& known, const Screen& screen) {
  const JobGraph& graph = known.job.graph;
  const std::size_t steps = known.job.steps.size();
  const std::size_t slowest = slowest_step(known);
  std::string text = facts(
      {{"job", fmt::format("{}, {}, {} of {}", counted(graph.replicas, "replica"), counted(graph.stages, "stage"),
                           counted(static_cast<std::int64_t>(steps), "step"),
                           counted(static_cast<std::int64_t>(graph.ops.size()), "op"))},
       {"a step, measured", format_duration(mean_of(known.measured_s))},
       {"replayed",
        fmt::format(
            "{} ({})", format_duration(known.mean_replayed_s()),
            std::abs(known.replay_error) < 5e-5 ? "as measured" : fmt::format("{:+.2f} %", -100 * known.replay_error))},
       {"if all ops of a kind took equally long", format_duration(mean_of(known.ideal_s))},
       {"slowdown", fmt::format("{:.3f}: {}", known.slowdown,
                                known.waste >= 5e-4 ? fmt::format("{:.1f} % of the time is wasted", 100 * known.waste)
                                                    : "no time is wasted")},
       {"the slowest step",
        fmt::format("{}: {}, slowed down {:.3f} times", known.job.steps[slowest],
                    format_duration(known.replayed_s[slowest]), known.replayed_s[slowest] / known.ideal_s[slowest])}},
      screen);
  text += "\n";
  for (const std::string& words : suspects_in_words(known))
    text += wrapped("Suspect: " + words + ".", screen.width, 2) + "\n";
  for (const std::string& words : diagnosis_notes(known))
    text += wrapped("Note: " + words + ".", screen.width, 2) + "\n";
  return text + "\n" + kinds_table(known, screen) + "\n" + stages_table(known, screen) + "\n" +
         workers_table(known, screen) + "\n" +
         wrapped(
             "Slowdown alone: how much longer than the ideal one a step is if only these ops take their measured time; "
             "for a worker the lesser of its replica's and its stage's, so that a worker where slow others cross is "
             "not blamed. Of the waste: the share that fixing them recovers, between 0 and 100 %. Fixed, as in "
             "\"without it\": these ops take the mean time of their kind over all workers, themselves included "
             "(transfers and collectives: the median).",
             screen.width) +
         "\n";
}

JsonValue diagnosis_json(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  JsonValue by_kind = JsonValue::object(), mended = JsonValue::object(), by_worker = JsonValue::object();
  for (const KindAnswer& kind : known.by_kind) {
    by_kind[kind.name] = kind.slowdown;
    mended[kind.name] = kind.mended;
  }
  const auto numbered = [](const std::vector<double>& values) {
    JsonValue object = JsonValue::object();
    for (std::size_t i = 0; i < values.size(); ++i) object[std::to_string(i)] = values[i];
    return object;
  };
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica)
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
      by_worker[fmt::format("{},{}", replica, stage)] = known.by_worker[known.job.worker(replica, stage)];
  JsonValue shares = JsonValue::object(), computes = JsonValue::object();
  for (const auto& [kind, share] : known.critical_share) shares[kind] = share;
  for (std::size_t stage = 0; stage < known.stage_compute_s.size(); ++stage)
    computes[std::to_string(stage)] = passes(known.stage_compute_s[stage]);
  JsonValue gaps = JsonValue::object(), findings = JsonValue::array();
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica)
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
      gaps[fmt::format("{},{}", replica, stage)] =
          known.gap_s[known.job.worker(replica, stage)] / mean_of(known.measured_s);
  for (const Finding& found : known.findings) findings.push_back(finding_json(found));
  return {{"steps", known.job.steps},
          {"replicas", graph.replicas},
          {"stages", graph.stages},
          {"measured_s", known.measured_s},
          {"replayed_s", known.replayed_s},
          {"ideal_s", known.ideal_s},
          {"replay_error", known.replay_error},
          {"launch_slowdown", known.launch_slowdown},
          {"slowdown", known.slowdown},
          {"waste", known.waste},
          {"by_kind", by_kind},
          {"by_replica", numbered(known.by_replica)},
          {"by_stage", numbered(known.by_stage)},
          {"by_worker", by_worker},
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
          {"findings", findings},
          {"gap_share", gaps}};
}

std::string fitted_cluster(const FittedJob& fitted, const Diagnosis& known, const std::string& name,
                           const SourceLocation& place) {
  JsonValue cluster = JsonValue::parse(calibration_cluster(fitted.collectives, name, false, std::nullopt, place));
  cluster["description"] = fmt::format("fitted by allreplay diagnose to {} steps of a job of {}",
                                       known.job.steps.size(), counted(known.job.graph.replicas, "rank"));
  if (fitted.launch) cluster["network"]["launch"] = write_duration(to_time(fitted.launch->value));
  if (fitted.sigma) cluster["jitter"] = {{"distribution", "normal"}, {"sigma", fitted.sigma->value}};
  return cluster.dump(2) + "\n";
}

std::vector<std::string> fitted_constants(const FittedJob& fitted) {
  const Calibration& line = fitted.collectives;
  std::vector<std::string> words{fmt::format(
      "alpha {}, beta {:.4g} ns/B: from {} ({} among {} workers)", format_duration(line.alpha), line.beta * 1e9,
      counted(static_cast<std::int64_t>(line.log.points.size()), "collective"), line.algorithm->name, line.workers())};
  words.push_back(fitted.launch
                      ? fmt::format("launch {}: from {} before collectives", format_duration(fitted.launch->value),
                                    counted(static_cast<std::int64_t>(fitted.launch->events), "gap"))
                      : "launch: left out, no gaps are known");
  words.push_back(fitted.sigma ? fmt::format("sigma {:.4f}: from the mean compute times of {}", fitted.sigma->value,
                                             counted(static_cast<std::int64_t>(fitted.sigma->events), "rank")) +
                                     (fitted.sigma->events < 3 ? ", too few to trust" : "")
                               : "sigma: left out, there is one rank");
  return words;
}

}  // namespace allreplay
