#include "sim/replay/training/simulate.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <thread>

#include "sim/replay/network/rendezvous.hpp"
#include "sim/replay/training/batched_workers.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/lower_bound.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/pipeline_replay.hpp"
#include "sim/replay/training/task_jitter.hpp"
#include "sim/replay/training/training_metrics.hpp"

namespace allreplay {

namespace {

constexpr int warm_up = 5;              // iterations with jitter that are not counted
constexpr int longest_search = 10'000;  // iterations after which the search for a period is given up

// The state of the simulation between two iterations.
struct Mark {
  Time start;                   // of the earliest class's next B_L
  Time last_start;              // of the last class's next B_L
  Time busy;                    // so far, with any block in flight
  std::vector<Time> offsets;    // by class: delay of its next B_L after the earliest
  std::vector<Time> computing;  // by class: sum of its bounds (LowerBound::computing) so far
};

class Training {
 public:
  Training(const Job& job, const Plan& plan, std::vector<WorkerClass> classes)
      : scenario_(job.scenario),
        job_(job),
        plan_(plan),
        classes_(std::move(classes)),
        unrolled_(unroll_job(job, plan, classes_)),
        bound_(bound_of(scenario_.profile, plan, *job.fabric, unrolled_.per_rank_start)),
        offsets_(classes_.size(), Time(0)),
        computing_(classes_.size(), Time(0)) {
    batched_ = scenario_.stragglers.jitter && !job.compression && !scenario_.cluster.interference &&
               !unrolled_.per_rank_start && plan.roles.size() == 1 && link_one_worker();
    if (const auto& jitter = scenario_.stragglers.jitter) {
      orders_ = draw_orders(batched_ ? one_worker_ : unrolled_);
      for (const WorkerClass& one : classes_)
        random_.emplace_back(jitter->seed, static_cast<std::uint64_t>(one.workers[0]));
    }
    // The first period is preceded by a forward pass that waits for nothing.
    std::vector<Time> starts;
    for (const WorkerClass& one : classes_) {
      const std::vector<Work>& program = plan.roles[one.role].program;
      const bool forward_first = !program.empty() && program.front().kind == Activity::Forward;
      starts.push_back(forward_first ? Time(0) : forward_of(one));
    }
    begin_at(starts);
  }

  /// Replays an iteration. `keep`: records its timeline, which only the last two iterations need.
  void step(bool keep = true) {
    const std::unique_ptr<Server> network = this->network();
    Clock clock(*std::max_element(offsets_.begin(), offsets_.end()));
    const std::vector<ServerUse> channel{{network.get(), Phase::Communication}};
    if (batched_)
      replay_batched(channel, clock, keep);
    else
      replay_by_class(channel, clock);
    if (episodes_.size() > 2) episodes_.erase(episodes_.begin());
    network_events_ += network->events();
  }

  Mark mark() const {
    return {start_, add(start_, *std::max_element(offsets_.begin(), offsets_.end())), busy_, offsets_, computing_};
  }
  const LowerBound& bound() const { return bound_; }
  /// The lower bound of an iteration without jitter.
  Time least() const {
    const std::vector<Time> bounds = computing();
    return std::max(*std::max_element(bounds.begin(), bounds.end()), bound_.all);
  }
  std::int64_t events() const { return events_; }
  std::int64_t network_events() const { return network_events_; }
  const Unrolled& unrolled() const { return unrolled_; }
  Unrolled take_unrolled() { return std::move(unrolled_); }  ///< at the end
  const std::vector<WorkerClass>& classes() const { return classes_; }
  const std::vector<Episode>& episodes() const { return episodes_; }
  std::vector<Episode> take_episodes() { return std::move(episodes_); }  ///< at the end

 private:
  std::unique_ptr<Server> network() const {
    if (!unrolled_.per_rank_start) return job_.fabric->server();
    Parties parties;
    for (const WorkerClass& one : classes_) parties.emplace_back(one.workers.begin(), one.workers.end());
    const auto arrival = [this](TaskId id) -> std::optional<Rendezvous::Arrival> {
      const Label& label = unrolled_.labels[id];
      if (label.kind != Activity::Arrival) return std::nullopt;
      return Rendezvous::Arrival{unrolled_.transfer(label.item), label.worker_class};
    };
    return std::make_unique<Rendezvous>(job_.fabric->server_per_rank(parties), arrival);
  }

  Time forward_of(const WorkerClass& one) const { return slowed(*scenario_.profile, one.slowdown).forward(); }

  void begin_at(const std::vector<Time>& starts) {
    start_ = *std::min_element(starts.begin(), starts.end());
    for (std::size_t c = 0; c < starts.size(); ++c) offsets_[c] = starts[c] - start_;
  }

  void prepare() {
    for (std::size_t c = 0; c < classes_.size(); ++c) unrolled_.graph.task(unrolled_.lead_in(c)).duration = offsets_[c];
    for (std::size_t c = 0; c < orders_.size(); ++c)
      draw_factors(orders_[c], *scenario_.stragglers.jitter, random_[c], [&](TaskId id, double factor) {
        unrolled_.graph.task(id).duration = scaled(unrolled_.nominal[id], classes_[c].slowdown * factor);
      });
  }

  // Adds each class's bound for this iteration.
  void add_computing(const std::vector<Time>& bounds) {
    for (std::size_t c = 0; c < bounds.size(); ++c) computing_[c] = add(computing_[c], bounds[c]);
  }

  std::vector<Time> computing() const {
    std::vector<Time> all(classes_.size(), Time(0)), before = all;
    for (TaskId id = 0; id < unrolled_.labels.size(); ++id) {
      const Label& label = unrolled_.labels[id];
      if (!is_work(label)) continue;
      const Time time = unrolled_.graph.tasks()[id].duration;
      all[label.worker_class] = add(all[label.worker_class], time);
      if (bound_.hides(label, plan_.sharding)) before[label.worker_class] = add(before[label.worker_class], time);
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) all[c] = bound_.computing(all[c], before[c]);
    return all;
  }

  void replay_by_class(const std::vector<ServerUse>& channel, Clock& clock) {
    prepare();
    const Time start = start_;
    Timeline timeline =
        replay(unrolled_.graph, system_of(unrolled_, plan_, streams_, clock, channel, scenario_.cluster.interference));
    add_computing(computing());
    std::vector<Time> ends;
    for (std::size_t c = 0; c < classes_.size(); ++c) ends.push_back(timeline.spans[unrolled_.last_work(c)].end);
    advance(timeline, unrolled_, ends);
    episodes_.push_back({start, std::move(timeline)});
  }

  // Moves on to the next iteration. `ends`: by class, the end of its program.
  void advance(const Timeline& timeline, const Unrolled& unrolled, std::span<const Time> ends) {
    events_ += timeline.events;
    std::vector<std::pair<Time, Time>> flights;
    for (std::size_t i = 0; i < unrolled.transfers; ++i)
      if (const Span& span = timeline.spans[unrolled.transfer(i)]; plan_.transfers[i].travels())
        flights.emplace_back(span.start, span.end);
    busy_ = add(busy_, covered(std::move(flights)));
    std::vector<Time> starts;
    for (const Time end : ends) starts.push_back(add(start_, end));
    begin_at(starts);
  }

  // If no two workers are identical, there are too many tasks for the engine. It then replays the tasks of one worker,
  // whose works a BatchedWorkers does on all workers.

  // Builds that graph, without the order of works, which the batch implies. Returns false if gates need another order.
  bool link_one_worker() {
    one_worker_ = unroll_job(job_, plan_, {WorkerClass{}});
    const TaskId places = one_worker_.lead_in(1);
    for (const Task& task : one_worker_.graph.tasks()) one_worker_graph_.add(task);
    for (TaskId id = 0; id < one_worker_graph_.tasks().size(); ++id)
      for (const TaskId successor : one_worker_.graph.successors(id)) {
        if (id >= places || successor >= places)
          one_worker_graph_.precede(id, successor);
        else if (successor < id)
          return false;
      }
    one_worker_graph_.link();
    return true;
  }

  void replay_batched(const std::vector<ServerUse>& channel, Clock& clock, bool keep) {
    BatchedWorkers batched(classes_.size(), one_worker_.lead_in(1));
    add_computing(draw_times(batched));
    Timeline whole;
    if (keep) {
      whole.spans.resize(unrolled_.labels.size());
      batched.served = [&](TaskId place, std::span<const Time> ends) { keep_spans(batched, place, ends, whole); };
    }
    System system = system_of(one_worker_, plan_, streams_, clock, channel);
    system.servers[0].server = &batched;
    system.queues[one_worker_.stream(0)].rule = {Order::AsListed, {.count = Window::unlimited}};
    const Timeline timeline = replay(one_worker_graph_, system);
    if (keep) {
      whole.events = timeline.events;
      std::copy(timeline.spans.begin() + one_worker_.transfer(0), timeline.spans.end(),
                whole.spans.begin() + unrolled_.transfer(0));
      episodes_.push_back({start_, std::move(whole)});
    }
    advance(timeline, one_worker_, batched.ends());
  }

  // Draws all times, in several threads; each worker has its own random stream, so that the distribution over threads
  // does not matter. Returns each worker's bound with these times.
  std::vector<Time> draw_times(BatchedWorkers& batched) {
    std::copy(offsets_.begin(), offsets_.end(), batched.times(0).begin());
    std::vector<Time> computing(classes_.size());
    const auto draw = [&](std::size_t from, std::size_t to) {
      for (std::size_t c = from; c < to; ++c) {
        Time all{0}, before{0};
        draw_factors(orders_[0], *scenario_.stragglers.jitter, random_[c], [&](TaskId place, double factor) {
          const Time takes = scaled(one_worker_.nominal[place], classes_[c].slowdown * factor);
          batched.times(place)[c] = takes;
          if (!is_work(one_worker_.labels[place])) return;
          all = add(all, takes);
          if (bound_.hides(one_worker_.labels[place], plan_.sharding)) before = add(before, takes);
        });
        computing[c] = bound_.computing(all, before);
      }
    };
    constexpr std::size_t worth_a_thread = 50'000;  // draws, which take a few milliseconds
    const std::size_t count = classes_.size();
    const std::size_t threads = std::clamp<std::size_t>(count * one_worker_.works(0) / worth_a_thread, 1,
                                                        std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < threads; ++i)
      others.push_back(
          std::async(std::launch::async | std::launch::deferred, draw, count * i / threads, count * (i + 1) / threads));
    draw(0, count / threads);
    for (std::future<void>& other : others) other.get();
    return computing;
  }

  // Records the spans and durations that the engine would have produced for all workers.
  void keep_spans(BatchedWorkers& batched, TaskId place, std::span<const Time> ends, Timeline& whole) {
    for (std::size_t c = 0; c < ends.size(); ++c) {
      const Time start = ends[c] - batched.times(place)[c];
      whole.spans[unrolled_.lead_in(c) + place] = {start, start, ends[c]};
      unrolled_.graph.task(unrolled_.lead_in(c) + place).duration = batched.times(place)[c];
    }
  }

  const Scenario& scenario_;
  const Job& job_;
  const Plan& plan_;
  std::vector<WorkerClass> classes_;
  Unrolled unrolled_;
  LowerBound bound_;
  std::vector<DrawOrder> orders_;     // with jitter, by class; of one worker, if a batch replays all of them
  std::vector<WorkerRandom> random_;  // by class
  std::vector<Stream> streams_;
  std::vector<Time> offsets_, computing_;
  Time start_{0};
  Time busy_{0};
  std::int64_t events_ = 0;
  std::int64_t network_events_ = 0;
  std::vector<Episode> episodes_;
  bool batched_ = false;
  Unrolled one_worker_;         // of one worker, if a batch replays all of them
  TaskGraph one_worker_graph_;  // its tasks
};

// With jitter, the period is the mean after a warm-up. It is bounded below by each worker's drawn times, minus its lead
// over the last worker at the start.
Period mean_period(Training& training, std::int64_t iterations, const std::function<void()>& after_each) {
  for (int i = 0; i < warm_up; ++i) training.step(i + 1 == warm_up);
  const Mark from = training.mark();
  for (std::int64_t i = 0; i < iterations; ++i) {
    training.step(i + 2 >= iterations);
    if (after_each) after_each();
  }
  const Mark to = training.mark();
  const auto count = static_cast<double>(iterations);
  Time bound{0};
  for (std::size_t c = 0; c < from.offsets.size(); ++c) {
    const Time behind = from.last_start - add(from.start, from.offsets[c]);
    bound = std::max(bound, to.computing[c] - from.computing[c] - behind);
  }
  const double all = to_seconds(training.bound().all);
  return {to_seconds(to.last_start - from.last_start) / count, to_seconds(to.busy - from.busy) / count,
          std::max(to_seconds(bound) / count, all)};
}

// Without jitter, an iteration depends only on the offsets between workers; once these repeat, so does everything else.
Period steady_period(Training& training) {
  std::map<std::vector<Time>, std::size_t> seen;
  std::vector<Mark> marks;
  for (;;) {
    marks.push_back(training.mark());
    const auto [repeated, fresh] = seen.emplace(training.mark().offsets, marks.size() - 1);
    const bool give_up = marks.size() > longest_search;
    if (!fresh || give_up) {
      const std::size_t since = fresh ? marks.size() / 2 : repeated->second;
      const Mark &from = marks[since], &to = marks.back();
      const auto count = static_cast<double>(marks.size() - 1 - since);
      return {to_seconds(to.last_start - from.last_start) / count, to_seconds(to.busy - from.busy) / count,
              to_seconds(training.least())};
    }
    training.step();
  }
}

// Returns the period of the same plan if all workers compute as fast as the profile says.
double iteration_without_stragglers(Job job, const Plan& plan) {
  Scenario& scenario = job.scenario;
  scenario.stragglers = {};
  Training training(
      job, plan,
      worker_classes({}, scenario.workers, scenario.fold, plan.roles, scenario.options.start != Start::Ranks));
  return steady_period(training).iteration_s;
}

// Returns the number of transfers in groups of more than one worker.
std::int64_t collectives_of(const Plan& plan, std::int64_t workers) {
  return std::count_if(plan.transfers.begin(), plan.transfers.end(), [&](const Transfer& one) {
    return one.travels() && plan.groups[one.group].group.of(workers).ranks > 1;
  });
}

}  // namespace

double slowest_factor(const Scenario& scenario) {
  const std::vector<double> all = slowdowns(scenario.stragglers, scenario.workers, scenario.options.parallel.pp);
  return *std::max_element(all.begin(), all.end());
}

Shared<Profile> slowest_profile(const Scenario& scenario) {
  const double factor = slowest_factor(scenario);
  return factor == 1 ? scenario.profile : Shared<Profile>(slowed(scenario.profile, factor));
}

Result simulate(const Job& job, const Plan& plan) {
  if (job.scenario.profile->host.step > Time(0) && !has_host_step(plan)) return simulate(job, with_host_step(plan));
  if (plan.pipeline) return simulate_pipeline(job, plan);
  const Scenario& scenario = job.scenario;
  Result result;
  result.collective = job.choice.algorithm->name;
  result.fidelity = job.choice.fidelity;
  result.warning = job.warning;
  result.plan = plan;
  // A single worker sends nothing. A sharded plan keeps its transfers, since its memory depends on them.
  std::optional<Plan> alone;
  if (scenario.workers == 1 && !plan.sharding.shards_optimizer()) {
    alone = plan;
    alone->transfers.clear();
    alone->gates.clear();
  }
  const Plan& sent = alone ? *alone : plan;
  Training training(job, sent,
                    worker_classes(scenario.stragglers, scenario.workers, scenario.fold, sent.roles,
                                   scenario.options.start != Start::Ranks));
  Period period = scenario.stragglers.jitter
                      ? mean_period(training, scenario.options.iterations, scenario.after_iteration)
                      : steady_period(training);
  if (scenario.parts && scenario.stragglers.any())
    period.without_stragglers_s = iteration_without_stragglers(job, sent);
  result.metrics = metrics_of(scenario, sent, period, training.unrolled());
  if (job.choice.detailed() && sent.lanes.size() > 1) result.metrics.lower_bound_s.reset();
  result.metrics.collectives = collectives_of(sent, scenario.workers);
  result.metrics.events = training.events();
  result.metrics.network_events = training.network_events();
  result.memory = memory_of(scenario, plan, training.unrolled(), training.episodes().back());
  result.classes = training.classes();
  result.episodes = training.take_episodes();
  result.unrolled = training.take_unrolled();
  if (job.parallel) add_parallel_result(job, sent, result);
  return result;
}

Result simulate(const Scenario& scenario, const Plan& plan) {
  return simulate(prepared_for(plan, job_of(scenario)), plan);
}

}  // namespace allreplay
