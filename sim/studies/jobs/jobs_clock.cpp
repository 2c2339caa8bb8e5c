#include "sim/studies/jobs/jobs_clock.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/core/digest.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/replay/engine/cycles.hpp"
#include "sim/replay/network/shared_network.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

namespace {

// Returns the number of iteration starts S(i) that the run waits for. The last one only ends the iteration before it.
std::int64_t awaited_of(const SeatedJob& job, const JobsFile& file, bool some_end) {
  if (some_end) return job.iterations ? *job.iterations + 1 : 0;
  return file.warm_up + file.iterations + 1;
}

bool some_end(std::span<const SeatedJob> jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const SeatedJob& job) { return job.iterations.has_value(); });
}

// Counts the bytes that a run keeps. Throws InputError above the file's limit.
class Kept {
 public:
  static constexpr double of_iteration = 32, of_state = 100, of_reading = 2 * sizeof(double);

  explicit Kept(const JobsFile& file) : file_(file) {}

  void require(double more) const {
    if (bytes_ + more > file_.limits.bytes)
      throw InputError(file_.place_of_iterations,
                       fmt::format("recording that many iterations takes more than {:g} GB", file_.limits.bytes / 1e9),
                       "fewer iterations, or fewer jobs");
  }
  void add(double bytes) {
    bytes_ += bytes;
    require(0);
  }

 private:
  const JobsFile& file_;
  double bytes_ = 0;
};

class JobsClock final : public Observer {
 public:
  JobsClock(std::span<const SeatedJob> jobs, const JobsFile& file, const Disturbances* disturbances, JobsRecord* record,
            const JobsWatcher& watcher)
      : file_(file),
        disturbances_(disturbances),
        record_(record),
        watcher_(watcher),
        kept_(file),
        running_(jobs.size()),
        cycles_(jobs.size()) {
    std::vector<Tenant> tenants;
    Views views;
    for (const SeatedJob& one : jobs) {
      tenants.push_back({one.job.rounds.get(), &one.job.setup, one.job.scenario.options.launch});
      views.push_back(one.job.topology);
    }
    network_ = shared_network(std::move(tenants), views,
                              disturbances ? disturbances->ways_on(disturbances->network()) : std::vector<Way>(),
                              disturbances ? disturbances->rates() : std::vector<double>());
    system_.servers.push_back({&network_->server(), Phase::Communication});
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      seat(jobs[i], static_cast<std::uint32_t>(i), *network_, system_, running_[i], cycles_[i]);
      if (jobs[i].job.setup.fidelity == Fidelity::Message) require_bearable(i, jobs[i]);
    }
    times_.jobs.resize(jobs.size());
    if (record) {
      record->jobs.resize(jobs.size());
      record->others.resize(file.background.size());
    }
    passes_.assign(jobs.size(), false);
    some_end_ = some_end(jobs);
    const bool random = std::any_of(
        jobs.begin(), jobs.end(), [](const SeatedJob& job) { return job.job.scenario.stragglers.jitter.has_value(); });
    bool steady = !random;
    if (disturbances) {
      for (std::size_t i = 0; i < file.background.size(); ++i) {
        others_.emplace_back(file.background[i], i);
        steady &= !file.background[i].on;
      }
      steady &= file.events.empty();
      network_now_ = disturbances->network_at(Time(-1));
    }
    may_repeat_ = steady && !some_end_;
    if (!may_repeat_) kept_.require(Kept::of_iteration * static_cast<double>(iterations_awaited(jobs, file)));
  }

  JobsTimes run() {
    times_.events = replay_cycles(cycles_, system_, *this);
    for (std::size_t i = 0; i < running_.size(); ++i) measure(i);
    if (record_) finish_record();
    return std::move(times_);
  }

  bool should_continue(std::size_t cycle, std::int64_t replay) override {
    const auto& iterations = running_[cycle].job->iterations;
    return !iterations || replay < *iterations;
  }

  // Draws jitter as `run` does, but from one random stream per seat.
  void begins(std::size_t cycle, std::int64_t replay, std::span<Task> tasks) override {
    RunningJob& running = running_[cycle];
    const auto& jitter = running.job->job.scenario.stragglers.jitter;
    if (!jitter || replay < 0) return;
    for (std::size_t c = 0; c < running.orders.size(); ++c)
      draw_factors(running.orders[c], *jitter, running.random[c], [&](TaskId id, double factor) {
        tasks[id].duration = scaled(running.unrolled.nominal[id], running.job->classes[c].slowdown * factor);
      });
  }

  void passed(std::size_t cycle, std::int64_t, Time now) override {
    JobTimes& times = times_.jobs[cycle];
    times.begins.push_back(now);
    kept_.add(Kept::of_iteration);
    if (watcher_.began && std::ssize(times.begins) <= awaited_of(*running_[cycle].job, file_, some_end_))
      watcher_.began();
    running_[cycle].clock.restart(now);
    passes_[cycle] = some_passed_ = true;
    const auto& iterations = running_[cycle].job->iterations;
    if (iterations && std::ssize(times.begins) == *iterations + 1) times.end = now;
  }

  void ended(std::size_t cycle, std::int64_t replay, std::span<const Span> spans) override {
    if (!record_ || replay < 0) return;
    auto& replays = record_->jobs[cycle].replays;
    replays.push_back({replay, {spans.begin(), spans.end()}});
    if (replays.size() > JobsRecord::replays_of_a_job) replays.pop_front();
    for (const Span& span : spans) record_->end = std::max(record_->end, span.end);
  }

  Time next_change() const override {
    Time next = never;
    for (const OnAndOff& other : others_) next = std::min(next, other.next());
    return std::min(next, next_event());
  }

  std::vector<std::pair<std::uint32_t, double>> change(Time now) override {
    std::vector<std::pair<std::uint32_t, double>> changed;
    if (next_event() == now) {
      if (disturbances_->changes_links(now)) update_network(now);
      add_slowdowns(now, changed);
      ++events_begun_;
      while (next_event() == now) ++events_begun_;
    }
    for (std::size_t i = 0; i < others_.size(); ++i)
      if (others_[i].next() == now) {
        ++turns_;
        count_step(now);
        others_[i].turn();
        if (record_) record_flow(i, now);
        network_->turn(i, others_[i].is_on(), now);
      }
    changed.emplace_back(the_network, 1);
    return changed;
  }

  bool enough(Time now, const State& state) override {
    count_step(now);
    constexpr std::int64_t now_and_then = 256;
    if (watcher_.sent && steps_ % now_and_then == 0) watcher_.sent(network_->server().events());
    if (!std::exchange(some_passed_, false)) return false;
    const bool may_have_repeated = may_repeat_ && passes_[0] && all_began();
    if (!some_end_ && !warm_) warm_ = warm();
    read_contention(now);
    if (const Meetings* meetings = network_->meetings())
      kept_.require(meetings->bytes() +
                    Kept::of_reading * static_cast<double>(running_.size() * meetings->lasted().size()));
    std::fill(passes_.begin(), passes_.end(), false);
    if (some_end_)
      return std::all_of(times_.jobs.begin(), times_.jobs.end(), [&](const JobTimes& times) {
        return times.end || !running_[static_cast<std::size_t>(&times - times_.jobs.data())].job->iterations;
      });
    if (may_have_repeated && repeats(now, state())) return true;
    return all_measured();
  }

 private:
  Time next_event() const {
    if (!disturbances_ || events_begun_ == disturbances_->instants().size()) return never;
    return disturbances_->instants()[events_begun_];
  }

  // Adds the servers of all workers that have events, with the factor in force.
  void add_slowdowns(Time now, std::vector<std::pair<std::uint32_t, double>>& slowed) const {
    for (const RunningJob& running : running_)
      for (std::size_t c = 0; c < running.job->classes.size(); ++c) {
        if (running.job->events[c].empty()) continue;
        double factor = 1;
        for (const std::size_t event : running.job->events[c])
          if (file_.events[event].at <= now && now < file_.events[event].end()) factor *= *file_.events[event].slowdown;
        slowed.emplace_back(running.compute[c], factor);
        if (running.unrolled.separate_codec) slowed.emplace_back(running.codec[c], factor);
      }
  }

  void update_network(Time now) {
    const auto network = disturbances_->network_at(now);
    const auto same = [](const Link& a, const Link& b) { return a.bandwidth == b.bandwidth; };
    if (std::ranges::equal(network->links(), network_now_->links(), same)) return;
    network_now_ = network;
    Views views;
    std::vector<std::span<const NodeId>> going_on;
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (!times_.jobs[i].end) going_on.emplace_back(running_[i].job->seats);  // jobs that ended may be disconnected
    disturbances_->require_connected(*network, going_on, now);
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const SeatedJob& job = *running_[i].job;
      views.push_back(times_.jobs[i].end ? job.job.topology : seated(network, job.seats));
    }
    network_->lay(*network, views, disturbances_->ways_on(*network), now);
  }

  // Limits the steps: a job that starts late, or background that switches often, could make a run endless.
  void count_step(Time now) {
    if (++steps_ <= file_.limits.steps) return;
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (cycles_[i].start > now)
        throw InputError(file_.jobs[i].place / "start",
                         fmt::format("the other jobs take more than {} steps until then", file_.limits.steps),
                         "an earlier start");
    if (2 * turns_ > steps_)
      throw InputError(file_.background[most_turned()].place / "on",
                       fmt::format("switches on or off in most of more than {} steps", file_.limits.steps),
                       "longer \"on\" and \"off\"");
    throw InputError(file_.place_of_iterations, fmt::format("take more than {} steps", file_.limits.steps),
                     "fewer iterations, or jobs that differ less in speed");
  }

  std::size_t most_turned() const {
    const auto cycle = [](const Background& one) { return one.on ? allreplay::add(*one.on, *one.off) : never; };
    const auto found = std::min_element(file_.background.begin(), file_.background.end(),
                                        [&](const auto& a, const auto& b) { return cycle(a) < cycle(b); });
    return static_cast<std::size_t>(found - file_.background.begin());
  }

  void record_flow(std::size_t number, Time now) {
    auto& times = record_->others[number];
    if (!others_[number].is_on()) {
      times.back().to = now;
      return;
    }
    times.push_back({now, never});
    if (times.size() > JobsRecord::times_of_a_flow) times.pop_front();
  }

  void finish_record() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      record_->jobs[i].unrolled = std::move(running_[i].unrolled);
      record_->jobs[i].ends = running_[i].job->iterations.has_value();
    }
    for (auto& times : record_->others)
      for (JobsRecord::On& on : times) on.to = std::min(on.to, record_->end);
  }

  // True if the state occurred before; the time until background begins is part of it.
  bool repeats(Time now, std::vector<std::int64_t> state) {
    for (const OnAndOff& other : others_) state.push_back(other.next() == never ? -1 : (other.next() - now).count());
    const std::string_view bytes(reinterpret_cast<const char*>(state.data()), state.size() * sizeof state[0]);
    const auto [same, fresh] = seen_.emplace(std::pair(digest(bytes), digest(bytes, 1)), Seen{now, {}});
    if (!fresh) {
      times_.period = now - same->second.at;
      since_ = same->second.at;
      met_until_ = met(now);
      met_since_ = same->second.met;
      return true;
    }
    same->second.met = met(now);
    kept_.add(Kept::of_state + static_cast<double>(same->second.met.size() * sizeof(double)));
    return false;
  }

  std::vector<double> met(Time now) const { return network_->meetings() ? network_->met(now) : std::vector<double>(); }

  // Reads the contention counters at the begin and at the end of each job's measured time.
  void read_contention(Time now) {
    if (!network_->meetings()) return;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (!passes_[i]) continue;
      RunningJob& running = running_[i];
      const JobTimes& times = times_.jobs[i];
      const auto begun = std::ssize(times.begins);
      if (some_end_) {
        if (begun == 1) running.met_since = met(now);
        if (begun > 1 && (times.end || !running.job->iterations)) running.met_until = met(now);
      } else if (warm_) {
        const auto first = first_at(times, *warm_);
        if (begun == first + 1) running.met_since = met(now);
        if (begun == first + 1 + file_.iterations) running.met_until = met(now);
      }
    }
  }

  // About ten million messages a second are simulated.
  void require_bearable(std::size_t number, const SeatedJob& job) {
    for (const Task& task : running_[number].unrolled.graph.tasks())
      if (task.bytes > 0)
        messages_ += job.job.rounds->messages_laid(job.job.rounds->sent(task.call_id, task.bytes).rounds) *
                     job.job.topology->parts();
    if (messages_ > file_.limits.messages)
      throw InputError(
          file_.jobs[number].place,
          fmt::format("the jobs up to here send more than {} messages in an iteration", file_.limits.messages),
          "fluid, or fewer workers");
  }

  bool all_began() const {
    return std::all_of(times_.jobs.begin(), times_.jobs.end(),
                       [](const JobTimes& times) { return !times.begins.empty(); });
  }

  // The instant from which iterations are measured: every job has begun its first one after the warm-up.
  std::optional<Time> warm() const {
    Time last{0};
    for (const JobTimes& times : times_.jobs) {
      if (std::ssize(times.begins) <= file_.warm_up) return std::nullopt;
      last = std::max(last, times.begins[static_cast<std::size_t>(file_.warm_up)]);
    }
    return last;
  }

  bool all_measured() {
    if (!warm_) return false;
    return std::all_of(times_.jobs.begin(), times_.jobs.end(), [&](const JobTimes& times) {
      return std::ssize(times.begins) > first_at(times, *warm_) + file_.iterations;
    });
  }

  static std::ptrdiff_t first_at(const JobTimes& times, Time instant) {
    return std::lower_bound(times.begins.begin(), times.begins.end(), instant) - times.begins.begin();
  }

  void measure(std::size_t number) {
    measure_iterations(number);
    JobTimes& times = times_.jobs[number];
    if (!network_->meetings() || times.count == 0) return;
    const RunningJob& running = running_[number];
    const double lasts =
        static_cast<double>((times.begins[times.first + times.count] - times.begins[times.first]).count());
    const auto met =
        times_.period
            ? network_->meetings()->of(static_cast<std::uint32_t>(number), met_since_, met_until_)
            : network_->meetings()->of(static_cast<std::uint32_t>(number), running.met_since, running.met_until);
    for (const Meetings::Met& one : met) times.contention.push_back({one.link, one.with, one.ps / lasts});
    std::stable_sort(times.contention.begin(), times.contention.end(),
                     [](const Contention& a, const Contention& b) { return a.share > b.share; });
  }

  void measure_iterations(std::size_t number) {
    JobTimes& times = times_.jobs[number];
    const auto ended = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, std::ssize(times.begins) - 1));
    if (some_end_) {
      const auto& iterations = running_[number].job->iterations;
      times.count = iterations ? static_cast<std::size_t>(*iterations) : ended;
      return;
    }
    times.first = static_cast<std::size_t>(first_at(times, times_.period ? since_ : *warm_));
    times.count = static_cast<std::size_t>(file_.iterations);
    if (!times_.period) return;
    // Measures the iterations that begin in the period. The one after them repeats the first, a period later.
    const auto end = static_cast<std::size_t>(first_at(times, allreplay::add(since_, *times_.period)));
    times.count = end - times.first;
    times.begins.resize(end);
    if (times.count > 0) times.begins.push_back(allreplay::add(times.begins[times.first], *times_.period));
  }

  struct Seen {
    Time at;
    std::vector<double> met;
  };

  const JobsFile& file_;
  const Disturbances* disturbances_;
  JobsRecord* record_;
  const JobsWatcher& watcher_;
  Kept kept_;
  std::deque<RunningJob> running_;
  std::vector<Cycle> cycles_;
  std::unique_ptr<SharedNetwork> network_;
  System system_;
  JobsTimes times_;
  std::vector<bool> passes_;  // by job: it began an iteration at this instant
  bool some_passed_ = false;
  std::int64_t steps_ = 0, turns_ = 0, messages_ = 0;
  bool some_end_ = false, may_repeat_ = false;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Seen> seen_;  // by two 64-bit digests of the state
  std::vector<double> met_since_, met_until_;                     // at the two ends of the period
  Time since_{0};
  std::optional<Time> warm_;
  std::vector<OnAndOff> others_;
  std::size_t events_begun_ = 0;  // index into Disturbances::instants()
  std::shared_ptr<const Topology> network_now_;
};

}  // namespace

std::pair<Time, Time> JobsRecord::window() const {
  Time from{0}, first = end, to = end;
  for (const Job& job : jobs) {
    if (job.replays.empty()) continue;
    Time begins = never, over{0};
    for (const Span& span : job.replays.front().spans) begins = std::min(begins, span.start);
    for (const Span& span : job.replays.back().spans) over = std::max(over, span.end);
    from = std::max(from, begins);
    first = std::min(first, begins);
    if (!job.ends) to = std::min(to, over);
  }
  return from < to ? std::pair(from, to) : std::pair(first, end);
}

std::int64_t iterations_awaited(std::span<const SeatedJob> jobs, const JobsFile& file) {
  std::int64_t sum = 0;
  for (const SeatedJob& job : jobs) sum += awaited_of(job, file, some_end(jobs));
  return sum;
}

double messages_awaited(std::span<const SeatedJob> jobs, const JobsFile& file) {
  double all = 0;
  for (const SeatedJob& job : jobs) {
    const Unrolled unrolled = unroll_job(job.job, job.plan, job.classes);
    const RoundsFabric& fabric = *job.job.rounds;
    double sent = 0;
    for (TaskId id = 0; id < unrolled.labels.size(); ++id) {
      const Task& task = unrolled.graph.tasks()[id];
      if (unrolled.labels[id].kind != Activity::Transfer || task.bytes <= 0) continue;
      sent += static_cast<double>(fabric.messages_laid(fabric.sent(task.call_id, task.bytes).rounds));
    }
    all += sent * static_cast<double>(awaited_of(job, file, some_end(jobs)));
  }
  return all;
}

JobsTimes replay_jobs(std::span<const SeatedJob> jobs, const JobsFile& file, const Disturbances* disturbances,
                      JobsRecord* record, const JobsWatcher& watcher) {
  return JobsClock(jobs, file, disturbances, record, watcher).run();
}

}  // namespace allreplay
