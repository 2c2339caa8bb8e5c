#include "sim/studies/diagnosis/job_replay.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/studies/calibration/fit.hpp"

namespace allreplay {

namespace {

constexpr std::size_t lanes = question_lanes;

bool is_mean(OpKind kind) {
  return kind == OpKind::ForwardCompute || kind == OpKind::BackwardCompute || kind == OpKind::Gc ||
         kind == OpKind::Optimizer;
}

}  // namespace

std::vector<std::uint32_t> last_ops(const JobGraph& graph) {
  std::vector<std::uint32_t> found, all(graph.ops.size());
  std::iota(all.begin(), all.end(), 0);
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](std::uint32_t op) { return graph.ops[op].kind == OpKind::Optimizer; });
  return found.empty() ? all : found;
}

std::vector<std::vector<std::uint32_t>> ops_by_replica(const JobGraph& graph) {
  std::vector<std::vector<std::uint32_t>> ops(graph.replicas);
  for (std::uint32_t op = 0; op < graph.ops.size(); ++op) ops[graph.ops[op].replica].push_back(op);
  const auto key = [&](std::uint32_t op) {
    return std::tuple(graph.ops[op].stage, graph.ops[op].kind, graph.ops[op].seq, graph.ops[op].chunk,
                      graph.ops[op].part);
  };
  for (auto& one : ops)
    std::sort(one.begin(), one.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return ops;
}

JobDurations durations_of(const MeasuredSteps& job) {
  if (!job.sharded.empty()) return sharded_durations(job);
  const JobGraph& graph = job.graph;
  JobDurations result{.own = std::vector<double>(job.start.size())};
  std::size_t in_groups = 0, early = 0;
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    const std::size_t base = step * graph.ops.size();
    for (std::size_t group = 0; group < graph.groups(); ++group) {
      if (const std::size_t members = graph.group_first[group + 1] - graph.group_first[group]; members > 1)
        in_groups += members;
      double latest = 0;
      for (std::size_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op)
        latest = std::max(latest, job.start[base + op]);
      for (std::size_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op) {
        const double own = job.end[base + op] - latest;
        result.own[base + op] = own < least_own ? 0 : own;
        early += own < 0;
      }
    }
  }
  if (in_groups > 0) result.ended_early = static_cast<double>(early) / static_cast<double>(in_groups);
  for (std::size_t kind = 0; kind < op_kind_count; ++kind) {
    std::vector<double> all;
    for (std::size_t i = 0; i < result.own.size(); ++i)
      if (static_cast<std::size_t>(graph.ops[i % graph.ops.size()].kind) == kind) all.push_back(result.own[i]);
    if (all.empty()) continue;
    result.ideal[kind] = is_mean(op_kinds[kind].value)
                             ? std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size())
                             : median(std::move(all));
  }
  return result;
}

bool Question::keeps(const MeasuredSteps& job, const JobOp& op) const {
  const bool named = (kinds >> static_cast<unsigned>(op.kind) & 1) != 0 && (replica < 0 || op.replica == replica) &&
                     (stage < 0 || op.stage == stage) && (!workers || (*workers)[job.worker(op.replica, op.stage)]);
  return named != inverted;
}

std::size_t rounds_of(const MeasuredSteps& job, std::size_t questions) {
  return (questions + lanes - 1) / lanes * job.steps.size();
}

namespace {

using Lanes = std::array<double, lanes>;

// Computes the ends of all ops in each lane; returns the end of the step.
template <class Duration>
Lanes replay_lanes(const JobGraph& graph, const std::vector<std::uint32_t>& last, std::vector<Lanes>& end,
                   const Duration& duration) {
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    Lanes start;
    start.fill(graph.earliest[group]);
    for (const std::uint32_t before : graph.followed_by(group))
      for (std::size_t lane = 0; lane < lanes; ++lane) start[lane] = std::max(start[lane], end[before][lane]);
    for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op)
      for (std::size_t lane = 0; lane < lanes; ++lane) end[op][lane] = start[lane] + duration(op, lane);
  }
  Lanes latest = end[last.front()];
  for (const std::uint32_t op : last)
    for (std::size_t lane = 0; lane < lanes; ++lane) latest[lane] = std::max(latest[lane], end[op][lane]);
  return latest;
}

// Returns the graph restricted to the first `replicas` replicas.
JobGraph first_replicas(const JobGraph& graph, std::uint32_t replicas) {
  JobGraph some{.replicas = std::min(replicas, graph.replicas), .stages = graph.stages};
  some.group_first = some.before_first = {0};
  std::vector<std::uint32_t> place(graph.ops.size());
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    const std::size_t before = some.ops.size();
    for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op) {
      if (graph.ops[op].replica >= replicas) continue;
      place[op] = static_cast<std::uint32_t>(some.ops.size());
      some.ops.push_back(graph.ops[op]);
      some.group_of.push_back(static_cast<std::uint32_t>(some.group_first.size() - 1));
    }
    if (some.ops.size() == before) continue;
    some.group_first.push_back(static_cast<std::uint32_t>(some.ops.size()));
    some.earliest.push_back(graph.earliest[group]);
    for (const std::uint32_t op : graph.followed_by(group))
      if (graph.ops[op].replica < replicas) some.before.push_back(place[op]);
    some.before_first.push_back(static_cast<std::uint32_t>(some.before.size()));
  }
  return some;
}

}  // namespace

std::vector<std::vector<double>> step_times(const MeasuredSteps& job, const JobDurations& durations,
                                            std::span<const Question> questions, const std::function<void()>& advance) {
  if (!job.sharded.empty()) return sharded_times(job, durations, questions, advance);
  const JobGraph& graph = job.graph;
  const std::size_t size = graph.ops.size();
  const std::vector<std::uint32_t> last = last_ops(graph);
  std::vector<std::vector<double>> times(questions.size());
  std::vector<Lanes> end(size);
  std::vector<std::uint8_t> keeps(size);  // one bit per lane
  for (std::size_t first = 0; first < questions.size(); first += lanes) {
    const std::size_t count = std::min(lanes, questions.size() - first);
    for (std::size_t op = 0; op < size; ++op) {
      keeps[op] = 0;
      for (std::size_t lane = 0; lane < count; ++lane)
        keeps[op] = static_cast<std::uint8_t>(keeps[op] | questions[first + lane].keeps(job, graph.ops[op]) << lane);
    }
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      const double* own = durations.own.data() + step * size;
      const Lanes ends = replay_lanes(graph, last, end, [&](std::uint32_t op, std::size_t lane) {
        return (keeps[op] >> lane & 1) != 0 ? own[op] : durations.ideal_of(graph.ops[op].kind);
      });
      for (std::size_t lane = 0; lane < count; ++lane) times[first + lane].push_back(ends[lane]);
      advance();
    }
  }
  return times;
}

std::vector<std::vector<double>> replica_times(const MeasuredSteps& job, const JobDurations& durations) {
  if (!job.sharded.empty()) {  // whose replicas may have different dependencies
    std::vector<Question> questions;
    for (std::int64_t replica = 0; replica < job.graph.replicas; ++replica) questions.push_back({.replica = replica});
    return step_times(job, durations, questions, [] {});
  }
  const JobGraph graph = first_replicas(job.graph, 2);  // one that keeps its own durations, and one for all others
  const auto ops = ops_by_replica(job.graph);
  const auto first_ops = ops_by_replica(graph)[0];
  std::vector<std::uint32_t> number(graph.ops.size());  // by op of the first replica, its index in first_ops
  for (std::uint32_t i = 0; i < first_ops.size(); ++i) number[first_ops[i]] = i;
  const std::vector<std::uint32_t> last = last_ops(graph);
  std::vector<Lanes> end(graph.ops.size());
  std::vector<std::vector<double>> times(job.graph.replicas);
  for (std::size_t first = 0; first < times.size(); first += lanes)
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      const double* own = durations.own.data() + step * job.graph.ops.size();
      const Lanes ends = replay_lanes(graph, last, end, [&](std::uint32_t op, std::size_t lane) {
        const std::size_t replica = std::min(first + lane, times.size() - 1);  // spare lanes repeat the last replica
        return graph.ops[op].replica == 0 ? own[ops[replica][number[op]]] : durations.ideal_of(graph.ops[op].kind);
      });
      for (std::size_t lane = 0; lane < lanes && first + lane < times.size(); ++lane)
        times[first + lane].push_back(ends[lane]);
    }
  return times;
}

ReplayedStep replay_step(const JobGraph& graph, const std::function<double(std::uint32_t)>& duration) {
  ReplayedStep step;
  step.start.resize(graph.ops.size());
  step.end.resize(graph.ops.size());
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    double start = graph.earliest[group];
    for (const std::uint32_t before : graph.followed_by(group)) start = std::max(start, step.end[before]);
    for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op) {
      step.start[op] = start;
      step.end[op] = start + duration(op);
    }
  }
  const std::vector<std::uint32_t> last = last_ops(graph);
  step.last = *std::max_element(last.begin(), last.end(),
                                [&](std::uint32_t a, std::uint32_t b) { return step.end[a] < step.end[b]; });
  return step;
}

ReplayedStep replay_step(const MeasuredSteps& job, std::size_t step,
                         const std::function<double(std::uint32_t)>& duration) {
  return job.sharded.empty() ? replay_step(job.graph, duration) : replay_sharded_step(job, step, duration);
}

std::vector<std::uint32_t> critical_path(const MeasuredSteps& job, std::size_t step, const ReplayedStep& replayed) {
  if (!job.sharded.empty()) return sharded_critical_path(job, step, replayed);
  const JobGraph& graph = job.graph;
  std::vector<std::uint32_t> path{replayed.last};
  while (true) {
    const std::uint32_t group = graph.group_of[path.back()];
    const auto before = graph.followed_by(group);
    const auto latest = std::max_element(before.begin(), before.end(), [&](std::uint32_t a, std::uint32_t b) {
      return replayed.end[a] < replayed.end[b];
    });
    if (latest == before.end() || replayed.end[*latest] < graph.earliest[group]) return path;
    path.push_back(*latest);
  }
}

}  // namespace allreplay
