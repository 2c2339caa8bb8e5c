#include "sim/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr double seconds = 1e-12;  // in a picosecond
constexpr double half = 0.5, quarter = 0.25, together = 0.9;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The name under which a kind is asked about.
std::string_view asked_name(OpKind kind) {
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

// Means about which values vary, by stage or by worker.
struct Moments {
  std::vector<double> count, sum, squares;  // squares: about the mean
};

// Of one kind of compute, over all steps and micro-batches; `place_of`: an op's stage, or its worker, of so many.
template <class Place>
Moments moments(const MeasuredSteps& job, const std::vector<double>& own, OpKind kind, std::size_t places,
                const Place& place_of) {
  const JobGraph& graph = job.graph;
  const std::vector<double> none(places, 0.0);
  Moments result{none, none, none};
  const auto each = [&](auto&& visit) {
    for (std::size_t i = 0; i < own.size(); ++i)
      if (const JobOp& op = graph.ops[i % graph.ops.size()]; op.kind == kind) visit(place_of(op), own[i]);
  };
  each([&](std::size_t place, double value) {
    result.count[place] += 1;
    result.sum[place] += value;
  });
  each([&](std::size_t place, double value) {
    const double from_mean = value - result.sum[place] / result.count[place];
    result.squares[place] += from_mean * from_mean;
  });
  return result;
}

Moments moments_of_stages(const MeasuredSteps& job, const std::vector<double>& own, OpKind kind) {
  return moments(job, own, kind, job.graph.stages, [](const JobOp& op) { return op.stage; });
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Those whose computes took longer than the mean of their stage's workers, by what is called straggling, in every step.
// None where what varies is more than by half the micro-batches of each worker: in few steps chance slows some, too.
std::vector<WorkerPlace> slow_in_every_step(const MeasuredSteps& job, const std::vector<double>& own) {
  const JobGraph& graph = job.graph;
  const std::size_t workers = std::size_t{graph.replicas} * graph.stages;
  const auto worker_of = [&](const JobOp& op) { return job.worker(op.replica, op.stage); };
  double within_workers = 0, within_stages = 0;
  std::vector<double> computing(job.steps.size() * workers, 0.0);  // by step and worker
  for (const OpKind kind : {OpKind::ForwardCompute, OpKind::BackwardCompute}) {
    within_workers += sum_of(moments(job, own, kind, workers, worker_of).squares);
    within_stages += sum_of(moments_of_stages(job, own, kind).squares);
    for (std::size_t i = 0; i < own.size(); ++i)
      if (const JobOp& op = graph.ops[i % graph.ops.size()]; op.kind == kind)
        computing[i / graph.ops.size() * workers + worker_of(op)] += own[i];
  }
  if (within_workers > 0.5 * within_stages) return {};
  std::vector<WorkerPlace> slow;
  for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
      bool always = true;
      for (std::size_t step = 0; step < job.steps.size(); ++step) {
        const auto first = computing.begin() + static_cast<std::ptrdiff_t>(step * workers + job.worker(0, stage));
        const double mean_of_stage = std::accumulate(first, first + graph.replicas, 0.0) / graph.replicas;
        always = always && first[replica] >= straggling * mean_of_stage;
      }
      if (always) slow.emplace_back(replica, stage);
    }
  return slow;
}

// Standard deviation over mean at each stage; the mean of these.
double spread(const Moments& of) {
  double sum = 0;
  for (std::size_t stage = 0; stage < of.sum.size(); ++stage)
    if (of.sum[stage] > 0) sum += std::sqrt(of.squares[stage] / of.count[stage]) / (of.sum[stage] / of.count[stage]);
  return sum / static_cast<double>(of.sum.size());
}

// Forward and backward of the same micro-batch, each stage's mean taken off (Pearson).
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

// The worst 3 % of the workers, at least one; among equals the lower rank.
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

std::vector<std::string> suspects_of(const Diagnosis& known) {
  if (known.slowdown < straggling) return {"none"};
  std::vector<std::string> suspects;
  const bool workers = known.mended_workers >= half;
  if (workers) suspects.emplace_back("worker");
  if (!workers && known.mended_stage >= half) suspects.emplace_back("last-stage");
  if (!workers && known.fb_correlation >= together) suspects.emplace_back("sequence-length");
  const KindAnswer* worst = nullptr;
  for (const KindAnswer& kind : known.by_kind)
    if (kind.name != name_of(OpKind::ForwardCompute) && kind.name != name_of(OpKind::BackwardCompute) &&
        (!worst || kind.mended > worst->mended))
      worst = &kind;
  if (worst && worst->mended >= quarter) suspects.push_back(worst->name);
  if (suspects.empty()) suspects.emplace_back("spread");
  return suspects;
}

// Asks all what-ifs: those of the answers' parts first, then those that need the worst workers.
class Asking {
 public:
  Asking(Diagnosis& known, const std::function<std::function<void()>(std::size_t)>& progress) : known_(known) {
    for (const JobOp& op : known.job.graph.ops)
      kinds_[asked_name(op.kind)] |= std::uint32_t{1} << static_cast<unsigned>(op.kind);
    const std::size_t first = 2 + 2 * kinds_.size() + known.job.graph.stages;
    advance_ = progress(rounds_of(known.job, first) + rounds_of(known.job, 3));
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
      known_.by_kind.push_back({std::string(name), mean(times[next]) / ideal_, part_of_waste(mean(times[next + 1]))});
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
    const auto mended = ask({{.workers = &worst, .inverted = true},
                             {.stage = std::int64_t{graph.stages} - 1, .inverted = true},
                             {.kinds = computes, .inverted = true}});
    known_.mended_workers = part_of_waste(mean(mended[0]));
    known_.mended_stage = graph.stages > 1 ? part_of_waste(mean(mended[1])) : 0;
    known_.mended_computes = part_of_waste(mean(mended[2]));
    if (known_.mended_workers >= half) find_slow_workers();
    known_.slowdown = actual_ / ideal_;
    known_.waste = 1 - ideal_ / actual_;
  }

 private:
  static std::vector<std::vector<double>> in_seconds(std::vector<std::vector<double>> times) {
    for (auto& steps : times)
      for (double& time : steps) time *= seconds;
    return times;
  }

  // Seconds, [question][step].
  std::vector<std::vector<double>> ask(const std::vector<Question>& questions) const {
    return in_seconds(step_times(known_.job, known_.durations, questions, advance_));
  }

  // The worst 3 % are ranked by the smaller of their replica's and their stage's slowdown: a fast worker whose replica
  // and whose stage each have a slow one is among them. So each is asked about alone; if none straggles, the worst is
  // named.
  void find_slow_workers() {
    std::vector<Question> questions;
    for (const auto& [replica, stage] : known_.worst_workers) questions.push_back({.replica = replica, .stage = stage});
    const auto times = in_seconds(step_times(known_.job, known_.durations, questions, [] {}));
    for (std::size_t i = 0; i < questions.size(); ++i)
      if (mean(times[i]) >= straggling * ideal_) known_.slow_workers.push_back(known_.worst_workers[i]);
    if (known_.slow_workers.empty()) known_.slow_workers = {known_.worst_workers.front()};
  }

  double part_of_waste(double mended) const {
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
    const ReplayedStep replayed = replay_step(graph, [own](std::uint32_t op) { return own[op]; });
    const std::vector<std::uint32_t> path = critical_path(graph, replayed);
    for (std::size_t i = 0; i < path.size(); ++i)
      known.critical_share[name_of(graph.ops[path[i]].kind)] +=
          replayed.end[path[i]] - (i + 1 < path.size() ? replayed.end[path[i + 1]] : 0);
    sum += replayed.end[replayed.last];
  }
  for (auto& [kind, share] : known.critical_share) share /= sum;
}

}  // namespace

double Diagnosis::mean_replayed_s() const { return mean(replayed_s); }

double Diagnosis::without_s(double mended) const {
  return mean(replayed_s) - std::min(1.0, mended) * (mean(replayed_s) - mean(ideal_s));
}

Diagnosis diagnose(MeasuredJob measured, const std::function<std::function<void()>(std::size_t)>& progress) {
  const SourceLocation file{measured.files.front(), ""};
  Diagnosis known{.job = lay_out(std::move(measured))};
  const MeasuredSteps& job = known.job;
  known.durations = durations_of(job);
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    const auto size = static_cast<std::ptrdiff_t>(job.graph.ops.size());
    const auto first = job.end.begin() + static_cast<std::ptrdiff_t>(step) * size;
    known.measured_s.push_back(*std::max_element(first, first + size) * seconds);  // the first start is 0
  }
  Asking(known, progress).run();
  if (known.by_kind.empty()) throw InputError(file, "no op takes any time", "measured durations");
  known.replay_error = 1 - mean(known.replayed_s) / mean(known.measured_s);
  known.launch_slowdown = mean(known.measured_s) / mean(known.replayed_s);
  follow_critical_paths(known);
  const Moments forward = moments_of_stages(job, known.durations.own, OpKind::ForwardCompute);
  const Moments backward = moments_of_stages(job, known.durations.own, OpKind::BackwardCompute);
  for (std::uint32_t stage = 0; stage < job.graph.stages; ++stage)
    known.stage_compute_s.push_back(
        {forward.sum[stage] / forward.count[stage] * seconds, backward.sum[stage] / backward.count[stage] * seconds});
  known.microbatch_spread = {spread(forward), spread(backward)};
  known.fb_correlation = correlation(job, known.durations.own);
  known.steadily_slow = slow_in_every_step(job, known.durations.own);
  known.suspects = suspects_of(known);
  return known;
}

}  // namespace allreplay
