// Runs the jobs of a file together and each in isolation, and searches for placements and start offsets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/time.hpp"
#include "sim/studies/jobs/goodput.hpp"
#include "sim/studies/jobs/jobs_clock.hpp"

namespace allreplay {

/// All in seconds.
struct MeasuredTimes {
  std::vector<double> each;  ///< in the order of iterations
  double mean = 0, least = 0, most = 0, p50 = 0, p99 = 0;
};

/// `mean`: of a steady run, its period divided by the number of iterations in it; without it the mean is computed.
/// Returns none if nothing was measured.
std::optional<MeasuredTimes> measured_times(std::span<const Time> iterations,
                                            std::optional<double> mean = std::nullopt);

/// The p-quantile by nearest rank: number ⌈p·n⌉ of the n sorted values. REQUIRES: at least one value.
double quantile(std::span<const double> sorted, double p);

/// Jain's index (Σ 1/s)² / (n · Σ 1/s²) of the slow-downs s (Jain, Chiu and Hawe 1984); none without any.
std::optional<double> fairness(std::span<const double> slowdowns);

/// The result of one job; "alone" means a run of only this job, on the same seats, without events and background.
struct JobResult {
  SeatedJob seated;
  std::optional<MeasuredTimes> alone, together;  ///< none if no iteration was measured
  std::optional<double> slowdown, exposed_s, exposed_alone_s, samples_per_s;
  std::optional<double> lost_s;  ///< none if the run is steady
  Time from{0}, to{0};           ///< begin of the first and end of the last measured iteration
  std::optional<Time> end;
  std::vector<Contention> contention;
  std::optional<Reliability> reliability;
  std::optional<Goodput> goodput;
};

struct JobsResult {
  std::string cluster;
  Fidelity fidelity = Fidelity::Fluid;
  std::optional<double> period_s;  ///< after which the run repeats; none if it is not steady
  std::optional<double> makespan_s, fairness;
  std::vector<JobResult> jobs;
  std::int64_t events = 0;
};

/// Runs one file with any seats and starts.
class JobsRunner {
 public:
  /// Throws InputError if the cluster cannot run several jobs. REQUIRES: the library and the file outlive the runner.
  JobsRunner(Library& library, const Files& files, const JobsFile& file);

  /// `choices` and `starts` are by job. `record`, if not null, is filled by the run of all jobs. `disturbed`: with the
  /// file's events and background. Throws InputError if a job does not find its seats.
  JobsResult run(std::span<const SeatChoice> choices, std::span<const Time> starts, JobsRecord* record = nullptr,
                 bool disturbed = true);

  const JobsFile& file() const { return file_; }
  /// From now on runs show their progress, and `note` is given the expected duration of long runs of `message`.
  void show_progress(std::function<void(const std::string& text)> note) { note_ = std::move(note); }

 private:
  struct Alone {
    std::optional<MeasuredTimes> times;
    std::int64_t events = 0;
  };
  JobsTimes replay(std::span<const SeatedJob> jobs, bool disturbed, JobsRecord* record = nullptr,
                   const JobsWatcher& watcher = {}) const;
  JobsTimes replay_with_progress(std::span<const SeatedJob> jobs, const std::string& what, bool disturbed,
                                 JobsRecord* record = nullptr);
  const Alone& alone(std::size_t job, const SeatedJob& seated);
  double throughput(const JobEntry& entry, const SeatedJob& seated, std::int64_t workers);
  Goodput goodput(const JobEntry& entry, const JobResult& result);

  Library& library_;
  const JobsFile& file_;
  JobsCluster cluster_;
  Disturbances disturbances_;
  std::function<void(const std::string& text)> note_;  // empty: no progress is shown
  bool has_told_duration_ = false;                     // note_ was given the expected duration
  std::string pending_note_;                           // shown once the run has begun; it may still be refused
  std::map<std::pair<std::size_t, std::vector<NodeId>>, Alone> alone_;  // by job and seats
};

/// The largest slow-down and the mean, of the jobs that have one; zeros if none has.
std::pair<double, double> worst_and_mean_slowdown(const JobsResult& result);

struct JobsSearch {
  bool place = false;
  std::optional<std::int64_t> stagger;  ///< number of start offsets to try
  bool mean = false;                    ///< minimises the mean slow-down, else the largest
};

/// Placements that a search tried, and the mean iteration time on them, by job; 0 if none was measured.
struct TriedPlacements {
  std::vector<SeatChoice> choices;
  std::vector<double> means_s;
};

/// The outcome of a search, compared with the run before it.
struct FoundJobs {
  JobsSearch search;
  JobsResult result;
  std::vector<SeatChoice> choices;  ///< by job
  std::vector<Time> offsets;
  double worst_before = 0, mean_before = 0, worst = 0, mean = 0;  ///< slow-downs, before and after the search
  double worst_placed = 0, mean_placed = 0;                       ///< after placements, before offsets
  std::int64_t evaluations = 0;
  std::optional<TriedPlacements> shorter;  ///< those with the shortest iterations, if shorter than those found
};

/// Coordinate descent over the jobs' placements, then over start offsets (docs/jobs.md); if none is searched, a run.
FoundJobs search_jobs(JobsRunner& runner, const JobsSearch& search);

/// The seats and starts in the file; `later` delays the starts, by job.
std::vector<SeatChoice> choices_of(const JobsFile& file);
std::vector<Time> starts_of(const JobsFile& file, std::span<const Time> later = {});

}  // namespace allreplay
