// What changes while jobs run: a file's events and traffic of others, on its network (docs/jobs.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/jobs/jobs_file.hpp"
#include "sim/network/shared_network.hpp"

namespace allreplay {

class Disturbances {
 public:
  /// Throws InputError for names that the network does not know, and for what cannot happen to their nodes. REQUIRES:
  /// the file outlives it.
  Disturbances(const JobsFile& file, std::shared_ptr<const Topology> network);

  /// Instants at which an event begins or ends, in order.
  const std::vector<Time>& instants() const { return instants_; }
  bool changes_links(Time at) const;

  /// Undisturbed, and with what is in force at an instant.
  const Topology& network() const { return *network_; }
  std::shared_ptr<const Topology> network_at(Time at) const;
  /// By flow of others.
  std::vector<Way> ways_on(const Topology& network) const;
  std::vector<double> rates() const;
  /// `jobs`: the seats of those that go on. Throws InputError, naming the event, where the links that are down then cut
  /// one of a job's seats off from another, or what a flow of others joins.
  void require_connected(const Topology& network, const std::vector<std::span<const NodeId>>& jobs, Time at) const;

 private:
  struct Resolved {
    std::vector<LinkId> links;            // both directions of each
    std::optional<std::int64_t> machine;  // else
  };
  struct Ends {
    LinkId link = 0;
    NodeId from = 0, to = 0;  // ranks, where it is no link's
  };

  [[noreturn]] void cut_off(const Topology& network, NodeId a, NodeId b, Time at) const;

  const JobsFile& file_;
  std::shared_ptr<const Topology> network_;
  std::vector<Resolved> events_;
  std::vector<Ends> others_;
  std::vector<Time> instants_;
};

/// When a flow of others is on: its `on` and `off` in turn, from its start.
class OnAndOff {
 public:
  /// `number`: its place in the file.
  OnAndOff(const Background& background, std::size_t number);

  Time next() const { return next_; }
  bool is_on() const { return on_; }
  void turn();

 private:
  const Background& background_;
  std::optional<Random> random_;
  Time next_;
  bool on_ = false;
};

}  // namespace allreplay
