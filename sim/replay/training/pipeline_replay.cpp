#include "sim/replay/training/pipeline_replay.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

#include "sim/base/core/digest.hpp"
#include "sim/replay/engine/cycles.hpp"
#include "sim/replay/training/lower_bound.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/training_metrics.hpp"

namespace allreplay {

namespace {

constexpr std::size_t longest_search_of_period = 64;  // iterations

// The transfers that take time in a replay.
enum class Timed : std::uint8_t { All, OnlySends, Nothing };

// The steady state: means over a period of iterations, and one of them.
struct Steady {
  double seconds = 0;  // per iteration
  double busy_s = 0;   // per iteration, with any reduction or gather in flight
  bool repeats = true;
  Timeline iteration;  // times are relative to its earliest start
  std::int64_t events = 0, network_events = 0;
};

// Returns a class for each rank: its workers all wait for the slowest of them.
std::vector<WorkerClass> ranks_of(const Job& job, const Plan& plan, bool slowed) {
  std::vector<WorkerClass> ranks = worker_classes({}, job.scenario.workers, true, plan.roles);
  if (!slowed) return ranks;
  for (WorkerClass& rank : ranks) rank.slowdown = job.parallel->slowdowns[rank.role];
  return ranks;
}

// Collects iterations until one repeats an earlier one; all later ones then repeat, too.
class Iterations final : public Observer {
 public:
  // `first`: rank 0's first task.
  explicit Iterations(TaskId first) : first_(first) {}

  bool should_continue(std::size_t, std::int64_t) override { return true; }
  void ended(std::size_t, std::int64_t, std::span<const Span> spans) override {
    const std::size_t number = all.size();
    all.emplace_back(spans.begin(), spans.end());
    if (to > 0) return;
    repeats = number < longest_search_of_period;
    const auto [known, fresh] = seen_.emplace(digest_of(number), number);
    if (repeats && fresh) return;
    from = repeats ? known->second : longest_search_of_period / 2;
    to = number;
  }
  bool enough(Time, const State&) override { return to > 0; }

  // Returns the start of rank 0's first work.
  Time start(std::size_t iteration) const { return all[iteration][first_].start; }

  std::vector<std::vector<Span>> all;
  std::size_t from = 0, to = 0;  // the first period: [from, to)
  bool repeats = true;

 private:
  // Returns a digest of all times of an iteration, relative to start().
  std::uint64_t digest_of(std::size_t iteration) const {
    const Time origin = start(iteration);
    std::uint64_t state = 0;
    for (const Span& span : all[iteration]) {
      state = digest(static_cast<std::uint64_t>((span.start - origin).count()), state);
      state = digest(static_cast<std::uint64_t>((span.end - origin).count()), state);
    }
    return state;
  }

  TaskId first_;
  std::map<std::uint64_t, std::size_t> seen_;
};

class PipelineReplay {
 public:
  /// `slowed`: with the job's stragglers. `exchanging`: token exchanges take their time.
  PipelineReplay(const Job& job, const Plan& plan, bool slowed = true, bool exchanging = true)
      : job_(job),
        plan_(plan),
        roles_(ranks_of(job, plan, slowed)),
        unrolled_(unroll_job(job, plan, roles_, exchanging)) {
    for (const Task& task : unrolled_.graph.tasks()) bytes_.push_back(task.bytes);
  }

  Steady run(Timed timed) {
    set_bytes(timed);
    Steady steady;
    Clock clock(Time(0));
    const std::vector<std::unique_ptr<Server>> channels = this->channels();
    const System system = this->system(channels, clock);
    if (plan_.together)
      one_iteration(system, steady);
    else
      several_iterations(system, steady);
    for (const auto& channel : channels) steady.network_events += channel->events();
    return steady;
  }

  const Unrolled& unrolled() const { return unrolled_; }
  Unrolled take_unrolled() {
    set_bytes(Timed::All);
    return std::move(unrolled_);
  }
  const std::vector<WorkerClass>& roles() const { return roles_; }

 private:
  // Sets the transfers' bytes; those that take no time have none.
  void set_bytes(Timed timed) {
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const bool send = plan_.transfers[index].op == CollectiveOp::Send;
      const bool counts = timed == Timed::All || (timed == Timed::OnlySends && send);
      const TaskId one = unrolled_.transfer(index);
      unrolled_.graph.task(one).bytes = counts ? bytes_[one] : WireBytes(0);
    }
  }

  void one_iteration(const System& system, Steady& steady) {
    steady.iteration = replay(unrolled_.graph, system);
    steady.events = steady.iteration.events;
    Time end{0};
    for (const Span& span : steady.iteration.spans) end = std::max(end, span.end);
    steady.seconds = to_seconds(end);
    steady.busy_s = to_seconds(busy(std::span(&steady.iteration.spans, 1), Time(0), end));
  }

  void several_iterations(const System& system, Steady& steady) {
    Iterations iterations(unrolled_.work(0, 0));
    std::vector<Cycle> cycles(1);
    cycles[0].graph = unrolled_.graph;
    cycles[0].carried = unrolled_.carried;
    steady.events = replay_cycles(cycles, system, iterations);
    steady.repeats = iterations.repeats;
    const Time begin = iterations.start(iterations.from), period = iterations.start(iterations.to) - begin;
    const std::size_t count = iterations.to - iterations.from;
    const auto those = std::span(iterations.all).subspan(iterations.from, count);
    steady.seconds = to_seconds(period) / static_cast<double>(count);
    steady.busy_s = to_seconds(busy(those, begin, period)) / static_cast<double>(count);
    steady.iteration = {std::move(iterations.all[iterations.from]), steady.events};
    Time earliest = never;
    for (const Span& span : steady.iteration.spans) earliest = std::min(earliest, span.start);
    for (Span& span : steady.iteration.spans) {
      span.ready -= earliest;
      span.start -= earliest;
      span.end -= earliest;
    }
  }

  // Returns the time in a period with any reduction or gather in flight. Flights that cross the period's ends are
  // wrapped around, since they repeat in each period.
  Time busy(std::span<const std::vector<Span>> iterations, Time begin, Time period) const {
    std::vector<std::pair<Time, Time>> flights;
    for (const std::vector<Span>& spans : iterations)
      for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
        if (is_data_parallel(plan_.transfers[index])) {
          const Span& span = spans[unrolled_.transfer(index)];
          const Time start = period > Time(0) ? ((span.start - begin) % period + period) % period : Time(0);
          const Time end = start + (span.end - span.start);
          flights.emplace_back(start, std::min(end, period));
          flights.emplace_back(Time(0), std::min(end - period, period));
        }
    return covered(std::move(flights));
  }

  // True for reductions and gathers; false for sends and the sum of tied tensors.
  bool is_data_parallel(const Transfer& one) const { return plan_.groups[one.group].group.members.empty(); }

  // Returns the channels of reductions and gathers, numbered like ranks. The others carry sends and tied tensors.
  std::set<std::uint32_t> channels_of_gradients() const {
    std::set<std::uint32_t> channels;
    for (const Transfer& one : plan_.transfers)
      if (is_data_parallel(one)) channels.insert(plan_.lanes[one.lane].channel);
    return channels;
  }

  // In the detailed fidelities all lanes share one network.
  std::vector<std::unique_ptr<Server>> channels() const {
    std::vector<std::unique_ptr<Server>> channels;
    if (job_.choice.detailed()) {
      channels.push_back(job_.fabric->server());
      return channels;
    }
    std::uint32_t count = 0;
    for (const Lane& lane : plan_.lanes) count = std::max(count, lane.channel + 1);
    for (std::uint32_t channel = 0; channel < count; ++channel) channels.push_back(job_.fabric->server());
    return channels;
  }

  System system(const std::vector<std::unique_ptr<Server>>& channels, Clock& clock) {
    const bool shared = job_.choice.detailed();
    const std::set<std::uint32_t> gradients = channels_of_gradients();
    // Sends are served in the compute phase, so that a send without duration ends before a reduction is chosen.
    std::vector<ServerUse> uses;
    for (std::uint32_t channel = 0; channel < channels.size(); ++channel)
      uses.push_back(
          {channels[channel].get(), shared || gradients.contains(channel) ? Phase::Communication : Phase::Compute});
    System system = system_of(unrolled_, plan_, streams_, clock, uses);
    if (const auto& interference = job_.scenario.cluster.interference; interference && shared)
      add_interference(system, 0, static_cast<std::uint32_t>(roles_.size()), 0, job_, roles_);
    else if (interference)  // each rank has its own channel
      for (const std::uint32_t rank : gradients)
        system.influences.push_back(felt(*interference, static_cast<std::uint32_t>(roles_.size()) + rank, {rank}));
    return system;
  }

  const Job& job_;
  const Plan& plan_;
  std::vector<WorkerClass> roles_;
  Unrolled unrolled_;
  std::vector<WireBytes> bytes_;  // by task of once_
  std::vector<Stream> streams_;
};

// Adds up the activities of a rank's stream in an iteration.
StageResult stage_of(const Job& job, const Unrolled& unrolled, std::uint32_t rank) {
  const Pipeline& pipeline = *job.parallel->pipeline;
  StageResult stage;
  const bool overlap = overlaps_exchanges(job.scenario);
  Time compute{0}, inside{0}, exchanging{0}, update{0}, host{0};
  for (std::size_t place = 0; place < unrolled.works(rank); ++place) {
    const TaskId id = unrolled.work(rank, place);
    const Label& label = unrolled.labels[id];
    const Time time = unrolled.nominal[id];
    if (label.kind == Activity::Update) {
      update = add(update, time);
      continue;
    }
    if (label.kind == Activity::HostStep) host = add(host, time);
    if (!is_on_stream(label.kind) || label.kind == Activity::HostStep) continue;
    const Time collectives = inside_layers(job, label);
    const Time exchanges = exchanges_of(job, label);
    exchanging = add(exchanging, exchanges);
    inside = add(inside, overlap && !label.in_pair ? collectives - exchanges : collectives);
    compute = add(compute, time - collectives);
  }
  stage.compute_s = to_seconds(compute);
  stage.layer_comm_s = to_seconds(inside);
  stage.exchange_s = to_seconds(exchanging);
  stage.update_s = to_seconds(update);
  stage.host_step_s = to_seconds(host);
  for (const std::uint32_t chunk : pipeline.chunks_of(rank))
    stage.chunks.push_back({chunk, pipeline.chunks[chunk].first, pipeline.chunks[chunk].layers()});
  return stage;
}

double mean_of(const std::vector<StageResult>& stages, double StageResult::*part) {
  const double sum = std::accumulate(stages.begin(), stages.end(), 0.0,
                                     [&](double so_far, const StageResult& one) { return so_far + one.*part; });
  return sum / static_cast<double>(stages.size());
}

std::vector<MemoryUse> memory_by_rank(const Job& job, const Plan& plan, const PipelineReplay& replay,
                                      const Steady& steady) {
  std::vector<MemoryUse> memory;
  for (std::uint32_t rank = 0; rank < plan.roles.size(); ++rank)
    memory.push_back(memory_of_rank(job, plan, replay.unrolled(), steady.iteration, rank));
  return memory;
}

// Iteration times of the same plan, in seconds, each without one more cause of delay.
struct Parts {
  double without_stragglers = 0, without_gradients = 0, without_sends = 0;
  double without_exchanges = without_sends;  ///< only if they overlap computing
};

Parts parts_of(const Job& job, const Plan& plan, PipelineReplay& slowed, double iteration) {
  if (!job.scenario.parts) return {iteration, iteration, iteration};
  const std::vector<double>& slowdowns = job.parallel->slowdowns;
  Parts parts{.without_stragglers = iteration};
  if (std::all_of(slowdowns.begin(), slowdowns.end(), [](double one) { return one == 1; })) {
    parts.without_gradients = slowed.run(Timed::OnlySends).seconds;
    parts.without_sends = slowed.run(Timed::Nothing).seconds;
  } else {
    PipelineReplay even(job, plan, false);
    parts.without_stragglers = even.run(Timed::All).seconds;
    parts.without_gradients = even.run(Timed::OnlySends).seconds;
    parts.without_sends = even.run(Timed::Nothing).seconds;
  }
  parts.without_exchanges = overlaps_exchanges(job.scenario)
                                ? PipelineReplay(job, plan, false, false).run(Timed::Nothing).seconds
                                : parts.without_sends;
  return parts;
}

ParallelResult parallel_result(const Job& job) {
  ParallelResult result;
  result.degrees = job.parallel->degrees;
  result.schedule = job.scenario.options.parallel.schedule;
  result.micro_batches = job.scenario.options.strategy.sharding.accumulate;
  return result;
}

}  // namespace

PipelineCost pipeline_cost(const Job& job, const Plan& plan) {
  PipelineReplay replay(job, plan);
  const Steady steady = replay.run(Timed::All);
  PipelineCost cost{steady.seconds, 0};
  for (const MemoryUse& one : memory_by_rank(job, plan, replay, steady))
    cost.memory_bytes = std::max(cost.memory_bytes, one.peak);
  return cost;
}

Result simulate_pipeline(const Job& job, const Plan& plan) {
  PipelineReplay replay(job, plan);
  Steady steady = replay.run(Timed::All);
  const Parts parts = parts_of(job, plan, replay, steady.seconds);
  Result result;
  result.collective = job.choice.algorithm->name;
  result.fidelity = job.choice.fidelity;
  result.warning = job.warning;
  if (!steady.repeats)
    result.warning +=
        fmt::format("{}no period within {} iterations: the mean of the last {}", result.warning.empty() ? "" : "\n",
                    longest_search_of_period, longest_search_of_period / 2);
  result.plan = plan;
  ParallelResult parallel = parallel_result(job);
  parallel.repeats = steady.repeats;
  parallel.chunks = job.parallel->pipeline->chunks_per_rank;
  parallel.exposed_dp_s = without_rounding(parts.without_stragglers - parts.without_gradients);
  parallel.exposed_p2p_s = without_rounding(parts.without_gradients - parts.without_sends);
  std::vector<MemoryUse> memory = memory_by_rank(job, plan, replay, steady);
  for (std::uint32_t rank = 0; rank < plan.roles.size(); ++rank) {
    StageResult stage = stage_of(job, replay.unrolled(), rank);
    stage.bubble_s = without_rounding(parts.without_exchanges - stage.compute_s - stage.layer_comm_s - stage.update_s -
                                      stage.host_step_s);
    stage.memory = std::move(memory[rank]);
    parallel.stages.push_back(std::move(stage));
  }
  parallel.bubble_s = without_rounding(mean_of(parallel.stages, &StageResult::bubble_s));
  parallel.layer_comm_s = mean_of(parallel.stages, &StageResult::layer_comm_s);
  if (overlaps_exchanges(job.scenario)) {
    parallel.exposed_ep_s = without_rounding(parts.without_sends - parts.without_exchanges);
    parallel.layer_comm_s += parallel.exposed_ep_s;
  } else {
    parallel.exposed_ep_s = mean_of(parallel.stages, &StageResult::exchange_s);
  }
  const auto most = std::max_element(parallel.stages.begin(), parallel.stages.end(),
                                     [](const auto& a, const auto& b) { return a.memory.peak < b.memory.peak; });
  result.memory = most->memory;
  Metrics& metrics = result.metrics;
  metrics.iteration_s = steady.seconds;
  metrics.straggler_s = without_rounding(steady.seconds - parts.without_stragglers);
  metrics.update_s = mean_of(parallel.stages, &StageResult::update_s);
  metrics.host_step_s = mean_of(parallel.stages, &StageResult::host_step_s);
  metrics.exposed_comm_s = without_rounding(parallel.layer_comm_s + parallel.exposed_p2p_s + parallel.exposed_dp_s);
  metrics.comm_busy_s = steady.busy_s;
  metrics.lower_bound_s = pipeline_bound(job, plan, replay.unrolled());
  add_speeds(job.parallel->layers_alone, parallel.micro_batches, parallel.degrees, metrics);
  metrics.collectives = std::count_if(plan.transfers.begin(), plan.transfers.end(), [&](const Transfer& one) {
    return one.op != CollectiveOp::Send && plan.groups[one.group].group.ranks > 1;
  });
  metrics.events = steady.events;
  metrics.network_events = steady.network_events;
  result.parallel = std::move(parallel);
  result.classes = replay.roles();
  result.unrolled = replay.take_unrolled();
  result.episodes.push_back({Time(0), std::move(steady.iteration)});
  return result;
}

void add_parallel_result(const Job& job, const Plan& plan, Result& result) {
  const ParallelSetup& setup = *job.parallel;
  Metrics& metrics = result.metrics;
  ParallelResult parallel = parallel_result(job);
  add_speeds(setup.layers_alone, parallel.micro_batches, parallel.degrees, metrics);
  parallel.chunks = 1;
  const auto micro_batches = static_cast<double>(plan.sharding.accumulate);
  const double computing = micro_batches * (metrics.forward_s + metrics.backward_s);
  parallel.layer_comm_s = micro_batches * to_seconds(add(setup.profile.forward() - setup.layers_alone->forward(),
                                                         setup.profile.backward() - setup.layers_alone->backward()));
  Time exchanging{0};
  for (const std::vector<PassExchanges>* passes : {&setup.exchanges.forward, &setup.exchanges.backward})
    for (const PassExchanges& one : *passes) exchanging = add(exchanging, one.total);
  parallel.exposed_ep_s = micro_batches * to_seconds(exchanging);
  const double exposed =
      metrics.iteration_s - metrics.straggler_s - computing - metrics.update_s - metrics.host_step_s - metrics.codec_s;
  metrics.exposed_comm_s = without_rounding(exposed);
  parallel.exposed_dp_s = without_rounding(exposed - parallel.layer_comm_s);
  StageResult stage;
  stage.chunks = {{0, 0, static_cast<std::uint32_t>(setup.profile.layers.size())}};
  stage.compute_s = computing;
  stage.layer_comm_s = parallel.layer_comm_s;
  stage.update_s = metrics.update_s;
  stage.host_step_s = metrics.host_step_s;
  stage.memory = result.memory;
  parallel.stages.push_back(std::move(stage));
  result.parallel = std::move(parallel);
}

}  // namespace allreplay
