// Several jobs' collectives on the links of one network, which change, and on which there is traffic of others.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/network/launch.hpp"
#include "sim/network/meetings.hpp"
#include "sim/network/rounds_fabric.hpp"

namespace allreplay {

/// What one job sends: the calls of its fabric.
struct Tenant {
  const RoundsFabric* fabric = nullptr;
  const NetworkSetup* setup = nullptr;
  Time launch{0};
};

/// A job's own view of the network that all share, by job: rank i sits on its host i.
using Views = std::vector<std::shared_ptr<const Topology>>;

/// The links that a flow of others uses; none: it rests.
using Way = std::vector<LinkId>;

class SharedNetwork {
 public:
  virtual ~SharedNetwork() = default;

  /// Behind the jobs' launchers; idle at first, and without others' traffic.
  Server& server() { return *server_; }
  /// A job's calls are numbered from here on, and behind them what NCCL sends for them.
  CallId first_call(std::size_t job) const { return first_call_[job]; }
  /// Null for one job, which meets nobody.
  const Meetings* meetings() const { return meetings_.get(); }
  std::vector<double> met(Time now) const { return inside_->met(now); }

  /// The links of the network, and the ways of all flows of others, are these from now on. `views`: of jobs that are
  /// over any that have as many links.
  void lay(const Topology& network, const Views& views, std::vector<Way> ways, Time now);
  /// A flow of others is on, or off.
  void turn(std::size_t other, bool on, Time now);

 protected:
  SharedNetwork(std::vector<Tenant> tenants, std::vector<double> rates);

  void serve(std::unique_ptr<NetworkOfJobs> inside);
  std::vector<std::uint32_t> job_of_call() const;
  virtual void relay(const Topology& network, const Views& views, Time now) = 0;
  virtual void turn_others(Time now) = 0;
  template <class Visit>
  void for_each_laid(const Views& views, const Visit& visit) const;
  template <class LoadsOf>
  NcclCalls nccl_on(const LoadsOf& loads_of) const;
  std::vector<Link> links_of(const Topology& topology) const;
  LinkId private_link(const Topology& topology, std::size_t other) const {
    return static_cast<LinkId>(topology.links().size() + other);
  }

  std::vector<Tenant> tenants_;
  std::vector<double> rates_;  // of others, bytes per second, each as if it came over a private link
  std::vector<Way> ways_;      // with those
  std::vector<bool> on_;
  std::unique_ptr<Meetings> meetings_;

 private:
  std::unique_ptr<Server> server_;
  NetworkOfJobs* inside_ = nullptr;
  std::vector<CallId> first_call_;
  std::vector<std::optional<Time>> launch_;  // by call
  Legs legs_;
};

/// `rates`: of flows of others. REQUIRES: one fidelity, one start-up and one speed of reduction; at least one tenant,
/// and they outlive it.
std::unique_ptr<SharedNetwork> shared_network(std::vector<Tenant> tenants, const Views& views, std::vector<Way> ways,
                                              std::vector<double> rates);

}  // namespace allreplay
