// Several jobs on one cluster, as a file says it: who, where, and what changes meanwhile (docs/jobs.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/placement.hpp"
#include "sim/core/json.hpp"
#include "sim/experiment/request.hpp"
#include "sim/jobs/reliability.hpp"
#include "sim/workload/stragglers.hpp"

namespace allreplay {

/// Where a job wants to sit: as a placement says, or on free seats that are shuffled.
struct SeatChoice {
  Placement placement = {};
  std::optional<std::uint64_t> shuffled = {};  ///< by this seed
  std::string text = "packed";                 ///< as files have it
};

/// Consecutive ranks of a job that are alike.
struct WorkerKind {
  std::int64_t workers = 0;
  std::string profile = {};                ///< "": the job's
  std::optional<std::int64_t> batch = {};  ///< of each worker; none: the job's share
  SourceLocation place = {};
};

enum class Balance : std::uint8_t { Even, Speed };

struct JobEntry {
  std::string name;
  Request request;  ///< all but the cluster
  std::int64_t workers = 1;
  SeatChoice seats = {};                 ///< where nothing is searched
  std::vector<SeatChoice> choices = {};  ///< where it is; at least one
  Time start{0};
  std::optional<std::int64_t> iterations = {};  ///< none: for ever
  std::vector<WorkerKind> kinds = {};           ///< none: all alike
  Balance balance = Balance::Even;
  bool balanced = false;                   ///< a balance or a batch is asked for
  std::optional<std::int64_t> batch = {};  ///< of all workers in a micro-batch
  Stragglers stragglers = {};              ///< by rank
  std::optional<Reliability> reliability = {};
  SourceLocation place = {};
};

/// Two neighbours, as files name them.
struct NamedLink {
  NamedHost from, to;
};

/// What is otherwise for a while.
struct ClusterEvent {
  Time at{0};
  std::optional<Time> lasts = {};  ///< none: for ever
  // The subject, one of:
  std::optional<NamedLink> link = {};
  std::optional<NamedHost> node = {};
  std::optional<std::pair<NamedHost, std::int64_t>> worker = {};  ///< of a job, its rank
  // The change, one of:
  std::optional<double> times = {};  ///< its bandwidth, so many times
  std::optional<double> rate = {};   ///< at most so many bytes per second
  bool down = false;
  std::optional<double> slowdown = {};  ///< of computing; of a stall infinite
  SourceLocation place = {};

  Time end() const { return lasts ? add(at, *lasts) : never; }
};

/// Traffic of others, which yields as training does.
struct Background {
  std::optional<NamedLink> link = {};   ///< one link, in this direction;
  std::optional<NamedLink> hosts = {};  ///< or the way between two hosts
  double rate = 0;                      ///< bytes per second, while it is on
  Time start{0};
  std::optional<Time> on = {}, off = {};   ///< both or none
  std::optional<std::uint64_t> seed = {};  ///< then these are means
  SourceLocation place = {};
};

/// Beyond them a run is refused; tests lower them.
struct JobsLimits {
  std::int64_t steps = 1'000'000'000;     ///< instants at which something happens, and turns of background
  double bytes = 4e9;                     ///< what is kept of iterations
  std::int64_t messages = 1'000'000'000;  ///< in an iteration, of all jobs
  std::int64_t passes = 3'000'000;        ///< of layers in an iteration, of all classes of workers of all jobs
};

struct JobsFile {
  std::string name;
  std::optional<Json> inline_cluster;  ///< else the name
  std::string cluster;
  std::string fidelity;  ///< "": the cluster's
  SourceLocation place_of_fidelity;
  std::int64_t warm_up = 5, iterations = 50;
  SourceLocation place_of_iterations;
  std::vector<JobEntry> jobs;
  std::vector<Background> background;
  std::vector<ClusterEvent> events;
  std::vector<ChangeText> changes = {};  ///< of the cluster and the profiles, before they are used
  JobsLimits limits;
};

/// "packed", "random:7", or a list of hosts. Throws InputError.
SeatChoice read_seats(const Json& json);

/// Throws InputError for all that can be said without the cluster.
JobsFile read_jobs(const Files& files, const Json& json);

}  // namespace allreplay
