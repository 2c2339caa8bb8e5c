// Events and background traffic of a jobs file, applied to its network (docs/jobs.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/core/random.hpp"
#include "sim/replay/network/shared_network.hpp"
#include "sim/studies/jobs/jobs_file.hpp"

namespace allreplay {

class Disturbances {
 public:
  /// Throws InputError for names that the network does not have, and for changes that do not apply to the named node.
  /// REQUIRES: the file outlives this object.
  Disturbances(const JobsFile& file, std::shared_ptr<const Topology> network);

  /// The instants at which an event begins or ends, ascending.
  const std::vector<Time>& instants() const { return instants_; }
  bool changes_links(Time at) const;

  /// The undisturbed network.
  const Topology& network() const { return *network_; }
  /// The network with the bandwidths that the events in force at `at` leave.
  std::shared_ptr<const Topology> network_at(Time at) const;
  /// The links of each background flow; empty if its only link is down.
  std::vector<Way> ways_on(const Topology& network) const;
  /// The rate limit of each background flow, in bytes per second.
  std::vector<double> rates() const;
  /// `jobs`: the seats of each job that still runs. Throws InputError, naming the event, if the links that are down at
  /// `at` disconnect two seats of a job, or the two hosts of a background flow.
  void require_connected(const Topology& network, const std::vector<std::span<const NodeId>>& jobs, Time at) const;

 private:
  struct Resolved {
    std::vector<LinkId> links;            // each in both directions
    std::optional<std::int64_t> machine;  // if the event is about a host
  };
  struct Ends {
    LinkId link = 0;
    NodeId from = 0, to = 0;  // first GPUs of the two hosts, if the flow is not given by a link
  };

  [[noreturn]] void cut_off(const Topology& network, NodeId a, NodeId b, Time at) const;

  const JobsFile& file_;
  std::shared_ptr<const Topology> network_;
  std::vector<Resolved> events_;
  std::vector<Ends> others_;
  std::vector<Time> instants_;
};

/// Switches a background flow on at its start, then off and on by the lengths `on` and `off`.
class OnAndOff {
 public:
  /// `number`: the index of the flow in the file; selects the random stream.
  OnAndOff(const Background& background, std::size_t number);

  Time next() const { return next_; }  ///< when turn() is due; `never` if the flow stays on
  bool is_on() const { return on_; }
  void turn();

 private:
  const Background& background_;
  std::optional<Random> random_;
  Time next_;
  bool on_ = false;
};

}  // namespace allreplay
