// Several jobs together, and each of them alone: who slows whom.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/jobs/goodput.hpp"
#include "sim/jobs/jobs_clock.hpp"
#include "sim/jobs/measured_times.hpp"

namespace allreplay {

struct JobResult {
  SeatedJob seated;
  std::optional<MeasuredTimes> alone, together;  ///< none where nothing was measured
  std::optional<double> slowdown, exposed_s, exposed_alone_s, samples_per_s;
  std::optional<double> lost_s;  ///< none where the run is steady
  Time from{0}, to{0};           ///< what was measured: of the first iteration the begin, of the last the end
  std::optional<Time> end;
  std::vector<Contention> contention;
  std::optional<Reliability> reliability;
  std::optional<Goodput> goodput;
};

struct JobsResult {
  std::string cluster;
  Fidelity fidelity = Fidelity::Fluid;
  std::optional<double> period_s;  ///< what repeats; none: the run is not steady
  std::optional<double> makespan_s, fairness;
  std::vector<JobResult> jobs;
  std::int64_t events = 0;
};

/// Runs of one file, for any seats and starts.
class JobsRunner {
 public:
  /// Throws InputError where the file's cluster cannot carry several jobs. REQUIRES: the library and the file outlive
  /// it.
  JobsRunner(Library& library, const Files& files, const JobsFile& file);

  /// Each job where its choice puts it, from its start. Throws InputError where it cannot.
  /// `record`: of the jobs together; null: nobody asks. `disturbed`: with the file's events and background.
  JobsResult run(std::span<const SeatChoice> choices, std::span<const Time> starts, JobsRecord* record = nullptr,
                 bool disturbed = true);

  const JobsFile& file() const { return file_; }
  /// From now on runs say how far they have come, and before long ones of single messages a note says how long.
  void show_progress(std::function<void(const std::string& text)> note) { note_ = std::move(note); }

 private:
  struct Alone {
    std::optional<MeasuredTimes> times;
    std::int64_t events = 0;
  };
  JobsTimes replay(std::span<const SeatedJob> jobs, bool disturbed, JobsRecord* record = nullptr,
                   const JobsWatcher& watcher = {}) const;
  JobsTimes watched(std::span<const SeatedJob> jobs, const std::string& what, bool disturbed,
                    JobsRecord* record = nullptr);
  const Alone& alone(std::size_t job, const SeatedJob& seated);
  double throughput(const JobEntry& entry, const SeatedJob& seated, std::int64_t workers);
  Goodput goodput(const JobEntry& entry, const JobResult& result);

  Library& library_;
  const JobsFile& file_;
  JobsCluster cluster_;
  Disturbances disturbances_;
  std::function<void(const std::string& text)> note_;                   // none: no progress is shown
  bool has_noted_ = false;                                              // how long runs take
  std::string to_note_;                                                 // once the run goes on: it may yet be refused
  std::map<std::pair<std::size_t, std::vector<NodeId>>, Alone> alone_;  // by job and seats
};

/// The largest slow-down and their mean, of the jobs that have one; 0 where none has.
std::pair<double, double> worst_and_mean(const JobsResult& result);

struct JobsSearch {
  bool place = false;
  std::optional<std::int64_t> stagger;  ///< so many offsets
  bool mean = false;                    ///< it goes by the mean slow-down, else by the largest
};

/// Placements that a search tried, and how long an iteration takes on them, by job; 0 where none was measured.
struct TriedPlacements {
  std::vector<SeatChoice> choices;
  std::vector<double> means_s;
};

/// What a search found, and what there was before.
struct FoundJobs {
  JobsSearch search;
  JobsResult result;
  std::vector<SeatChoice> choices;  ///< by job
  std::vector<Time> offsets;
  double worst_before = 0, mean_before = 0, worst = 0, mean = 0;  ///< slow-downs
  double worst_placed = 0, mean_placed = 0;                       ///< before offsets
  std::int64_t evaluations = 0;
  std::optional<TriedPlacements> shorter;  ///< tried, too: the shortest iterations of all, where those found are longer
};

/// Coordinate descent over the jobs' choices of seats, then over offsets to their starts (docs/jobs.md); where neither
/// is searched, the file's own.
FoundJobs search_jobs(JobsRunner& runner, const JobsSearch& search);

/// As the file has them; starts so much later, by job.
std::vector<SeatChoice> choices_of(const JobsFile& file);
std::vector<Time> starts_of(const JobsFile& file, std::span<const Time> later = {});

}  // namespace allreplay
