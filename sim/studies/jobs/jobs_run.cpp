#include "sim/studies/jobs/jobs_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/jobs/seated_job.hpp"

namespace allreplay {

namespace {

std::optional<MeasuredTimes> times_of(const JobTimes& job, std::optional<Time> period) {
  std::vector<Time> each;
  for (std::size_t i = job.first; i < job.first + job.count; ++i) each.push_back(job.begins[i + 1] - job.begins[i]);
  return measured_times(each,
                        period ? std::optional(to_seconds(*period) / static_cast<double>(each.size())) : std::nullopt);
}

// True if `a` is less than `b` by more than rounding.
bool is_less(double a, double b) { return a < b * (1 - 1e-12); }

class Descent {
 public:
  Descent(JobsRunner& runner, const JobsSearch& search) : runner_(runner), search_(search) {}

  FoundJobs run() {
    const JobsFile& file = runner_.file();
    found_.choices = choices_of(file);
    if (search_.place)
      for (std::size_t job = 0; job < file.jobs.size(); ++job) found_.choices[job] = file.jobs[job].choices.front();
    found_.offsets.assign(file.jobs.size(), Time(0));
    found_.search = search_;
    found_.result = evaluate();
    std::tie(found_.worst_before, found_.mean_before) = worst_and_mean_slowdown(found_.result);
    if (search_.place)
      descend([&](std::size_t job) { return file.jobs[job].choices.size(); },
              [&](std::size_t job, std::size_t i) { found_.choices[job] = file.jobs[job].choices[i]; });
    std::tie(found_.worst_placed, found_.mean_placed) = worst_and_mean_slowdown(found_.result);
    find_shorter();
    if (search_.stagger)
      descend([&](std::size_t job) { return job == 0 ? 1 : static_cast<std::size_t>(*search_.stagger); },
              [&](std::size_t job, std::size_t i) { found_.offsets[job] = offset(job, i); });
    std::tie(found_.worst, found_.mean) = worst_and_mean_slowdown(found_.result);
    return std::move(found_);
  }

 private:
  JobsResult evaluate() {
    ++found_.evaluations;
    JobsResult result = runner_.run(found_.choices, starts_of(runner_.file(), found_.offsets));
    if (search_.place) tried_.push_back({found_.choices, means_of(result)});
    return result;
  }

  static std::vector<double> means_of(const JobsResult& result) {
    std::vector<double> means;
    for (const JobResult& job : result.jobs) means.push_back(job.together ? job.together->mean : 0);
    return means;
  }

  // Slow-downs are relative to the job alone on the same seats, so they ignore that seats may be slow. Finds the tried
  // placement with the shortest iterations, if these are shorter by more than 0.1 % on average.
  void find_shorter() {
    const std::vector<double> found = means_of(found_.result);
    double least = 1 - 1e-3;
    for (TriedPlacements& one : tried_) {
      double sum = 0;
      std::int64_t count = 0;
      for (std::size_t job = 0; job < found.size(); ++job)
        if (found[job] > 0 && one.means_s[job] > 0) sum += one.means_s[job] / found[job], ++count;
      if (count == 0 || sum / static_cast<double>(count) >= least) continue;
      least = sum / static_cast<double>(count);
      found_.shorter = std::move(one);
    }
    tried_.clear();
  }

  Time offset(std::size_t job, std::size_t i) const {
    const double alone = found_.result.jobs[job].alone ? found_.result.jobs[job].alone->mean : 0;
    return from_picoseconds(static_cast<double>(to_time(alone).count()) * static_cast<double>(i) /
                            static_cast<double>(*search_.stagger));
  }

  bool better(const JobsResult& one, const JobsResult& other) const {
    auto [a, a_next] = worst_and_mean_slowdown(one);
    auto [b, b_next] = worst_and_mean_slowdown(other);
    if (search_.mean) std::swap(a, a_next), std::swap(b, b_next);
    return is_less(a, b) || (!is_less(b, a) && is_less(a_next, b_next));
  }

  // Tries all choices of one job after another, the others fixed, until a pass changes nothing.
  template <class Count, class Choose>
  void descend(const Count& count, const Choose& choose) {
    std::vector<std::size_t> chosen(found_.choices.size(), 0);
    for (int pass = 0; pass < 5; ++pass) {
      bool changed = false;
      for (std::size_t job = 0; job < chosen.size(); ++job) {
        if (count(job) < 2) continue;
        std::optional<JobsResult> best;
        std::size_t best_choice = chosen[job];
        for (std::size_t i = 0; i < count(job); ++i) {
          choose(job, i);
          std::optional<JobsResult> tried;
          if (i == chosen[job])
            tried = found_.result;
          else
            try {
              tried = evaluate();
            } catch (const InputError&) {
              continue;  // this choice does not fit
            }
          if (best && !better(*tried, *best)) continue;
          best = std::move(tried);
          best_choice = i;
        }
        choose(job, best_choice);
        changed = changed || best_choice != chosen[job];
        chosen[job] = best_choice;
        found_.result = std::move(*best);
      }
      if (!changed) return;
    }
  }

  JobsRunner& runner_;
  const JobsSearch& search_;
  FoundJobs found_;
  std::vector<TriedPlacements> tried_;
};

// Returns the event with the strongest slow-down; null if no event makes anything slower.
const ClusterEvent* slowest_event(const JobsFile& file, double bandwidth) {
  const ClusterEvent* slowest = nullptr;
  double most = 1;
  for (const ClusterEvent& event : file.events) {
    double factor = event.slowdown.value_or(event.times ? 1 / *event.times : event.rate ? bandwidth / *event.rate : 1);
    if (std::isinf(factor)) factor = 1 + to_seconds(*event.lasts);  // a stall always has a length
    if (factor > most) most = factor, slowest = &event;
  }
  return slowest;
}

}  // namespace

std::pair<double, double> worst_and_mean_slowdown(const JobsResult& result) {
  double worst = 0, sum = 0;
  std::int64_t count = 0;
  for (const JobResult& job : result.jobs)
    if (job.slowdown) {
      worst = std::max(worst, *job.slowdown);
      sum += *job.slowdown;
      ++count;
    }
  return {worst, count > 0 ? sum / static_cast<double>(count) : 0};
}

std::vector<SeatChoice> choices_of(const JobsFile& file) {
  std::vector<SeatChoice> choices;
  for (const JobEntry& job : file.jobs) choices.push_back(job.seats);
  return choices;
}

std::vector<Time> starts_of(const JobsFile& file, std::span<const Time> later) {
  std::vector<Time> starts;
  for (const JobEntry& job : file.jobs) starts.push_back(job.start);
  for (std::size_t job = 0; job < later.size(); ++job) starts[job] = add(starts[job], later[job]);
  return starts;
}

JobsRunner::JobsRunner(Library& library, const Files& files, const JobsFile& file)
    : library_(library),
      file_(file),
      cluster_(jobs_cluster(library, files, file)),
      disturbances_(file, cluster_.seating.network) {}

JobsTimes JobsRunner::replay(std::span<const SeatedJob> jobs, bool disturbed, JobsRecord* record,
                             const JobsWatcher& watcher) const try {
  return replay_jobs(jobs, file_, disturbed ? &disturbances_ : nullptr, record, watcher);
} catch (const TimeOverflow&) {  // each number is valid, but their sum is not
  constexpr std::string_view wrong = "simulated time exceeds 106 days";
  const ClusterEvent* event =
      disturbed ? slowest_event(file_, disturbances_.network().links().front().bandwidth) : nullptr;
  if (event) throw InputError(event->place, fmt::format("{} with this event", wrong), "a smaller change");
  throw InputError({file_.place_of_iterations.file, ""}, wrong, "earlier starts, fewer iterations, or shorter times");
}

// Replays, and shows progress if that is wanted: counted in messages for `message`, else in iterations.
JobsTimes JobsRunner::replay_with_progress(std::span<const SeatedJob> jobs, const std::string& what, bool disturbed,
                                           JobsRecord* record) {
  if (!note_) return replay(jobs, disturbed, record);
  if (cluster_.fidelity != Fidelity::Message) {
    Progress progress(what, static_cast<std::size_t>(iterations_awaited(jobs, file_)));
    return replay(jobs, disturbed, record, {.began = [&] { progress.advance(); }});
  }
  constexpr double telling = 1e-3;  // all messages take about the same time
  const double messages = messages_awaited(jobs, file_);
  Progress progress(what + ": messages, fewer if iterations repeat", static_cast<std::size_t>(messages), telling);
  return replay(jobs, disturbed, record, {.sent = [&](std::int64_t sent) {
                  if (!pending_note_.empty()) note_(std::exchange(pending_note_, ""));
                  progress.reach(static_cast<std::size_t>(sent));
                }});
}

// The note before a long run, which runs all jobs together, then each in isolation.
std::string duration_note(double messages) {
  constexpr double each = 1e-6, long_s = 30;  // seconds: measured per message; the shortest run that gets a note
  const double seconds = 2 * messages * each;
  if (seconds < long_s) return "";
  const std::string time =
      seconds < 6000 ? fmt::format("{:.0f} min", std::max(1.0, seconds / 60)) : fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format(
      "message simulates up to {:.2g} messages of the jobs together, and again of each in isolation: about {}, at 1 "
      "us "
      "each, and less if iterations repeat. fluid takes seconds",
      messages, time);
}

const JobsRunner::Alone& JobsRunner::alone(std::size_t job, const SeatedJob& seated) {
  const std::pair key(job, seated.seats);
  if (const auto known = alone_.find(key); known != alone_.end()) return known->second;
  const JobsTimes times = replay_with_progress({&seated, 1}, fmt::format("{} alone", seated.name), false);
  return alone_[key] = {times_of(times.jobs.front(), times.period), times.events};
}

// Returns the samples per second of the job's first `workers` ranks in isolation; each keeps its batch size.
double JobsRunner::throughput(const JobEntry& entry, const SeatedJob& seated, std::int64_t workers) {
  JobEntry fewer = entry;
  fewer.workers = workers;
  fewer.request.workers = workers;
  fewer.kinds.clear();
  fewer.balanced = false;
  std::erase_if(fewer.stragglers.slow, [&](const Slowdown& slow) { return slow.worker >= workers; });
  fewer.iterations.reset();
  std::int64_t rank = 0;
  for (const WorkerKind& kind : kinds_of(entry))
    for (std::int64_t i = 0; i < kind.workers && rank < workers; ++i, ++rank) {
      WorkerKind one = kind;
      one.workers = 1;
      if (!seated.batches.empty()) one.batch = seated.batches[static_cast<std::size_t>(rank)];
      fewer.kinds.push_back(one);
    }
  if (entry.kinds.empty() && seated.batches.empty()) fewer.kinds.clear();
  const SeatedJob job = seated_job(library_, file_, cluster_, fewer,
                                   {seated.seats.begin(), seated.seats.begin() + static_cast<std::ptrdiff_t>(workers)});
  const JobsTimes times = replay_with_progress({&job, 1}, fmt::format("{} on {} workers", job.name, workers), false);
  return job.samples.value_or(static_cast<double>(workers)) / times_of(times.jobs.front(), times.period)->mean;
}

Goodput JobsRunner::goodput(const JobEntry& entry, const JobResult& result) {
  const SeatedJob& seated = result.seated;
  const std::int64_t gpus = cluster_.seating.network->gpus_per_host();
  std::set<std::int64_t> machines;
  for (const NodeId seat : seated.seats) machines.insert(seat / gpus);
  const auto workers = std::ssize(seated.seats), nodes = std::ssize(machines);
  std::map<std::int64_t, double> known;
  const auto relative = [&](std::int64_t fewer) {
    const auto [one, fresh] = known.emplace(fewer, 1);
    if (fresh && fewer < nodes)
      one->second =
          throughput(entry, seated, std::min<std::int64_t>(workers, fewer * ((workers + nodes - 1) / nodes))) /
          throughput(entry, seated, workers);
    return one->second;
  };
  return goodput_of(*entry.reliability, {nodes, result.together->mean, result.samples_per_s, relative}, entry.place);
}

JobsResult JobsRunner::run(std::span<const SeatChoice> choices, std::span<const Time> starts, JobsRecord* record,
                           bool disturbed) {
  std::vector<SeatedJob> seated = seated_jobs(library_, file_, cluster_, choices);
  for (std::size_t job = 0; job < seated.size(); ++job) seated[job].start = starts[job];
  if (note_ && !std::exchange(has_told_duration_, true) && cluster_.fidelity == Fidelity::Message)
    pending_note_ = duration_note(messages_awaited(seated, file_));
  JobsTimes times = replay_with_progress(seated, "jobs", disturbed, record);
  JobsResult result{.cluster = cluster_.cluster.name, .fidelity = cluster_.fidelity, .events = times.events};
  if (times.period) result.period_s = to_seconds(*times.period);
  std::vector<double> slowdowns;
  for (std::size_t number = 0; number < seated.size(); ++number) {
    JobResult job{.seated = std::move(seated[number])};
    const double computing = to_seconds(job.seated.computing);
    job.alone = alone(number, job.seated).times;
    job.together = times_of(times.jobs[number], times.period);
    if (job.alone) job.exposed_alone_s = job.alone->mean - computing;
    if (job.together) {
      job.from = times.jobs[number].begins[times.jobs[number].first];
      job.to = times.jobs[number].begins[times.jobs[number].first + times.jobs[number].count];
      job.exposed_s = job.together->mean - computing;
      if (job.seated.samples) job.samples_per_s = *job.seated.samples / job.together->mean;
      if (job.alone) {
        job.slowdown = job.together->mean / job.alone->mean;
        slowdowns.push_back(*job.slowdown);
        if (!times.period)
          job.lost_s = std::accumulate(job.together->each.begin(), job.together->each.end(), 0.) -
                       static_cast<double>(job.together->each.size()) * job.alone->mean;
      }
    }
    job.end = times.jobs[number].end;
    if (job.end) result.makespan_s = std::max(result.makespan_s.value_or(0), to_seconds(*job.end));
    job.contention = std::move(times.jobs[number].contention);
    job.reliability = file_.jobs[number].reliability;
    if (job.reliability && job.together) job.goodput = goodput(file_.jobs[number], job);
    result.jobs.push_back(std::move(job));
  }
  result.fairness = fairness(slowdowns);
  return result;
}

FoundJobs search_jobs(JobsRunner& runner, const JobsSearch& search) { return Descent(runner, search).run(); }

double quantile(std::span<const double> sorted, double p) {
  const double number = std::ceil(p * static_cast<double>(sorted.size()) - 1e-9);
  return sorted[static_cast<std::size_t>(std::max(1., number)) - 1];
}

std::optional<MeasuredTimes> measured_times(std::span<const Time> iterations, std::optional<double> mean) {
  if (iterations.empty()) return std::nullopt;
  MeasuredTimes times;
  Time sum{0};
  for (const Time one : iterations) {
    sum = add(sum, one);
    times.each.push_back(to_seconds(one));
  }
  std::vector<double> sorted = times.each;
  std::sort(sorted.begin(), sorted.end());
  times.mean = mean.value_or(to_seconds(sum) / static_cast<double>(iterations.size()));
  times.least = sorted.front();
  times.most = sorted.back();
  times.p50 = quantile(sorted, 0.5);
  times.p99 = quantile(sorted, 0.99);
  return times;
}

std::optional<double> fairness(std::span<const double> slowdowns) {
  if (slowdowns.empty()) return std::nullopt;
  double sum = 0, squares = 0;
  for (const double slowdown : slowdowns) {
    sum += 1 / slowdown;
    squares += 1 / (slowdown * slowdown);
  }
  return sum * sum / (static_cast<double>(slowdowns.size()) * squares);
}

}  // namespace allreplay
