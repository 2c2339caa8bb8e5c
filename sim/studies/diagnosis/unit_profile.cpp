#include "sim/studies/diagnosis/unit_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace allreplay {

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
