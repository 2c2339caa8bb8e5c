// Replays several jobs on one network and one clock, until every job's iterations are measured (docs/jobs.md).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/replay/engine/cycles.hpp"
#include "sim/replay/network/shared_network.hpp"
#include "sim/replay/training/task_jitter.hpp"
#include "sim/replay/training/unroll.hpp"
#include "sim/studies/jobs/disturbances.hpp"
#include "sim/studies/jobs/seated_job.hpp"

namespace allreplay {

/// The share of a job's measured time in which it and job `with` both sent over a link that was saturated.
struct Contention {
  LinkId link = 0;
  std::size_t with = 0;
  double share = 0;
};

/// When one job's iterations began and ended.
struct JobTimes {
  std::vector<Time> begins;            ///< S(1), S(2), …: begins of iterations, on the job's last worker
  std::size_t first = 0, count = 0;    ///< the measured iterations
  std::optional<Time> end;             ///< none if the job runs for ever
  std::vector<Contention> contention;  ///< largest share first
};

struct JobsTimes {
  std::vector<JobTimes> jobs;
  std::optional<Time> period;  ///< after which a steady run repeats; none if it is not steady
  std::int64_t events = 0;
};

/// The last replays of each job, and the last times that background was on, for drawing.
struct JobsRecord {
  static constexpr std::size_t replays_of_a_job = 12;
  struct Replay {
    std::int64_t number = 0;  ///< from 0
    std::vector<Span> spans;  ///< by task
  };
  struct Job {
    Unrolled unrolled;
    std::deque<Replay> replays;  ///< the last ones that ended
    bool ends = false;           ///< the job runs a limited number of iterations
  };
  static constexpr std::size_t times_of_a_flow = 1000;
  struct On {
    Time from{0}, to{0};
  };
  std::vector<Job> jobs;
  std::vector<std::deque<On>> others;  ///< by background flow, the last times that it was on
  Time end{0};

  /// Returns the time in which replays of all jobs are recorded; if there is none, all that is recorded.
  std::pair<Time, Time> window() const;
};

/// Returns the number of iterations, of all jobs, that a run begins at least unless it becomes steady.
std::int64_t iterations_awaited(std::span<const SeatedJob> jobs, const JobsFile& file);

/// Returns an upper bound of the number of messages that these iterations send; `message` simulates each of them.
double messages_awaited(std::span<const SeatedJob> jobs, const JobsFile& file);

/// Callbacks for showing progress; each may be empty.
struct JobsWatcher {
  std::function<void()> began;                  ///< for each of iterations_awaited()
  std::function<void(std::int64_t sent)> sent;  ///< now and then, with the number of messages sent
};

/// Replays the jobs. `disturbances` may be null: no events and no background. `record`, if not null, is filled.
/// Deterministic. Throws InputError if an event disconnects a job's hosts, or a limit of the file is exceeded.
JobsTimes replay_jobs(std::span<const SeatedJob> jobs, const JobsFile& file, const Disturbances* disturbances,
                      JobsRecord* record = nullptr, const JobsWatcher& watcher = {});

inline constexpr std::uint32_t the_network = 0;  ///< index of the network's server

struct RunningJob {
  const SeatedJob* job = nullptr;
  Unrolled unrolled;
  std::vector<Stream> streams;
  Clock clock;
  std::vector<std::uint32_t> compute, codec;  // servers, by class
  std::vector<DrawOrder> orders;              // with jitter, by class
  std::vector<WorkerRandom> random;           // of jitter
  std::vector<double> met_since, met_until;   // Meetings::lasted() at the begin and end of its measured time
};

/// Adds the servers and queues of job `number` to the system, whose first server is the network, and fills `running`
/// and `cycle`. `running` must stay where it is.
void seat(const SeatedJob& job, std::uint32_t number, SharedNetwork& network, System& system, RunningJob& running,
          Cycle& cycle);

}  // namespace allreplay
