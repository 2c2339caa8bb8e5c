#include "sim/report/diagnosis_report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/report/calibration_report.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

constexpr std::size_t workers_shown = 5;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// "a step takes 4 s instead of 5.2 s (80 % of the waste)".
std::string brings(const Diagnosis& known, double mended) {
  return fmt::format("a step takes {} instead of {} ({:.0f} % of the waste)", format_duration(known.without_s(mended)),
                     format_duration(known.mean_replayed_s()), 100 * mended);
}

std::string workers_in_words(const Diagnosis& known) {
  std::vector<std::string> names;
  for (const WorkerPlace& worker : known.worst_workers) {
    if (names.size() == workers_shown) break;
    names.push_back(worker_words(known, worker));
  }
  if (const std::size_t all = known.worst_workers.size(); all > names.size())
    names.push_back(fmt::format("and {} more", all - names.size()));
  const bool one = known.worst_workers.size() == 1;
  return fmt::format("{} {} slow: without {} {}", fmt::join(names, ", "), one ? "is" : "are", one ? "it" : "them",
                     brings(known, known.mended_workers));
}

std::string last_stage_in_words(const Diagnosis& known) {
  const auto compute = [](const PassPair& pair) { return pair.forward + pair.backward; };
  const auto& stages = known.stage_compute_s;
  double others = 0;
  for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage)
    others += compute(stages[stage]) / static_cast<double>(stages.size() - 1);
  return fmt::format(
      "the last stage computes {:.2g} times as long as the others: move layers off it; at the mean of all {}",
      compute(stages.back()) / others, brings(known, known.mended_stage));
}

const KindAnswer* kind_named(const Diagnosis& known, const std::string& name) {
  const auto found = std::find_if(known.by_kind.begin(), known.by_kind.end(),
                                  [&](const KindAnswer& kind) { return kind.name == name; });
  return found == known.by_kind.end() ? nullptr : &*found;
}

std::string in_words(const Diagnosis& known, const std::string& suspect) {
  if (suspect == "none")
    return fmt::format("nobody: if all ops of a kind took alike, a step would take {} instead of {}",
                       format_duration(mean_of(known.ideal_s)), format_duration(known.mean_replayed_s()));
  if (suspect == "worker") return workers_in_words(known);
  if (suspect == "last-stage") return last_stage_in_words(known);
  if (suspect == "sequence-length")
    return fmt::format(
        "micro-batches differ in length: forward and backward vary together; balance the tokens: with "
        "equal ones {}",
        brings(known, known.mended_computes));
  if (const KindAnswer* kind = kind_named(known, suspect))
    return fmt::format("{} is slow: always as long as usual, {}", kind->name, brings(known, kind->mended));
  return fmt::format(
      "no worker, stage or kind of op alone: durations are spread over all; if all of a kind took alike, {}",
      brings(known, 1));
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
    table.add({kind.name, cell::number(kind.slowdown, 3), cell::number(100 * kind.mended, 1),
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
  const auto slowdown = [&](const WorkerPlace& worker) {
    return known.by_worker[known.job.worker(worker.first, worker.second)];
  };
  std::stable_sort(workers.begin(), workers.end(),
                   [&](const WorkerPlace& a, const WorkerPlace& b) { return slowdown(a) > slowdown(b); });
  if (workers.size() > workers_shown) workers.resize(workers_shown);
  Table table({"worst workers", "slowdown alone"});
  for (const WorkerPlace& worker : workers) table.add({worker_words(known, worker), cell::number(slowdown(worker), 3)});
  return table.text(screen);
}

JsonValue passes(const PassPair& pair) {
  return {{"forward-compute", pair.forward}, {"backward-compute", pair.backward}};
}

}  // namespace

std::string worker_words(const Diagnosis& known, const WorkerPlace& worker) {
  return fmt::format("worker {} (replica {}, stage {})", known.job.ranks[known.job.worker(worker.first, worker.second)],
                     worker.first, worker.second);
}

std::vector<std::string> suspects_in_words(const Diagnosis& known) {
  std::vector<std::string> words;
  for (const std::string& suspect : known.suspects) words.push_back(in_words(known, suspect));
  return words;
}

std::string diagnosis_report(const Diagnosis& known, const Screen& screen) {
  const JobGraph& graph = known.job.graph;
  const std::size_t steps = known.job.steps.size();
  const auto slowest = std::max_element(known.replayed_s.begin(), known.replayed_s.end()) - known.replayed_s.begin();
  std::string text = facts(
      {{"job", fmt::format("{}, {}, {} of {}", counted(graph.replicas, "replica"), counted(graph.stages, "stage"),
                           counted(static_cast<std::int64_t>(steps), "step"),
                           counted(static_cast<std::int64_t>(graph.ops.size()), "op"))},
       {"a step, measured", format_duration(mean_of(known.measured_s))},
       {"replayed", fmt::format("{} ({:+.2f} %)", format_duration(known.mean_replayed_s()), -100 * known.replay_error)},
       {"if all ops of a kind took alike", format_duration(mean_of(known.ideal_s))},
       {"slowdown", fmt::format("{:.3f}: {}", known.slowdown,
                                known.waste > 0 ? fmt::format("{:.1f} % of the time is wasted", 100 * known.waste)
                                                : "no time is wasted")},
       {"the slowest step",
        fmt::format(
            "{}: {}, slowed down {:.3f} times", known.job.steps[static_cast<std::size_t>(slowest)],
            format_duration(known.replayed_s[static_cast<std::size_t>(slowest)]),
            known.replayed_s[static_cast<std::size_t>(slowest)] / known.ideal_s[static_cast<std::size_t>(slowest)])}},
      screen);
  text += "\n";
  for (const std::string& words : suspects_in_words(known))
    text += wrapped("Suspect: " + words + ".", screen.width, 2) + "\n";
  return text + "\n" + kinds_table(known, screen) + "\n" + stages_table(known, screen) + "\n" +
         workers_table(known, screen) + "\n" +
         wrapped(
             "Slowdown alone: how much longer a step takes than the ideal one, where only these ops take what they "
             "did. Of the waste: the part that mending them brings back.",
             screen.width) +
         "\n";
}

std::string diagnosis_json(const Diagnosis& known) {
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
  JsonValue worst = JsonValue::array(), shares = JsonValue::object(), computes = JsonValue::object();
  for (const auto& [replica, stage] : known.worst_workers) {
    JsonValue pair = JsonValue::array();
    pair.push_back(replica);
    pair.push_back(stage);
    worst.push_back(std::move(pair));
  }
  for (const auto& [kind, share] : known.critical_share) shares[kind] = share;
  for (std::size_t stage = 0; stage < known.stage_compute_s.size(); ++stage)
    computes[std::to_string(stage)] = passes(known.stage_compute_s[stage]);
  const JsonValue object{{"steps", known.job.steps},
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
                         {"worst_workers", worst},
                         {"M_W", known.mended_workers},
                         {"M_S", known.mended_stage},
                         {"M_kind", mended},
                         {"critical_share", shares},
                         {"stage_compute_s", computes},
                         {"microbatch_spread", passes(known.microbatch_spread)},
                         {"fb_correlation", known.fb_correlation},
                         {"suspects", known.suspects}};
  return object.dump(2) + "\n";
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
                      : "launch: left out, no gap is known");
  words.push_back(fitted.sigma ? fmt::format("sigma {:.4f}: from the mean computing times of {}", fitted.sigma->value,
                                             counted(static_cast<std::int64_t>(fitted.sigma->events), "rank"))
                               : "sigma: left out, there is one rank");
  return words;
}

}  // namespace allreplay
