#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

namespace {

constexpr double quarter = 0.25, high_correlation = 0.9;
constexpr double most_unexplained =
    0.1;  // share of the variance that may remain between replicas and steps if ops differ by seq

constexpr std::uint32_t bit(OpKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Returns the time in forward and backward passes, by step and worker.
std::vector<double> computing(const MeasuredSteps& job, const std::vector<double>& own) {
  const JobGraph& graph = job.graph;
  const std::size_t workers = std::size_t{graph.replicas} * graph.stages;
  std::vector<double> times(job.steps.size() * workers, 0.0);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (const JobOp& op = graph.ops[i % graph.ops.size()];
        op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute)
      times[i / graph.ops.size() * workers + job.worker(op.replica, op.stage)] += own[i];
  return times;
}

// Returns the same by worker, as a sum over steps.
std::vector<double> computing_in_all(const MeasuredSteps& job, const std::vector<double>& own) {
  const std::vector<double> times = computing(job, own);
  std::vector<double> sums(std::size_t{job.graph.replicas} * job.graph.stages, 0.0);
  for (std::size_t i = 0; i < times.size(); ++i) sums[i % sums.size()] += times[i];
  return sums;
}

// Divides one of the times by the median of the others; 1 if that is 0.
double over_others(std::vector<double> times, std::size_t one) {
  const double own = times[one];
  times.erase(times.begin() + static_cast<std::ptrdiff_t>(one));
  const double usual = median(std::move(times));
  return usual > 0 ? own / usual : 1;
}

// Returns, of the stages that are slow on every replica, the one that recovers most; none if that is below half.
std::optional<std::uint32_t> heavy_stage(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const std::vector<double> by_worker = computing_in_all(job, known.durations.own);
  const double usual = sum_of(by_worker) / static_cast<double>(by_worker.size());
  std::optional<std::uint32_t> worst;
  for (std::uint32_t stage = 0; stage < job.graph.stages; ++stage) {
    const auto first = by_worker.begin() + static_cast<std::ptrdiff_t>(job.worker(0, stage));
    if (*std::min_element(first, first + job.graph.replicas) >= straggling * usual &&
        (!worst || known.mended_stages[stage] > known.mended_stages[*worst]))
      worst = stage;
  }
  return worst && known.mended_stages[*worst] >= half_of_waste ? worst : std::nullopt;
}

// True if the ops of a kind differ by seq, equally on all replicas and in all steps.
bool differ_in_size(const Diagnosis& known, const std::string& name) {
  if (!known.job.sharded.empty()) return false;  // each unit has its own ideal
  const JobGraph& graph = known.job.graph;
  std::uint32_t kinds = 0, seqs = 0;
  for (const JobOp& op : graph.ops)
    if (question_name(op.kind) == name) {
      kinds |= bit(op.kind);
      seqs = std::max(seqs, op.seq + 1);
    }
  const auto squares = [&](std::size_t places, const auto& place_of) {
    return sum_of(moments(known.job, known.durations.own, kinds, places, place_of).squares);
  };
  const double within_stages = squares(graph.stages, [](const JobOp& op) { return op.stage; });
  return squares(1, [](const JobOp&) { return 0; }) < 2 * within_stages &&
         squares(std::size_t{graph.stages} * seqs, [seqs](const JobOp& op) {
           return std::size_t{op.stage} * seqs + op.seq;
         }) <= most_unexplained * within_stages;
}

bool is_pass(const KindAnswer& kind) {
  return kind.name == name_of(OpKind::ForwardCompute) || kind.name == name_of(OpKind::BackwardCompute);
}

// Returns the kind whose fixing recovers most, among passes or among all other kinds.
const KindAnswer* worst_kind(const Diagnosis& known, bool passes) {
  const KindAnswer* worst = nullptr;
  for (const KindAnswer& kind : known.by_kind)
    if (is_pass(kind) == passes && (!worst || kind.mended > worst->mended)) worst = &kind;
  return worst;
}

}  // namespace

std::string_view question_name(OpKind kind) {
  switch (kind) {
    case OpKind::ForwardSend:
    case OpKind::ForwardRecv:
      return "forward-pp-comm";
    case OpKind::BackwardSend:
    case OpKind::BackwardRecv:
      return "backward-pp-comm";
    default:
      return name_of(kind);
  }
}

std::vector<WorkerPlace> slow_in_every_step(const MeasuredSteps& job, const std::vector<double>& own) {
  const JobGraph& graph = job.graph;
  const std::size_t workers = std::size_t{graph.replicas} * graph.stages;
  double within_workers = 0, within_stages = 0;
  for (const OpKind kind : {OpKind::ForwardCompute, OpKind::BackwardCompute}) {
    within_workers += sum_of(moments(job, own, bit(kind), workers, [&](const JobOp& op) {
                               return job.worker(op.replica, op.stage);
                             }).squares);
    within_stages +=
        sum_of(moments(job, own, bit(kind), graph.stages, [](const JobOp& op) { return op.stage; }).squares);
  }
  if (within_workers > 0.5 * within_stages) return {};
  const std::vector<double> times = computing(job, own);
  std::vector<WorkerPlace> slow;
  for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
      bool always = true;
      for (std::size_t step = 0; step < job.steps.size(); ++step) {
        const auto first = times.begin() + static_cast<std::ptrdiff_t>(step * workers + job.worker(0, stage));
        const double mean_of_stage = std::accumulate(first, first + graph.replicas, 0.0) / graph.replicas;
        always = always && first[replica] >= straggling * mean_of_stage;
      }
      if (always) slow.emplace_back(replica, stage);
    }
  return slow;
}

std::vector<double> compute_ratios(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  if (graph.replicas == 1) return {};
  const std::vector<double> by_worker = computing_in_all(known.computes(), known.own_computes());
  std::vector<double> ratios(by_worker.size(), 1.0);
  for (std::uint32_t stage = 0; stage < graph.stages; ++stage) {
    const auto first = by_worker.begin() + static_cast<std::ptrdiff_t>(known.job.worker(0, stage));
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica)
      ratios[known.job.worker(replica, stage)] = over_others({first, first + graph.replicas}, replica);
  }
  return ratios;
}

double compute_ratio_of_replica(const Diagnosis& known, std::uint32_t replica) {
  const JobGraph& graph = known.job.graph;
  const std::vector<double> by_worker = computing_in_all(known.computes(), known.own_computes());
  std::vector<double> by_replica(graph.replicas, 0.0);
  for (std::uint32_t one = 0; one < graph.replicas; ++one)
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
      by_replica[one] += by_worker[known.job.worker(one, stage)];
  return over_others(std::move(by_replica), replica);
}

std::vector<double> gaps_before_ops(const MeasuredSteps& job) {
  const JobGraph& graph = job.graph;
  std::vector<double> gaps(std::size_t{graph.replicas} * graph.stages, 0.0);
  if (!job.sharded.empty()) {
    for (const ShardedStep& step : job.sharded)
      for (std::uint32_t op = 0; op < graph.ops.size(); ++op)
        gaps[graph.ops[op].replica] += step.gap[op] * seconds_per_ps / static_cast<double>(job.steps.size());
    return gaps;
  }
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    const std::size_t base = step * graph.ops.size();
    for (std::size_t group = 0; group < graph.groups(); ++group) {
      std::uint32_t last = graph.group_first[group];
      for (std::uint32_t op = last; op < graph.group_first[group + 1]; ++op)
        if (job.start[base + op] > job.start[base + last]) last = op;
      double before = 0;
      for (const std::uint32_t op : graph.followed_by(group)) before = std::max(before, job.end[base + op]);
      gaps[job.worker(graph.ops[last].replica, graph.ops[last].stage)] +=
          std::max(0.0, job.start[base + last] - before) * seconds_per_ps / static_cast<double>(job.steps.size());
    }
  }
  return gaps;
}

std::vector<std::string> suspects_of(const Diagnosis& known) {
  if (known.slowdown < straggling) return {"none"};
  std::vector<std::string> suspects;
  const bool workers = known.mended_workers >= half_of_waste;
  if (workers) suspects.emplace_back("worker");
  if (!workers && known.mended_stage >= half_of_waste) suspects.emplace_back("last-stage");
  if (!workers && known.fb_correlation >= high_correlation) suspects.emplace_back("sequence-length");
  if (const KindAnswer* worst = worst_kind(known, false); worst && worst->mended >= quarter)
    suspects.push_back(worst->name);
  if (suspects.empty()) suspects.emplace_back("spread");
  return suspects;
}

std::vector<Finding> findings_of(const Diagnosis& known) {
  using What = Finding::What;
  const auto suspected = [&](std::string_view name) {
    return std::find(known.suspects.begin(), known.suspects.end(), name) != known.suspects.end();
  };
  if (suspected("none")) return {{.what = What::Nobody, .mended = 0}};
  std::vector<Finding> found;
  const std::uint32_t last = known.job.graph.stages - 1;
  const bool batches = suspected("sequence-length");
  const bool steady = !known.steadily_slow.empty() && known.mended_steady >= half_of_waste;
  if (suspected("worker")) {
    found.push_back({.what = What::Workers, .mended = known.mended_workers, .workers = known.slow_workers});
  } else {
    const Finding workers{.what = What::SteadyWorkers, .mended = known.mended_steady, .workers = known.steadily_slow};
    if (steady) found.push_back(workers);
    const auto add_stage = [&](std::uint32_t stage) {
      found.push_back({.what = What::Stage, .mended = known.mended_stages[stage], .number = stage});
    };
    const auto heavy = heavy_stage(known);
    if (heavy && *heavy != last) add_stage(*heavy);
    if (suspected("last-stage")) add_stage(last);
    if (!steady && known.job.graph.replicas > 1 && known.mended_replica >= half_of_waste)
      found.push_back({.what = What::Replica, .mended = known.mended_replica, .number = known.worst_replica});
    if (batches) found.push_back({.what = What::MicroBatches, .mended = known.mended_computes});
    if (batches && !steady && !known.steadily_slow.empty()) found.push_back(workers);
  }
  for (const bool passes : {false, true}) {
    const KindAnswer* kind = worst_kind(known, passes);
    if (!kind || kind->mended < quarter || (passes && batches)) continue;
    if (differ_in_size(known, kind->name))
      found.push_back({.what = What::Sizes, .mended = kind->mended, .kind = kind->name});
    else if (!passes || (found.empty() && kind->mended >= half_of_waste))
      found.push_back({.what = What::Kind, .mended = kind->mended, .kind = kind->name});
  }
  if (found.empty()) found.push_back({});
  return found;
}

}  // namespace allreplay
