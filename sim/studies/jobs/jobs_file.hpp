// A jobs file: several jobs on one cluster, their seats, events and background traffic (docs/jobs.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/inputs/cluster/placement.hpp"
#include "sim/inputs/workload/stragglers.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/jobs/reliability.hpp"

namespace allreplay {

/// The requested placement of a job: a Placement, or free seats in random order.
struct SeatChoice {
  Placement placement = {};
  std::optional<std::uint64_t> shuffled = {};  ///< the seed of the random order
  std::string text = "packed";                 ///< as written in files
};

/// Consecutive ranks of a job with the same profile and batch size.
struct WorkerKind {
  std::int64_t workers = 0;
  std::string profile = {};                ///< "": the profile of the job
  std::optional<std::int64_t> batch = {};  ///< of each worker; none: its share of the job's batch
  SourceLocation place = {};
};

enum class Balance : std::uint8_t { Even, Speed };

struct JobEntry {
  std::string name;
  Request request;  ///< all except the cluster
  std::int64_t workers = 1;
  SeatChoice seats = {};                 ///< used unless placements are searched
  std::vector<SeatChoice> choices = {};  ///< the candidates of a search; at least one
  Time start{0};
  std::optional<std::int64_t> iterations = {};  ///< none: the job never ends
  std::vector<WorkerKind> kinds = {};           ///< none: all workers are identical
  Balance balance = Balance::Even;
  bool balanced = false;                   ///< the batch is divided among the workers
  std::optional<std::int64_t> batch = {};  ///< samples of all workers in a micro-batch
  Stragglers stragglers = {};              ///< by rank
  std::optional<Reliability> reliability = {};
  SourceLocation place = {};
};

/// Two neighbours in the network, by the names in files.
struct NamedLink {
  NamedHost from, to;
};

/// A temporary or permanent change of a link, a node or a worker.
struct ClusterEvent {
  Time at{0};
  std::optional<Time> lasts = {};  ///< none: permanent
  // The subject, one of:
  std::optional<NamedLink> link = {};
  std::optional<NamedHost> node = {};
  std::optional<std::pair<NamedHost, std::int64_t>> worker = {};  ///< a job and a rank in it
  // The change, one of:
  std::optional<double> times = {};  ///< factor of the bandwidth
  std::optional<double> rate = {};   ///< limit of the bandwidth in bytes per second
  bool down = false;
  std::optional<double> slowdown = {};  ///< factor of computation times; infinite for a stall
  SourceLocation place = {};

  Time end() const { return lasts ? add(at, *lasts) : never; }
};

/// A flow of background traffic, which shares bandwidth as a training transfer does.
struct Background {
  std::optional<NamedLink> link = {};   ///< over one link, in this direction,
  std::optional<NamedLink> hosts = {};  ///< or from host to host
  double rate = 0;                      ///< limit in bytes per second, while it is on
  Time start{0};
  std::optional<Time> on = {}, off = {};   ///< lengths; both or neither is given
  std::optional<std::uint64_t> seed = {};  ///< if given, lengths are random, and `on` and `off` their means
  SourceLocation place = {};
};

/// A run that exceeds a limit is an error. Tests lower them.
struct JobsLimits {
  std::int64_t steps = 1'000'000'000;     ///< instants at which something happens, and switches of background
  double bytes = 4e9;                     ///< memory for recorded iterations and states
  std::int64_t messages = 1'000'000'000;  ///< of all jobs, in one iteration of each
  std::int64_t passes = 3'000'000;        ///< of layers in an iteration, summed over classes of workers and jobs
};

struct JobsFile {
  std::string name;
  std::optional<Json> inline_cluster;  ///< if none, `cluster` is its name
  std::string cluster;
  Given<std::string> fidelity;  ///< "": that of the cluster
  std::int64_t warm_up = 5, iterations = 50;
  SourceLocation place_of_iterations;
  std::vector<JobEntry> jobs;
  std::vector<Background> background;
  std::vector<ClusterEvent> events;
  std::vector<ChangeText> changes = {};  ///< applied to the cluster and the profiles
  JobsLimits limits;
};

/// Reads "packed", "spread", "random:7", or a list of hosts. Throws InputError.
SeatChoice read_seats(const Json& json);

/// Throws InputError for every error that shows without the cluster.
JobsFile read_jobs(const Files& files, const Json& json);

}  // namespace allreplay
