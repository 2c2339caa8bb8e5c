#include "sim/studies/diagnosis/fitted_job.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/studies/calibration/fitted_cluster.hpp"

namespace allreplay {

namespace {

// Returns each replica's mean time in forward and backward computes per step.
std::vector<double> computing(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  std::vector<double> sums(graph.replicas, 0.0);
  for (std::size_t i = 0; i < known.durations.own.size(); ++i)
    if (const JobOp& op = graph.ops[i % graph.ops.size()];
        op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute)
      sums[op.replica] += known.durations.own[i] / static_cast<double>(known.job.steps.size());
  return sums;
}

// Collects the gathers of a sharded job or, if their sizes are unknown, its reductions; each counts from its last
// start.
MeasurementLog log_of_units(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  const auto first = std::find_if(job.unit_sizes.begin(), job.unit_sizes.end(),
                                  [](const auto& one) { return one.second.bytes > 0 && one.second.workers > 1; });
  if (first == job.unit_sizes.end())
    throw InputError({job.file, ""}, "does not give the size of any gather or reduction",
                     "Kineto traces of a job on GPUs, by PyTorch 2.2 or later");
  MeasurementLog log{
      .file = job.file, .format = "csv", .benchmark = first->second.name, .workers = first->second.workers};
  for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::AllReduce, CollectiveOp::ReduceScatter})
    if (to_string(op) == first->second.name) log.operation = op;
  log.total_gathered = log.operation == CollectiveOp::AllGather;
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    const JobOp& op = graph.ops[graph.group_first[group]];
    const auto size = job.unit_sizes.find({op.kind, op.seq});
    if (size == job.unit_sizes.end() || size->second.bytes <= 0 || size->second.name != first->second.name ||
        size->second.workers != first->second.workers)
      continue;
    for (std::size_t step = 0; step < job.steps.size(); ++step)
      if (const double length = known.durations.own[step * graph.ops.size() + graph.group_first[group]]; length > 0)
        log.points.push_back({size->second.bytes, length * seconds_per_ps});
  }
  return log;
}

// Collects the collectives of the first known operation and group size; each counts from its last start.
MeasurementLog log_of(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  const auto first =
      std::find_if(job.collectives.begin(), job.collectives.end(), [](const auto& one) { return one.bytes > 0; });
  if (first == job.collectives.end())
    throw InputError({job.file, ""}, "does not give the size of any collective",
                     "Kineto traces of a job on GPUs, by PyTorch 2.2 or later");
  MeasurementLog log{.file = job.file, .format = "csv", .benchmark = first->name, .workers = first->workers};
  for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter})
    if (to_string(op) == first->name) log.operation = op;
  if (log.workers < 2) log.workers = graph.replicas;
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    const JobOp& op = graph.ops[graph.group_first[group]];
    if (op.kind != OpKind::GradsReduceScatter || op.seq >= job.collectives.size()) continue;
    const CollectiveSize& size = job.collectives[op.seq];
    if (size.bytes <= 0 || size.name != first->name || size.workers != first->workers) continue;
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      double latest = 0;
      for (std::size_t i = graph.group_first[group]; i < graph.group_first[group + 1]; ++i)
        latest = std::max(latest, known.durations.own[step * graph.ops.size() + i]);
      if (latest > 0) log.points.push_back({size.bytes, latest * seconds_per_ps});
    }
  }
  return log;
}

// Measures the gap from the end of a collective's dependencies to its last start.
std::optional<JobConstant> launch_of(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  std::vector<double> gaps;
  for (std::size_t step = 0; step < job.sharded.size(); ++step)
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op)
      if (!is_compute(graph.ops[op].kind) && !job.sharded[step].followed_by(op).empty())
        gaps.push_back(job.sharded[step].gap[op] * seconds_per_ps);
  for (std::size_t group = 0; group < graph.groups() && job.sharded.empty(); ++group) {
    if (graph.ops[graph.group_first[group]].kind != OpKind::GradsReduceScatter) continue;
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      const std::size_t base = step * graph.ops.size();
      double start = 0, before = 0;
      for (std::size_t i = graph.group_first[group]; i < graph.group_first[group + 1]; ++i)
        start = std::max(start, job.start[base + i]);
      for (const std::uint32_t op : graph.followed_by(group)) before = std::max(before, job.end[base + op]);
      gaps.push_back(std::max(0.0, start - before) * seconds_per_ps);
    }
  }
  if (gaps.empty()) return std::nullopt;
  const std::size_t events = gaps.size();
  return JobConstant{median(std::move(gaps)), events};
}

std::vector<std::pair<std::uint32_t, double>> stragglers_of(const Diagnosis& known) {
  const std::vector<double> each = computing(known);
  const double usual = each[median_replica(known)];
  std::vector<std::pair<std::uint32_t, double>> stragglers;
  for (const auto& [replica, stage] : known.steadily_slow)
    if (each[replica] > usual && usual > 0) stragglers.emplace_back(replica, each[replica] / usual);
  return stragglers;
}

std::optional<JobConstant> sigma_of(const Diagnosis& known,
                                    const std::vector<std::pair<std::uint32_t, double>>& stragglers) {
  std::vector<double> each = computing(known);
  for (auto one = stragglers.rbegin(); one != stragglers.rend(); ++one)
    each.erase(each.begin() + static_cast<std::ptrdiff_t>(one->first));
  if (each.size() < 2) return std::nullopt;
  double mean = 0, squares = 0;
  for (const double one : each) mean += one / static_cast<double>(each.size());
  for (const double one : each) squares += (one - mean) * (one - mean);
  if (!(mean > 0)) return std::nullopt;
  return JobConstant{std::sqrt(squares / static_cast<double>(each.size() - 1)) / mean, each.size()};
}

}  // namespace

FittedJob fit_job(const Diagnosis& known) {
  const MeasurementLog log = known.job.sharded.empty() ? log_of(known) : log_of_units(known);
  FittedJob fitted{calibrate(log, {}), launch_of(known), stragglers_of(known), {}};
  fitted.sigma = sigma_of(known, fitted.stragglers);
  return fitted;
}

std::uint32_t median_replica(const Diagnosis& known) {
  const std::vector<double> each = computing(known);
  std::vector<std::uint32_t> order(each.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::pair(each[a], a) < std::pair(each[b], b); });
  return order[(order.size() - 1) / 2];
}

std::string fitted_cluster(const FittedJob& fitted, const Diagnosis& known, const std::string& name,
                           const SourceLocation& place) {
  JsonValue cluster = JsonValue::parse(calibration_cluster(fitted.collectives, name, false, std::nullopt, place));
  cluster["description"] = fmt::format("fitted by allreplay diagnose to {} steps of a job of {}",
                                       known.job.steps.size(), counted(known.job.graph.replicas, "rank"));
  if (fitted.launch) cluster["network"]["launch"] = write_duration(to_time(fitted.launch->value));
  for (const auto& [worker, slowdown] : fitted.stragglers)
    cluster["stragglers"].push_back({{"worker", worker}, {"slowdown", slowdown}});
  if (fitted.sigma) cluster["jitter"] = {{"distribution", "normal"}, {"sigma", fitted.sigma->value}};
  return json_text(cluster, 2) + "\n";
}

namespace {

struct UnitTimes {
  double forward = 0, backward = 0;  // ps, sums over steps and micro-batches
};

Time mean_of(double sum, std::size_t passes) {
  return Time(std::llround(std::max(0.0, sum) / static_cast<double>(passes)));
}

std::string unit_name(const MeasuredSteps& job, std::uint32_t unit) {
  return unit < job.unit_names.size() ? job.unit_names[unit] : fmt::format("unit {}", unit);
}

// The larger of the unit's gathers, in bytes; 0 if unknown.
Bytes gathered(const MeasuredSteps& job, std::uint32_t unit) {
  Bytes bytes = 0;
  for (const OpKind kind : {OpKind::UnitForwardGather, OpKind::UnitBackwardGather})
    if (const auto size = job.unit_sizes.find({kind, unit}); size != job.unit_sizes.end())
      bytes = std::max(bytes, size->second.bytes);
  return bytes;
}

}  // namespace

UnitProfile profile_of_units(const Diagnosis& known, std::uint32_t replica, const SourceLocation& place) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  std::map<std::uint32_t, UnitTimes> units;
  std::set<std::uint32_t> batches;
  double update = 0;
  for (std::size_t i = 0; i < known.durations.own.size(); ++i) {
    const JobOp& op = graph.ops[i % graph.ops.size()];
    if (op.replica != replica) continue;
    if (op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute) {
      batches.insert(op.seq);
      UnitTimes& unit = units[static_cast<std::uint32_t>(op.chunk)];
      (op.kind == OpKind::ForwardCompute ? unit.forward : unit.backward) += known.durations.own[i];
    } else if (op.kind == OpKind::Optimizer) {
      update += known.durations.own[i];
    }
  }
  UnitProfile result;
  Profile& profile = result.profile;
  profile.framework = "PyTorch";
  profile.precision = job.precision;
  profile.source = fmt::format("{}, of rank {}", job.file, job.ranks[replica]);
  profile.batch_size = 1;
  const Bytes element = element_bytes(job.precision).value_or(4);
  const std::size_t passes = job.steps.size() * batches.size();
  std::int64_t workers = 1;
  for (const auto& [unit, times] : units) {
    const std::string name = unit_name(job, unit);
    const auto layer = static_cast<LayerId>(profile.layers.size());
    profile.layers.push_back({.name = name,
                              .forward = mean_of(times.forward, passes),
                              .backward = mean_of(times.backward, passes),
                              .group = name});
    const Bytes bytes = gathered(job, unit);
    if (bytes > 0) {
      profile.tensors.push_back(
          {fmt::format("{}.parameters", name), bytes / element, bytes / element * element, layer});
      for (const auto& [kind, size] : job.unit_sizes)
        if (kind.second == unit && is_gather(kind.first)) workers = std::max(workers, size.workers);
    }
  }
  if (profile.tensors.empty())
    throw InputError(place, "the traces do not give the sizes of gathers", "traces of GPUs by PyTorch 2.2 or later");
  if (update > 0) profile.update = mean_of(update * static_cast<double>(workers), job.steps.size());
  result.notes = {
      fmt::format("a layer for each unit of rank {}, with the parameters that were gathered, padding included",
                  job.ranks[replica]),
      "the batch size is not known: it is 1, so that samples are those of a worker's micro-batch"};
  if (update > 0 && workers > 1)
    result.notes.push_back(fmt::format("the update is that of one of {} shards times {}", workers, workers));
  return result;
}

}  // namespace allreplay
