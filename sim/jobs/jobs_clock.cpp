#include "sim/jobs/jobs_clock.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "sim/engine/cycles.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/training/unroll.hpp"

namespace allreplay {

namespace {

// The forward passes that come before a program that begins with a backward pass; they wait for nothing.
void add_opening(Cycle& cycle, const SeatedJob& job, const Unrolled& unrolled, QueueId first_queue) {
  const std::vector<Work>& program = job.plan.program();
  if (!program.empty() && program.front().kind == WorkKind::Forward) return;
  for (std::uint32_t c = 0; c < job.classes.size(); ++c) {
    const WorkerClass& one = job.classes[c];
    const Profile& profile = one.profile ? *one.profile : *job.job.scenario.profile;
    std::int64_t rank = 0;
    for (const Layer& layer : profile.layers) {
      const TaskId id =
          cycle.opening.add({.queue = first_queue + unrolled.stream(c),
                             .rank = rank++,
                             .duration = one.slowdown == 1 ? layer.forward : scaled(layer.forward, one.slowdown)});
      if (rank > 1) cycle.opening.precede(id - 1, id);
    }
    cycle.from_opening.push_back({static_cast<TaskId>(cycle.opening.tasks().size() - 1), unrolled.lead_in(c)});
  }
  cycle.opening.link();
}

// One job's part of the system.
struct Player {
  const SeatedJob* job = nullptr;
  Unrolled unrolled;
  std::vector<Stream> streams;
  Clock clock;
  std::vector<std::uint32_t> compute, codec;  // servers, by class
  std::vector<Random> random;                 // by class
};

class JobsClock final : public Observer {
 public:
  JobsClock(std::span<const SeatedJob> jobs, const JobsFile& file, bool disturbed)
      : file_(file), players_(jobs.size()), cycles_(jobs.size()) {
    std::vector<Tenant> tenants;
    for (const SeatedJob& one : jobs)
      tenants.push_back({one.job.rounds.get(), &one.job.setup, one.job.topology.get(), one.job.scenario.options.launch});
    network_ = shared_network(tenants);
    system_.servers.push_back({network_.server.get(), Phase::Communication});
    for (std::size_t i = 0; i < jobs.size(); ++i) add(i, jobs[i]);
    times_.jobs.resize(jobs.size());
    passes_.assign(jobs.size(), false);
    some_end_ = std::any_of(jobs.begin(), jobs.end(), [](const SeatedJob& job) { return job.iterations.has_value(); });
    const bool random = std::any_of(
        jobs.begin(), jobs.end(), [](const SeatedJob& job) { return job.job.scenario.stragglers.jitter.has_value(); });
    const bool switches = std::any_of(file.background.begin(), file.background.end(),
                                      [](const Background& one) { return one.on.has_value(); });
    if (disturbed)
      for (const ClusterEvent& event : file.events)
        for (const Time instant : {event.at, event.end()})
          if (instant != never) changes_.push_back(instant);
    std::sort(changes_.begin(), changes_.end());
    may_repeat_ = !some_end_ && !random && !(disturbed && (switches || !file.events.empty()));
  }

  JobsTimes run() {
    times_.events = replay_cycles(cycles_, system_, *this);
    for (std::size_t i = 0; i < players_.size(); ++i) measure(i);
    return std::move(times_);
  }

  bool goes_on(std::size_t cycle, std::int64_t replay) override {
    const auto& iterations = players_[cycle].job->iterations;
    return !iterations || replay < *iterations;
  }

  // Draws as `run` does, from a stream per seat.
  void begins(std::size_t cycle, std::int64_t replay, std::span<Task> tasks) override {
    Player& player = players_[cycle];
    const auto& jitter = player.job->job.scenario.stragglers.jitter;
    if (!jitter || replay < 0) return;
    for (TaskId id = 0; id < player.unrolled.labels.size(); ++id) {
      const Label& label = player.unrolled.labels[id];
      if (!is_of_worker(label)) continue;
      const double slowdown =
          player.job->classes[label.worker_class].slowdown * jitter->draw(player.random[label.worker_class]);
      tasks[id].duration = scaled(player.unrolled.nominal[id], slowdown);
    }
  }

  void passed(std::size_t cycle, std::int64_t, Time now) override {
    JobTimes& times = times_.jobs[cycle];
    times.begins.push_back(now);
    players_[cycle].clock.restart(now);
    passes_[cycle] = true;
    const auto& iterations = players_[cycle].job->iterations;
    if (iterations && std::ssize(times.begins) == *iterations + 1) times.end = now;
  }

  Time next_change() const override {
    const auto next = std::upper_bound(changes_.begin(), changes_.end(), changed_);
    return next == changes_.end() ? never : *next;
  }

  // What computes under other events than before.
  std::vector<std::pair<std::uint32_t, double>> change(Time now) override {
    changed_ = now;
    std::vector<std::pair<std::uint32_t, double>> slowed;
    for (Player& player : players_)
      for (std::size_t c = 0; c < player.job->classes.size(); ++c) {
        if (player.job->events[c].empty()) continue;
        double factor = 1;
        for (const std::size_t event : player.job->events[c])
          if (file_.events[event].at <= now && now < file_.events[event].end()) factor *= *file_.events[event].slowdown;
        slowed.emplace_back(player.compute[c], factor);
        if (player.unrolled.beside) slowed.emplace_back(player.codec[c], factor);
      }
    return slowed;
  }

  bool enough(Time now, const State& state) override {
    const bool looks = may_repeat_ && passes_[0];
    std::fill(passes_.begin(), passes_.end(), false);
    if (some_end_)
      return std::all_of(times_.jobs.begin(), times_.jobs.end(), [&](const JobTimes& times) {
        return times.end || !players_[static_cast<std::size_t>(&times - times_.jobs.data())].job->iterations;
      });
    if (looks && all_began()) {
      const auto [same, fresh] = seen_.emplace(state(), now);
      if (!fresh) {
        times_.period = now - same->second;
        since_ = same->second;
        return true;
      }
    }
    return all_measured();
  }

 private:
  void add(std::size_t number, const SeatedJob& job) {
    Player& player = players_[number];
    player.job = &job;
    const Scenario& scenario = job.job.scenario;
    player.unrolled = unroll(scenario.profile, job.plan, job.classes, job.job.fabric.get(), job.job.compression,
                             job.plan.sharding.shards(scenario.workers));
    if (scenario.stragglers.jitter)
      for (const WorkerClass& one : job.classes)
        player.random.emplace_back(scenario.stragglers.jitter->seed,
                                   job.seats[static_cast<std::size_t>(one.workers.front())]);
    // Its own streams, lanes and clock beside the others', and the network that all share.
    const System own = system_of(player.unrolled, job.plan, player.streams, player.clock, *network_.server);
    const auto first_queue = static_cast<QueueId>(system_.queues.size());
    std::vector<std::uint32_t> server_of;
    for (const ServerUse& use : own.servers) {
      if (use.server == network_.server.get()) {
        server_of.push_back(0);
        continue;
      }
      server_of.push_back(static_cast<std::uint32_t>(system_.servers.size()));
      system_.servers.push_back(use);
    }
    const std::size_t classes = job.classes.size();
    player.compute.assign(server_of.begin(), server_of.begin() + static_cast<std::ptrdiff_t>(classes));
    if (player.unrolled.beside)
      player.codec.assign(server_of.begin() + static_cast<std::ptrdiff_t>(classes) + 1,
                          server_of.begin() + static_cast<std::ptrdiff_t>(2 * classes) + 1);
    for (QueueUse queue : own.queues) {
      queue.server = server_of[queue.server];
      system_.queues.push_back(std::move(queue));
    }
    Cycle& cycle = cycles_[number];
    cycle.start = job.start;
    cycle.graph = player.unrolled.graph;
    for (TaskId id = 0; id < cycle.graph.tasks().size(); ++id) {
      Task& task = cycle.graph.task(id);
      task.queue += first_queue;
      if (player.unrolled.labels[id].kind == Label::Kind::Transfer) task.call_id += network_.first_call[number];
    }
    for (std::size_t c = 0; c < job.classes.size(); ++c)
      cycle.carried.push_back({player.unrolled.last_work(c), player.unrolled.lead_in(c)});
    add_opening(cycle, job, player.unrolled, first_queue);
  }

  bool all_began() const {
    return std::all_of(times_.jobs.begin(), times_.jobs.end(),
                       [](const JobTimes& times) { return !times.begins.empty(); });
  }

  // From when on iterations count: the last job has begun the one behind the warm-up.
  std::optional<Time> warm() const {
    Time last{0};
    for (const JobTimes& times : times_.jobs) {
      if (std::ssize(times.begins) <= file_.warm_up) return std::nullopt;
      last = std::max(last, times.begins[static_cast<std::size_t>(file_.warm_up)]);
    }
    return last;
  }

  bool all_measured() {
    if (!warm_) warm_ = warm();
    if (!warm_) return false;
    return std::all_of(times_.jobs.begin(), times_.jobs.end(), [&](const JobTimes& times) {
      return std::ssize(times.begins) > first_at(times, *warm_) + file_.iterations;
    });
  }

  static std::ptrdiff_t first_at(const JobTimes& times, Time instant) {
    return std::lower_bound(times.begins.begin(), times.begins.end(), instant) - times.begins.begin();
  }

  void measure(std::size_t number) {
    JobTimes& times = times_.jobs[number];
    const auto ended = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, std::ssize(times.begins) - 1));
    if (some_end_) {
      const auto& iterations = players_[number].job->iterations;
      times.count = iterations ? static_cast<std::size_t>(*iterations) : ended;
      return;
    }
    times.first = static_cast<std::size_t>(first_at(times, times_.period ? since_ : *warm_));
    times.count = static_cast<std::size_t>(file_.iterations);
    if (!times_.period) return;
    // Those that begin in the period; the next is as the first of them, a period later.
    const auto end = static_cast<std::size_t>(first_at(times, allreplay::add(since_, *times_.period)));
    times.count = end - times.first;
    times.begins.resize(end);
    if (times.count > 0) times.begins.push_back(allreplay::add(times.begins[times.first], *times_.period));
  }

  const JobsFile& file_;
  std::deque<Player> players_;
  std::vector<Cycle> cycles_;
  SharedNetwork network_;
  System system_;
  JobsTimes times_;
  std::vector<bool> passes_;  // in this instant
  bool some_end_ = false, may_repeat_ = false;
  std::map<std::vector<std::int64_t>, Time> seen_;
  Time since_{0};
  std::optional<Time> warm_;
  std::vector<Time> changes_;  // instants
  Time changed_{-1};           // the latest that is in force
};

}  // namespace

JobsTimes replay_jobs(std::span<const SeatedJob> jobs, const JobsFile& file, bool disturbed) {
  return JobsClock(jobs, file, disturbed).run();
}

}  // namespace allreplay
