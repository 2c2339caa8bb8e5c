#include "sim/training/pipeline_replay.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

#include "sim/core/digest.hpp"
#include "sim/training/pipeline_bound.hpp"
#include "sim/training/pipeline_memory.hpp"

namespace allreplay {

namespace {

constexpr std::size_t longest_search_of_period = 64;  // iterations

// What takes time.
enum class Taking : std::uint8_t { All, SendsAlone, Nothing };

// A period of iterations, and one of them.
struct Steady {
  double seconds = 0;
  double busy_s = 0;  // an iteration's, with any reduction or gather in flight
  bool repeats = true;
  Timeline iteration;  // its spans, by the tasks of one iteration, since its earliest start
  std::int64_t events = 0, network_events = 0;
};

// All tasks of a rank take as long as its slowest worker is expected to (docs/models.md, spread).
std::vector<WorkerClass> ranks_of(const Job& job, const Plan& plan) {
  std::vector<WorkerClass> ranks = worker_classes({}, job.scenario.workers, true, plan.roles);
  if (const auto& spread = job.scenario.stragglers.spread)
    for (WorkerClass& rank : ranks) rank.slowdown = spread->expected_largest(job.parallel->degrees.of_rank());
  return ranks;
}

// What one rank feels of a network that all share: no server, but a view of one.
class Felt final : public Server {
 public:
  Felt(const Server& network, std::function<bool(TaskId)> which) : network_(network), which_(std::move(which)) {}

  void start(TaskId, const Task&, Time) override {}
  Time next_completion() const override { return never; }
  void complete(Time, std::vector<TaskId>&) override {}
  Load load() const override { return network_.load_of(which_); }

 private:
  const Server& network_;
  std::function<bool(TaskId)> which_;
};

class PipelineReplay {
 public:
  PipelineReplay(const Job& job, const Plan& plan)
      : job_(job),
        plan_(plan),
        roles_(ranks_of(job, plan)),
        once_(unroll(job.parallel->profile, plan, roles_, job.fabric.get(), std::nullopt,
                     plan.sharding.shards_optimizer() ? job.parallel->degrees.of_gradients() : 1)) {
    for (const Task& task : once_.graph.tasks()) bytes_.push_back(task.bytes);
  }

  Steady run(Taking taking) {
    take(taking);
    if (plan_.together) return one_iteration(once_.graph);
    for (std::size_t count = 4;; count = std::min(4 * count, longest_search_of_period + 2))
      if (auto steady = several(count)) return std::move(*steady);
  }

  const Unrolled& unrolled() const { return once_; }
  Unrolled take_unrolled() { return std::move(once_); }
  const std::vector<WorkerClass>& roles() const { return roles_; }

 private:
  std::size_t tasks() const { return once_.labels.size(); }

  // What takes no time has no bytes.
  void take(Taking taking) {
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const bool send = plan_.transfers[index].op == CollectiveOp::Send;
      const bool counts = taking == Taking::All || (taking == Taking::SendsAlone && send);
      once_.graph.task(once_.transfer(index)).bytes = counts ? bytes_[once_.transfer(index)] : WireBytes(0);
    }
  }

  Steady one_iteration(const TaskGraph& graph) {
    Steady steady;
    steady.iteration = replayed(graph, steady);
    Time end{0};
    for (const Span& span : steady.iteration.spans) end = std::max(end, span.end);
    steady.seconds = to_seconds(end);
    steady.busy_s = to_seconds(busy(steady.iteration.spans, 1, Time(0), never));
    return steady;
  }

  // So many iterations, one behind another, as one graph.
  TaskGraph repeated(std::size_t count) const {
    TaskGraph graph;
    const auto size = static_cast<TaskId>(tasks());
    graph.name = once_.graph.name;
    std::vector<std::int64_t> ranks;  // by queue: how many tasks it has
    std::int64_t priorities = 0;
    for (const Task& task : once_.graph.tasks()) {
      ranks.resize(std::max<std::size_t>(ranks.size(), task.queue + 1));
      ++ranks[task.queue];
      if (!of_clock(task)) priorities = std::max(priorities, task.priority + 1);
    }
    for (std::size_t i = 0; i < count; ++i)
      for (Task task : once_.graph.tasks()) {
        task.position += static_cast<std::int64_t>(i) * ranks[task.queue];
        if (!of_clock(task)) task.priority += static_cast<std::int64_t>(i) * priorities;
        graph.add(task);
      }
    for (std::size_t i = 0; i < count; ++i) {
      const auto shift = static_cast<TaskId>(i) * size;
      for (TaskId id = 0; id < size; ++id)
        for (const TaskId successor : once_.graph.successors(id)) graph.precede(shift + id, shift + successor);
      if (i + 1 == count) break;
      for (std::size_t role = 0; role < roles_.size(); ++role)
        graph.precede(shift + once_.last_work(role), shift + size + once_.lead_in(role));
      for (const Gate& gate : plan_.gates)
        if (gate.next) graph.precede(shift + task_of(gate.before), shift + size + task_of(gate.after));
    }
    graph.link();
    return graph;
  }

  // Its priorities are numbers of origins.
  bool of_clock(const Task& task) const { return once_.ticks && task.queue == once_.clock(); }

  TaskId task_of(const PlanPoint& point) const {
    if (const auto* work = std::get_if<WorkPoint>(&point)) return once_.work(work->role, work->place);
    if (const auto* transfer = std::get_if<TransferPoint>(&point)) return once_.transfer(transfer->index);
    return once_.lead_in(std::get<StartPoint>(point).role);
  }

  // The period, if so many iterations show it. The last two may miss those behind them, on a network that all share.
  std::optional<Steady> several(std::size_t count) {
    Steady steady;
    const Timeline all = replayed(repeated(count), steady);
    const std::size_t whole = count - 2;
    std::map<std::uint64_t, std::size_t> seen;
    std::size_t from = 0, to = 0;
    for (std::size_t i = 0; i < whole && to == 0; ++i) {
      const auto [known, fresh] = seen.emplace(digest_of(all, i), i);
      if (fresh) continue;
      from = known->second;
      to = i;
    }
    if (to == 0 && whole < longest_search_of_period) return std::nullopt;
    steady.repeats = to > 0;
    if (to == 0) {
      from = longest_search_of_period / 2;
      to = longest_search_of_period;
    }
    const Time begin = start(all, from), end = start(all, to);
    const auto iterations = static_cast<double>(to - from);
    steady.seconds = to_seconds(end - begin) / iterations;
    steady.busy_s = to_seconds(busy(all.spans, count, begin, end)) / iterations;
    steady.iteration = iteration(all, from);
    return steady;
  }

  // Of the iteration: when rank 0 starts its first work.
  Time start(const Timeline& all, std::size_t i) const { return all.spans[i * tasks() + once_.work(0, 0)].start; }

  // When everything of an iteration happens, since rank 0 starts it: if that is what it was, all that follows is.
  std::uint64_t digest_of(const Timeline& all, std::size_t i) const {
    const Time origin = start(all, i);
    std::uint64_t state = 0;
    for (const Span& span : std::span(all.spans).subspan(i * tasks(), tasks())) {
      state = digest(static_cast<std::uint64_t>((span.start - origin).count()), state);
      state = digest(static_cast<std::uint64_t>((span.end - origin).count()), state);
    }
    return state;
  }

  Timeline iteration(const Timeline& all, std::size_t i) const {
    Timeline one;
    one.events = all.events;
    const auto spans = std::span(all.spans).subspan(i * tasks(), tasks());
    one.spans.assign(spans.begin(), spans.end());
    Time earliest = never;
    for (const Span& span : one.spans) earliest = std::min(earliest, span.start);
    for (Span& span : one.spans) {
      span.ready -= earliest;
      span.start -= earliest;
      span.end -= earliest;
    }
    return one;
  }

  // How long, between two instants, any reduction or gather is in flight.
  Time busy(std::span<const Span> spans, std::size_t iterations, Time from, Time to) const {
    std::vector<std::pair<Time, Time>> flights;
    for (std::size_t i = 0; i < iterations; ++i)
      for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
        if (is_of_data(plan_.transfers[index])) {
          const Span& span = spans[i * tasks() + once_.transfer(index)];
          flights.emplace_back(std::max(span.start, from), std::min(span.end, to));
        }
    std::sort(flights.begin(), flights.end());
    Time sum{0}, until{0};
    for (const auto& [start, end] : flights) {
      if (end <= until || end <= start) continue;
      sum += end - std::max(start, until);
      until = end;
    }
    return sum;
  }

  Timeline replayed(const TaskGraph& graph, Steady& steady) {
    streams_.assign(roles_.size(), Stream());
    Clock clock(Time(0));
    const std::vector<std::unique_ptr<Server>> channels = this->channels();
    const Timeline timeline = replay(graph, system(channels, clock));
    steady.events = timeline.events;
    for (const auto& channel : channels) steady.network_events += channel->events();
    return timeline;
  }

  // A reduction or a gather: no send, and nothing that is tied.
  bool is_of_data(const Transfer& one) const { return plan_.groups[one.group].group.members.empty(); }

  // Which of them carry reductions and gathers, each of the rank of its number; the others carry sends, and what is
  // tied.
  std::set<std::uint32_t> channels_of_gradients() const {
    std::set<std::uint32_t> channels;
    for (const Transfer& one : plan_.transfers)
      if (is_of_data(one)) channels.insert(plan_.lanes[one.lane].channel);
    return channels;
  }

  // In the detailed fidelities all lanes share one network.
  std::vector<std::unique_ptr<Server>> channels() const {
    if (job_.choice.detailed()) {
      std::vector<std::unique_ptr<Server>> one;
      one.push_back(job_.fabric->server());
      return one;
    }
    std::uint32_t count = 0;
    for (const Lane& lane : plan_.lanes) count = std::max(count, lane.channel + 1);
    const std::set<std::uint32_t> gradients = channels_of_gradients();
    std::vector<std::unique_ptr<Server>> channels;
    for (std::uint32_t channel = 0; channel < count; ++channel)
      channels.push_back(gradients.contains(channel) ? job_.fabric->server() : job_.beneath->server());
    return channels;
  }

  System system(const std::vector<std::unique_ptr<Server>>& channels, Clock& clock) {
    System system;
    const auto serve = [&](Server& server, Phase phase) {
      system.servers.push_back({&server, phase});
      return static_cast<std::uint32_t>(system.servers.size() - 1);
    };
    for (Stream& stream : streams_) system.queues.push_back({"compute", {}, serve(stream, Phase::Compute)});
    // A send of no length settles as a task of no length does, before a reduction is chosen.
    const std::set<std::uint32_t> gradients = channels_of_gradients();
    std::vector<std::uint32_t> servers;
    const bool shared = job_.choice.detailed();
    for (std::uint32_t channel = 0; channel < channels.size(); ++channel)
      servers.push_back(
          serve(*channels[channel], shared || gradients.contains(channel) ? Phase::Communication : Phase::Compute));
    for (const Lane& lane : plan_.lanes)
      system.queues.push_back({lane.name, {lane.order, lane.window}, servers[shared ? 0 : lane.channel]});
    // A rank feels its own reductions and gathers: all of its channel, or those on the network that all share.
    felt_.clear();
    if (const auto& interference = job_.scenario.cluster.interference)
      for (const std::uint32_t rank : gradients) {
        if (shared)
          felt_.push_back(std::make_unique<Felt>(*channels[0], [this, rank](TaskId id) { return is_of(rank, id); }));
        system.influences.push_back(
            felt(*interference, shared ? serve(*felt_.back(), Phase::Compute) : servers[rank], {rank}));
      }
    if (once_.ticks)
      system.queues.push_back({"clock", {.window = {.count = Window::unlimited}}, serve(clock, Phase::Compute)});
    return system;
  }

  // Whether a task of the replayed iterations is a reduction or a gather of the rank.
  bool is_of(std::uint32_t rank, TaskId id) const {
    const Label& label = once_.labels[id % tasks()];
    return label.kind == Label::Kind::Transfer && plan_.transfers[label.item].group == rank;
  }

  const Job& job_;
  const Plan& plan_;
  std::vector<WorkerClass> roles_;
  Unrolled once_;
  std::vector<WireBytes> bytes_;  // by task of once_
  std::vector<Stream> streams_;
  std::vector<std::unique_ptr<Felt>> felt_;  // by rank, in the detailed fidelities
};

// What a rank's stream does in an iteration.
StageResult stage_of(const Job& job, const Unrolled& unrolled, std::uint32_t rank) {
  const ParallelSetup& setup = *job.parallel;
  StageResult stage;
  Time compute{0}, inside{0}, update{0};
  for (std::size_t place = 0; place < unrolled.works(rank); ++place) {
    const TaskId id = unrolled.work(rank, place);
    const Label& label = unrolled.labels[id];
    const Time time = unrolled.nominal[id];
    if (label.kind == Label::Kind::Update) {
      update = add(update, time);
      continue;
    }
    if (!is_of_worker(label)) continue;
    const Layer &with = setup.profile.layers[label.item], &alone = setup.layers_alone->layers[label.item];
    const Time collectives = label.kind == Label::Kind::Forward          ? with.forward - alone.forward
                             : label.kind == Label::Kind::BackwardWeight ? Time(0)
                                                                         : with.backward - alone.backward;
    inside = add(inside, collectives);
    compute = add(compute, time - collectives);
  }
  stage.compute_s = to_seconds(compute);
  stage.layer_comm_s = to_seconds(inside);
  stage.update_s = to_seconds(update);
  for (const std::uint32_t chunk : setup.pipeline->chunks_of(rank))
    stage.chunks.push_back({chunk, setup.pipeline->chunks[chunk].first, setup.pipeline->chunks[chunk].layers()});
  return stage;
}

double mean_of(const std::vector<StageResult>& stages, double StageResult::*part) {
  const double sum = std::accumulate(stages.begin(), stages.end(), 0.0,
                                     [&](double so_far, const StageResult& one) { return so_far + one.*part; });
  return sum / static_cast<double>(stages.size());
}

// Below the clock's tick there is only rounding.
double settled(double seconds) { return std::abs(seconds) < 0.5e-12 ? 0 : seconds; }

// The parts of the iteration that users compare, but for its length.
void add_speeds(const Job& job, Metrics& metrics) {
  const ParallelSetup& setup = *job.parallel;
  const Profile& profile = setup.layers_alone;
  metrics.forward_s = to_seconds(profile.forward());
  metrics.backward_s = to_seconds(profile.backward());
  const auto batches = static_cast<double>(job.scenario.options.strategy.sharding.accumulate);
  const double whole =
      batches * (metrics.forward_s + metrics.backward_s) + to_seconds(profile.update.value_or(Time(0)));
  const auto workers = static_cast<double>(job.scenario.workers);
  metrics.speedup = workers / static_cast<double>(setup.degrees.pp) * whole / metrics.iteration_s;
  metrics.efficiency = metrics.speedup / workers;
  if (profile.batch_size)
    metrics.samples_per_s = static_cast<double>(setup.degrees.dp) * batches * static_cast<double>(*profile.batch_size) /
                            metrics.iteration_s;
}

ParallelResult parallel_result(const Job& job) {
  ParallelResult result;
  result.degrees = job.parallel->degrees;
  result.schedule = job.scenario.options.parallel.schedule;
  result.micro_batches = job.scenario.options.strategy.sharding.accumulate;
  return result;
}

}  // namespace

Result simulate_pipeline(const Job& job, const Plan& plan) {
  PipelineReplay replay(job, plan);
  Steady steady = replay.run(Taking::All);
  const double without_gradients = replay.run(Taking::SendsAlone).seconds;
  const double without_sends = replay.run(Taking::Nothing).seconds;
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
  parallel.exposed_dp_s = settled(steady.seconds - without_gradients);
  parallel.exposed_p2p_s = settled(without_gradients - without_sends);
  for (std::uint32_t rank = 0; rank < plan.roles.size(); ++rank) {
    StageResult stage = stage_of(job, replay.unrolled(), rank);
    stage.bubble_s = settled(without_sends - stage.compute_s - stage.layer_comm_s - stage.update_s);
    stage.memory = memory_of_rank(job, plan, replay.unrolled(), steady.iteration, rank);
    parallel.stages.push_back(std::move(stage));
  }
  parallel.bubble_s = settled(mean_of(parallel.stages, &StageResult::bubble_s));
  parallel.layer_comm_s = mean_of(parallel.stages, &StageResult::layer_comm_s);
  const auto most = std::max_element(parallel.stages.begin(), parallel.stages.end(),
                                     [](const auto& a, const auto& b) { return a.memory.peak < b.memory.peak; });
  result.memory = most->memory;
  Metrics& metrics = result.metrics;
  metrics.iteration_s = steady.seconds;
  metrics.update_s = mean_of(parallel.stages, &StageResult::update_s);
  metrics.exposed_comm_s = settled(parallel.layer_comm_s + parallel.exposed_p2p_s + parallel.exposed_dp_s);
  metrics.comm_busy_s = steady.busy_s;
  metrics.lower_bound_s = pipeline_bound(job, plan, replay.unrolled());
  add_speeds(job, metrics);
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
  add_speeds(job, metrics);
  ParallelResult parallel = parallel_result(job);
  parallel.chunks = 1;
  const auto batches = static_cast<double>(plan.sharding.accumulate);
  const double computing = batches * (metrics.forward_s + metrics.backward_s);
  parallel.layer_comm_s = batches * to_seconds(add(setup.profile.forward() - setup.layers_alone->forward(),
                                                   setup.profile.backward() - setup.layers_alone->backward()));
  const double exposed = metrics.iteration_s - computing - metrics.update_s - metrics.codec_s;
  metrics.exposed_comm_s = settled(exposed);
  parallel.exposed_dp_s = settled(exposed - parallel.layer_comm_s);
  StageResult stage;
  stage.chunks = {{0, 0, static_cast<std::uint32_t>(setup.profile.layers.size())}};
  stage.compute_s = computing;
  stage.layer_comm_s = parallel.layer_comm_s;
  stage.update_s = metrics.update_s;
  stage.memory = result.memory;
  parallel.stages.push_back(std::move(stage));
  result.parallel = std::move(parallel);
}

}  // namespace allreplay
