#include "sim/studies/diagnosis/exposure.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/diagnosis/job_graph.hpp"

namespace allreplay {

namespace {

// One step. Adds up the exposed communication on each rank.
class StepExposure {
 public:
  StepExposure(const MeasuredSteps& job, std::size_t step, Exposure& result)
      : graph_(job.graph),
        rules_(job.sharded[step]),
        start_(job.start.data() + step * graph_.ops.size()),
        end_(job.end.data() + step * graph_.ops.size()),
        scale_(seconds_per_ps / static_cast<double>(job.steps.size()) / graph_.replicas),
        result_(result) {
    for (std::size_t group = 0; group < graph_.groups(); ++group) {
      std::uint32_t last = graph_.group_first[group];
      for (std::uint32_t op = last; op < graph_.group_first[group + 1]; ++op)
        if (start_[op] > start_[last]) last = op;
      last_.push_back(last);
    }
  }

  void add(const std::vector<std::uint32_t>& ops) {
    std::vector<std::uint32_t> computes;
    std::optional<std::uint32_t> reduction;  // the last one to end
    double before = start_[ops.front()];     // the end of the compute before
    for (const std::uint32_t op : ops) {
      before = std::min(before, start_[op]);
      if (is_compute(graph_.ops[op].kind)) computes.push_back(op);
      if (is_unit_reduction(graph_.ops[op].kind) && (!reduction || end_[op] > end_[*reduction])) reduction = op;
    }
    std::sort(computes.begin(), computes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(start_[a], end_[a], a) < std::tuple(start_[b], end_[b], b);
    });
    bool updated = false;
    for (const std::uint32_t op : computes) {
      std::optional<std::uint32_t> awaited;
      for (const std::uint32_t one : rules_.followed_by(op))
        if (is_unit_reduction(graph_.ops[one].kind) || is_gather(graph_.ops[one].kind))
          if (!awaited || end_[one] > end_[*awaited]) awaited = one;
      if (awaited) expose(*awaited, before, std::min(end_[*awaited], start_[op]));
      updated |= graph_.ops[op].kind == OpKind::Optimizer;
      before = std::max(before, end_[op]);
    }
    if (!updated && reduction) expose(*reduction, before, end_[*reduction]);
  }

 private:
  // The compute stream waits for a collective from one time to another.
  void expose(std::uint32_t op, double from, double to) {
    if (to <= from) return;
    const JobOp& one = graph_.ops[op];
    ExposedTime time;
    // Before this rank arrives it may be busy with the transfers before this one.
    for (std::optional<std::uint32_t> at = op; from < to;) {
      if (!at) {
        time.gap_s += to - from;
        break;
      }
      const double ended = std::min(to, std::max(from, end_[*at])), began = std::clamp(start_[*at], from, ended);
      if (*at != op) time.gap_s += to - ended;
      const std::uint32_t last = last_[graph_.group_of[*at]];
      const double moves = std::clamp(start_[last], began, ended);
      time.late_rank_s += moves - began;
      result_.waited_for_s[graph_.ops[last].replica] += (moves - began) * scale_;
      time.transfer_s += ended - moves;
      to = began;
      at = transfer_before(*at);
    }
    for (ExposedTime* sum :
         {is_gather(one.kind) ? &result_.gathers : &result_.reductions, &result_.units[{one.seq, one.kind}].exposed}) {
      sum->late_rank_s += time.late_rank_s * scale_;
      sum->transfer_s += time.transfer_s * scale_;
      sum->gap_s += time.gap_s * scale_;
    }
  }

  // The transfer behind which this one starts: the one before it on its stream, or the reduction that it replicates.
  std::optional<std::uint32_t> transfer_before(std::uint32_t op) const {
    std::optional<std::uint32_t> last;
    for (const std::uint32_t one : rules_.followed_by(op))
      if (!is_compute(graph_.ops[one].kind) &&
          (stream_of(graph_.ops[one]) == stream_of(graph_.ops[op]) || is_unit_reduction(graph_.ops[one].kind)))
        if (!last || end_[one] > end_[*last]) last = one;
    return last;
  }

  const JobGraph& graph_;
  const ShardedStep& rules_;
  const double *start_, *end_;
  double scale_;  // to seconds per step, of the mean rank
  Exposure& result_;
  std::vector<std::uint32_t> last_;  // by group, the op that starts last
};

}  // namespace

Exposure exposure_of(const MeasuredSteps& job) {
  const JobGraph& graph = job.graph;
  Exposure result;
  result.waited_for_s.resize(graph.replicas);
  std::map<std::pair<std::uint32_t, OpKind>, std::vector<double>> lengths;
  const auto ops = ops_by_replica(graph);
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    StepExposure one(job, step, result);
    for (const auto& some : ops) one.add(some);
    for (std::size_t group = 0; group < graph.groups(); ++group)
      if (const JobOp& op = graph.ops[graph.group_first[group]]; is_gather(op.kind) || is_unit_reduction(op.kind))
        lengths[{op.seq, op.kind}].push_back(job.sharded[step].length[graph.group_first[group]]);
  }
  for (auto& [unit, all] : lengths) result.units[unit].length_s = median(std::move(all)) * seconds_per_ps;
  return result;
}

}  // namespace allreplay
