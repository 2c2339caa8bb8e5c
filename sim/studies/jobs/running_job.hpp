// One of several jobs, with its share of the servers and queues of the system in which all of them run.
#pragma once

#include "sim/replay/engine/cycles.hpp"
#include "sim/replay/network/shared_network.hpp"
#include "sim/replay/training/task_jitter.hpp"
#include "sim/studies/jobs/seated_job.hpp"

namespace allreplay {

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
