// Jobs on one clock and one network, from 0 until enough is known (docs/jobs.md).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/jobs/disturbances.hpp"
#include "sim/jobs/seated_job.hpp"
#include "sim/training/unroll.hpp"

namespace allreplay {

/// For which share of a job's measured time it and another moved bytes over a link that was full.
struct Contention {
  LinkId link = 0;
  std::size_t with = 0;
  double share = 0;
};

/// What the clock saw of one job.
struct JobTimes {
  std::vector<Time> begins;            ///< S(1), S(2), …: of iterations, on the job's last worker
  std::size_t first = 0, count = 0;    ///< the iterations that are measured
  std::optional<Time> end;             ///< of a job that ends
  std::vector<Contention> contention;  ///< the largest share first
};

struct JobsTimes {
  std::vector<JobTimes> jobs;
  std::optional<Time> period;  ///< what repeats, where the run is steady
  std::int64_t events = 0;
};

/// What happened of late, on the common clock: who draws it.
struct JobsRecord {
  static constexpr std::size_t replays_of_a_job = 12;
  struct Replay {
    std::int64_t number = 0;  ///< from 0
    std::vector<Span> spans;  ///< by task
  };
  struct Job {
    Unrolled unrolled;
    std::deque<Replay> replays;  ///< the last that have ended
    bool ends = false;           ///< it is through behind them
  };
  static constexpr std::size_t times_of_a_flow = 1000;
  struct On {
    Time from{0}, to{0};
  };
  std::vector<Job> jobs;
  std::vector<std::deque<On>> others;  ///< by flow of others: the last times that it was on
  Time end{0};

  /// When the replays of all jobs are there, if they are at any time; else from the first of them on.
  std::pair<Time, Time> window() const;
};

/// How many iterations the run begins at least, of all jobs, unless it is found steady before.
std::int64_t iterations_awaited(std::span<const SeatedJob> jobs, const JobsFile& file);

/// Returns an upper bound of the number of messages that these iterations send; `message` simulates each of them.
double messages_awaited(std::span<const SeatedJob> jobs, const JobsFile& file);

/// Who is told how far a run has come; both may be missing.
struct JobsWatcher {
  std::function<void()> began;                  ///< for each of the iterations awaited
  std::function<void(std::int64_t sent)> sent;  ///< now and then, by what the network has done
};

/// `jobs`: those that run. `disturbances`: what changes meanwhile; null: nothing does. `record`: filled; null: nobody
/// asks. Deterministic. Throws InputError where an event cuts a job's hosts off from each other, and beyond the file's
/// limits.
JobsTimes replay_jobs(std::span<const SeatedJob> jobs, const JobsFile& file, const Disturbances* disturbances,
                      JobsRecord* record = nullptr, const JobsWatcher& watcher = {});

}  // namespace allreplay
