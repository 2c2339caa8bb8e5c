#include "sim/studies/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "sim/studies/calibration/fit.hpp"

namespace allreplay {

namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Moments moments_of_stages(const MeasuredSteps& job, const std::vector<double>& own, OpKind kind) {
  return moments(job, own, std::uint32_t{1} << static_cast<unsigned>(kind), job.graph.stages,
                 [](const JobOp& op) { return op.stage; });
}

// Returns the relative standard deviation, averaged over stages.
double spread(const Moments& of) {
  double sum = 0;
  for (std::size_t stage = 0; stage < of.sum.size(); ++stage)
    if (of.sum[stage] > 0) sum += std::sqrt(of.squares[stage] / of.count[stage]) / (of.sum[stage] / of.count[stage]);
  return sum / static_cast<double>(of.sum.size());
}

// Pearson correlation of the forward and backward of a micro-batch, relative to their stage's means.
double correlation(const MeasuredSteps& job, const std::vector<double>& own) {
  const JobGraph& graph = job.graph;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> backwards;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // ops
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i)
    if (const JobOp& op = graph.ops[i]; op.kind == OpKind::BackwardCompute)
      backwards[{op.stage, op.replica, op.seq}] = i;
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const JobOp& op = graph.ops[i];
    if (op.kind != OpKind::ForwardCompute) continue;
    if (const auto other = backwards.find({op.stage, op.replica, op.seq}); other != backwards.end())
      pairs.emplace_back(i, other->second);
  }
  if (pairs.empty()) return 0;
  struct Sums {
    double count = 0, forward = 0, backward = 0;
  };
  std::vector<Sums> of_stage(graph.stages);
  Sums all;
  const auto each = [&](auto&& visit) {
    for (std::size_t step = 0; step < job.steps.size(); ++step)
      for (const auto& [forward, backward] : pairs)
        visit(graph.ops[forward].stage, own[step * graph.ops.size() + forward],
              own[step * graph.ops.size() + backward]);
  };
  each([&](std::uint32_t stage, double forward, double backward) {
    for (Sums* sums : {&of_stage[stage], &all}) {
      sums->count += 1;
      sums->forward += forward;
      sums->backward += backward;
    }
  });
  double ff = 0, bb = 0, fb = 0;
  each([&](std::uint32_t stage, double forward, double backward) {
    const Sums& sums = of_stage[stage];
    const double f = forward - sums.forward / sums.count, b = backward - sums.backward / sums.count;
    ff += f * f;
    bb += b * b;
    fb += f * b;
  });
  const auto varies = [&](double squares, double sum) {
    return squares > 0 && std::sqrt(squares / all.count) >= 1e-6 * sum / all.count;
  };
  return varies(ff, all.forward) && varies(bb, all.backward) ? fb / std::sqrt(ff * bb) : 0;
}

// Returns the worst 3 % of the workers, at least one; ties by lower rank.
std::vector<WorkerPlace> worst_of(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  std::vector<WorkerPlace> workers;
  for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) workers.emplace_back(replica, stage);
  const auto order = [&](const WorkerPlace& worker) {
    const std::size_t number = known.job.worker(worker.first, worker.second);
    return std::tuple(-known.by_worker[number], known.job.ranks[number], number);
  };
  std::sort(workers.begin(), workers.end(),
            [&](const WorkerPlace& a, const WorkerPlace& b) { return order(a) < order(b); });
  workers.resize((workers.size() * 3 + 99) / 100);
  return workers;
}

// Adds up the units of a sharded job. Their sizes differ, which would look like varying micro-batches.
PassTimes sum_of_units(const MeasuredSteps& job, const std::vector<double>& own) {
  PassTimes passes;
  passes.job.steps = job.steps;
  passes.job.graph.replicas = job.graph.replicas;
  passes.job.graph.stages = job.graph.stages;
  std::map<std::tuple<std::uint32_t, OpKind, std::uint32_t>, std::size_t> places;
  std::vector<JobOp>& ops = passes.job.graph.ops;
  for (const JobOp& op : job.graph.ops)
    if ((op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute) &&
        places.emplace(std::tuple(op.replica, op.kind, op.seq), ops.size()).second)
      ops.push_back({.replica = op.replica, .seq = op.seq, .kind = op.kind});
  passes.own.resize(ops.size() * job.steps.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const JobOp& op = job.graph.ops[i % job.graph.ops.size()];
    if (const auto place = places.find({op.replica, op.kind, op.seq}); place != places.end())
      passes.own[i / job.graph.ops.size() * ops.size() + place->second] += own[i];
  }
  return passes;
}

// Evaluates all what-ifs: first those by kind, stage and replica, then those that depend on the worst workers.
class WhatIfReplays {
 public:
  WhatIfReplays(Diagnosis& known, const std::function<std::function<void()>(std::size_t)>& progress) : known_(known) {
    for (const JobOp& op : known.job.graph.ops)
      kinds_[question_name(op.kind)] |= std::uint32_t{1} << static_cast<unsigned>(op.kind);
    const std::size_t first = 2 + 2 * kinds_.size() + known.job.graph.stages;
    const std::size_t then = 4 + known.job.graph.stages + (known.job.sharded.empty() ? 0 : sharded_questions);
    advance_ = progress(rounds_of(known.job, first) + rounds_of(known.job, then));
  }

  void run() {
    const JobGraph& graph = known_.job.graph;
    std::vector<Question> questions{{}, {.inverted = true}};
    for (const auto& [name, kinds] : kinds_)
      for (const bool inverted : {false, true}) questions.push_back({.kinds = kinds, .inverted = inverted});
    for (std::int64_t stage = 0; stage < graph.stages; ++stage) questions.push_back({.stage = stage});
    const auto times = ask(questions);
    known_.replayed_s = times[0];
    known_.ideal_s = times[1];
    actual_ = mean(times[0]);
    ideal_ = mean(times[1]);
    if (!(ideal_ > 0)) return;
    std::size_t next = 2;
    for (const auto& [name, kinds] : kinds_) {
      known_.by_kind.push_back({std::string(name), mean(times[next]) / ideal_, share_of_waste(mean(times[next + 1]))});
      next += 2;
    }
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
      known_.by_stage.push_back(mean(times[next++]) / ideal_);
    for (const std::vector<double>& steps : in_seconds(replica_times(known_.job, known_.durations)))
      known_.by_replica.push_back(mean(steps) / ideal_);
    for (const double stage : known_.by_stage)
      for (const double replica : known_.by_replica) known_.by_worker.push_back(std::min(replica, stage));
    known_.worst_workers = worst_of(known_);
    std::vector<bool> worst(known_.by_worker.size());
    for (const auto& [replica, stage] : known_.worst_workers) worst[known_.job.worker(replica, stage)] = true;
    const std::uint32_t computes = kinds_[name_of(OpKind::ForwardCompute)] | kinds_[name_of(OpKind::BackwardCompute)];
    known_.steadily_slow = slow_in_every_step(known_.computes(), known_.own_computes());
    std::vector<bool> steady(known_.by_worker.size());
    for (const auto& [replica, stage] : known_.steadily_slow) steady[known_.job.worker(replica, stage)] = true;
    known_.worst_replica = static_cast<std::uint32_t>(
        std::max_element(known_.by_replica.begin(), known_.by_replica.end()) - known_.by_replica.begin());
    std::vector<Question> mending{{.workers = &worst, .inverted = true},
                                  {.workers = &steady, .inverted = true},
                                  {.replica = known_.worst_replica, .inverted = true},
                                  {.kinds = computes, .inverted = true}};
    for (std::int64_t stage = 0; stage < graph.stages; ++stage) mending.push_back({.stage = stage, .inverted = true});
    if (!known_.job.sharded.empty()) add_sharded(mending);
    std::vector<double> mended;
    const auto mended_times = ask(mending);
    for (const std::vector<double>& steps : mended_times) mended.push_back(share_of_waste(mean(steps)));
    if (!known_.job.sharded.empty()) {
      const std::size_t first_sharded = mended.size() - sharded_questions;
      known_.what_ifs = {{"gathers take no time", mean(mended_times[first_sharded])},
                         {"reductions take no time", mean(mended_times[first_sharded + 1])},
                         {"gaps of the slowest host as the median's", mean(mended_times[first_sharded + 2])},
                         {"no slow rank", mean(mended_times[0])}};
      mended.resize(first_sharded);
    }
    known_.mended_workers = mended[0];
    known_.mended_steady = mended[1];
    known_.mended_replica = mended[2];
    known_.mended_computes = mended[3];
    known_.mended_stages.assign(mended.begin() + 4, mended.end());
    if (graph.stages == 1) known_.mended_stages = {0};  // the whole job
    known_.mended_stage = known_.mended_stages.back();
    if (known_.mended_workers >= half_of_waste) find_slow_workers();
    known_.slowdown = actual_ / ideal_;
    known_.waste = 1 - ideal_ / actual_;
  }

 private:
  static std::vector<std::vector<double>> in_seconds(std::vector<std::vector<double>> times) {
    for (auto& steps : times)
      for (double& time : steps) time *= seconds_per_ps;
    return times;
  }

  // Returns the step times in seconds: [question][step].
  std::vector<std::vector<double>> ask(const std::vector<Question>& questions) const {
    return in_seconds(step_times(known_.job, known_.durations, questions, advance_));
  }

  static constexpr std::size_t sharded_questions = 3;

  void add_sharded(std::vector<Question>& questions) const {
    const auto bits = [](std::initializer_list<OpKind> kinds) {
      std::uint32_t all = 0;
      for (const OpKind kind : kinds) all |= std::uint32_t{1} << static_cast<unsigned>(kind);
      return all;
    };
    questions.push_back({.no_time = bits({OpKind::UnitForwardGather, OpKind::UnitBackwardGather})});
    questions.push_back({.no_time = bits({OpKind::UnitReduce, OpKind::UnitReplicate})});
    const std::vector<double> gaps = gaps_before_ops(known_.job);
    std::vector<std::int64_t> hosts(gaps.size());
    std::iota(hosts.begin(), hosts.end(), 0);
    std::sort(hosts.begin(), hosts.end(), [&](std::int64_t a, std::int64_t b) {
      return std::pair(gaps[static_cast<std::size_t>(a)], a) < std::pair(gaps[static_cast<std::size_t>(b)], b);
    });
    questions.push_back({.gaps_of = hosts.back(), .gaps_as = hosts[(hosts.size() - 1) / 2]});
  }

  // The worst 3 % are ranked by the smaller of their replica's and their stage's slowdown, so that they include fast
  // workers whose replica and stage each have a slow one. Therefore replays each of them in isolation; if none
  // straggles, names the worst.
  void find_slow_workers() {
    std::vector<Question> questions;
    for (const auto& [replica, stage] : known_.worst_workers) questions.push_back({.replica = replica, .stage = stage});
    const auto times = in_seconds(step_times(known_.job, known_.durations, questions, [] {}));
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (mean(times[i]) >= straggling * ideal_) known_.slow_workers.push_back(known_.worst_workers[i]);
    if (known_.slow_workers.empty()) known_.slow_workers = {known_.worst_workers.front()};
  }

  double share_of_waste(double mended) const {
    return actual_ > ideal_ * (1 + 1e-12) ? (actual_ - mended) / (actual_ - ideal_) : 0;
  }

  Diagnosis& known_;
  std::map<std::string_view, std::uint32_t> kinds_;
  std::function<void()> advance_;
  double actual_ = 0, ideal_ = 0;
};

void follow_critical_paths(Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  double sum = 0;
  for (std::size_t step = 0; step < known.job.steps.size(); ++step) {
    const double* own = known.durations.own.data() + step * graph.ops.size();
    const ReplayedStep replayed = replay_step(known.job, step, [own](std::uint32_t op) { return own[op]; });
    const std::vector<std::uint32_t> path = critical_path(known.job, step, replayed);
    for (std::size_t i = 0; i < path.size(); ++i)
      known.critical_share[name_of(graph.ops[path[i]].kind)] +=
          replayed.end[path[i]] - (i + 1 < path.size() ? replayed.end[path[i + 1]] : 0);
    sum += replayed.end[replayed.last];
  }
  for (auto& [kind, share] : known.critical_share) share /= sum;
}

// Replays the steps with the computes of these workers as long as the median of the other replicas'.
std::optional<double> step_as_others(const Diagnosis& known, const std::vector<WorkerPlace>& slow) {
  const JobGraph& graph = known.job.graph;
  if (slow.empty() || !known.job.sharded.empty()) return std::nullopt;
  const auto is_slow = [&](std::uint32_t op) {
    return std::find(slow.begin(), slow.end(), WorkerPlace{graph.ops[op].replica, graph.ops[op].stage}) != slow.end();
  };
  const std::vector<std::vector<std::uint32_t>> by_replica = ops_by_replica(graph);
  double sum = 0;
  for (std::size_t step = 0; step < known.job.steps.size(); ++step) {
    const auto first = known.durations.own.begin() + static_cast<std::ptrdiff_t>(step * graph.ops.size());
    std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(graph.ops.size()));
    for (std::size_t i = 0; i < by_replica.front().size(); ++i) {
      if (!is_compute(graph.ops[by_replica.front()[i]].kind)) continue;
      std::vector<double> others;
      for (const auto& ops : by_replica)
        if (!is_slow(ops[i])) others.push_back(own[ops[i]]);
      if (others.size() == by_replica.size()) continue;
      if (others.empty()) return std::nullopt;
      const double usual = median(std::move(others));
      for (const auto& ops : by_replica)
        if (is_slow(ops[i])) own[ops[i]] = usual;
    }
    const ReplayedStep replayed = replay_step(graph, [&](std::uint32_t op) { return own[op]; });
    sum += replayed.end[replayed.last];
  }
  return sum * seconds_per_ps / static_cast<double>(known.job.steps.size());
}

}  // namespace

double Diagnosis::mean_replayed_s() const { return mean(replayed_s); }

double Diagnosis::iteration_without_s(double mended) const {
  return mean(replayed_s) - std::min(1.0, mended) * (mean(replayed_s) - mean(ideal_s));
}

Diagnosis diagnose(MeasuredJob measured, const std::function<std::function<void()>(std::size_t)>& progress) {
  const SourceLocation file{measured.files.front(), ""};
  Diagnosis known{.job = lay_out(std::move(measured))};
  const MeasuredSteps& job = known.job;
  known.durations = durations_of(job);
  if (!job.sharded.empty()) {
    known.passes = sum_of_units(job, known.durations.own);
    known.exposure = exposure_of(job);
  }
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    const auto size = static_cast<std::ptrdiff_t>(job.graph.ops.size());
    const auto first = job.end.begin() + static_cast<std::ptrdiff_t>(step) * size;
    known.measured_s.push_back(*std::max_element(first, first + size) * seconds_per_ps);  // the first start is 0
  }
  WhatIfReplays(known, progress).run();
  if (known.by_kind.empty()) throw InputError(file, "no op takes time", "measured durations");
  known.replay_error = 1 - mean(known.replayed_s) / mean(known.measured_s);
  known.launch_slowdown = mean(known.measured_s) / mean(known.replayed_s);
  follow_critical_paths(known);
  const Moments forward = moments_of_stages(known.computes(), known.own_computes(), OpKind::ForwardCompute);
  const Moments backward = moments_of_stages(known.computes(), known.own_computes(), OpKind::BackwardCompute);
  for (std::uint32_t stage = 0; stage < job.graph.stages; ++stage)
    known.stage_compute_s.push_back({forward.sum[stage] / forward.count[stage] * seconds_per_ps,
                                     backward.sum[stage] / backward.count[stage] * seconds_per_ps});
  known.microbatch_spread = {spread(forward), spread(backward)};
  known.fb_correlation = correlation(known.computes(), known.own_computes());
  known.gap_s = gaps_before_ops(job);
  known.suspects = suspects_of(known);
  known.findings = findings_of(known);
  for (Finding& found : known.findings) found.as_others_s = step_as_others(known, found.workers);
  return known;
}

}  // namespace allreplay
