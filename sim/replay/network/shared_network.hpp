// The collectives of several jobs on one network, whose links may change, and which may carry background traffic.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/replay/network/launch.hpp"
#include "sim/replay/network/meetings.hpp"
#include "sim/replay/network/rounds_fabric.hpp"

namespace allreplay {

/// A job on the network; it sends the calls of its fabric.
struct Tenant {
  const RoundsFabric* fabric = nullptr;
  const NetworkSetup* setup = nullptr;
  Time launch{0};
};

/// By job, its view of the shared network: the job's rank i is on host i.
using Views = std::vector<std::shared_ptr<const Topology>>;

/// The links of a background flow; empty: it pauses.
using Way = std::vector<LinkId>;

class SharedNetwork {
 public:
  virtual ~SharedNetwork() = default;

  /// The network behind the jobs' launchers. At first it is idle, and has no background traffic.
  Server& server() { return *server_; }
  /// The number of a job's first call. Its laid collectives (RoundsFabric::laid()) are numbered from there.
  CallId first_call(std::size_t job) const { return first_call_[job]; }
  /// Null for a single job.
  const Meetings* meetings() const { return meetings_.get(); }
  std::vector<double> met(Time now) const { return inside_->met(now); }

  /// Replaces the links and the routes of all background flows. `views`: for an ended job, any view with as many links.
  void lay(const Topology& network, const Views& views, std::vector<Way> ways, Time now);
  /// Switches a background flow on or off.
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
  std::vector<double> rates_;  // of background flows, bytes per second; a private link limits each
  std::vector<Way> ways_;      // including the private links
  std::vector<bool> on_;
  std::unique_ptr<Meetings> meetings_;

 private:
  std::unique_ptr<Server> server_;
  NetworkOfJobs* inside_ = nullptr;
  std::vector<CallId> first_call_;
  std::vector<std::optional<Time>> launch_;  // by call
  Legs legs_;
};

/// `rates`: of background flows, bytes/s. REQUIRES: tenants, of the same fidelity, alpha and gamma, which outlive it.
std::unique_ptr<SharedNetwork> shared_network(std::vector<Tenant> tenants, const Views& views, std::vector<Way> ways,
                                              std::vector<double> rates);

}  // namespace allreplay
