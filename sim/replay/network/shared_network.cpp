#include "sim/replay/network/shared_network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/replay/network/fluid.hpp"
#include "sim/replay/network/message.hpp"
#include "sim/replay/network/round_load.hpp"
#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

SharedNetwork::SharedNetwork(std::vector<Tenant> tenants, std::vector<double> rates)
    : tenants_(std::move(tenants)), rates_(std::move(rates)), ways_(rates_.size()), on_(rates_.size(), false) {
  for (const Tenant& tenant : tenants_) {
    first_call_.push_back(static_cast<CallId>(launch_.size()));
    for (const Call& call : tenant.fabric->calls())
      launch_.push_back(is_launched(call) ? std::optional(tenant.launch) : std::nullopt);
    launch_.resize(first_call_.back() + tenant.fabric->laid());
    while (legs_.size() < launch_.size()) legs_.push_back({static_cast<CallId>(legs_.size())});  // one leg each
  }
  if (tenants_.size() > 1) meetings_ = std::make_unique<Meetings>();
}

void SharedNetwork::serve(std::unique_ptr<NetworkOfJobs> inside) {
  inside_ = inside.get();
  server_ = std::make_unique<Launcher>(std::move(inside), launch_, legs_);
}

std::vector<std::uint32_t> SharedNetwork::job_of_call() const {
  std::vector<std::uint32_t> jobs;
  for (std::uint32_t job = 0; job < tenants_.size(); ++job)
    jobs.resize(jobs.size() + tenants_[job].fabric->laid(), job);
  return jobs;
}

template <class Visit>
void SharedNetwork::for_each_laid(const Views& views, const Visit& visit) const {
  for (std::size_t job = 0; job < tenants_.size(); ++job)
    for (std::uint32_t number = 0; number < tenants_[job].fabric->laid(); ++number)
      visit(tenants_[job].fabric->rounds_laid(number, views[job]->group_size()), *views[job], *tenants_[job].fabric,
            number);
}

// `loads_of`: returns the loads of all collectives that a job has laid.
template <class LoadsOf>
NcclCalls SharedNetwork::nccl_on(const LoadsOf& loads_of) const {
  NcclCalls all;
  for (std::size_t job = 0; job < tenants_.size(); ++job) {
    const NcclCalls own = tenants_[job].fabric->nccl_on(loads_of(job), first_call_[job]);
    all.insert(all.end(), own.begin(), own.end());
    all.resize(first_call_[job] + tenants_[job].fabric->laid());
  }
  return all;
}

// The links of the topology, followed by the private links of background flows.
std::vector<Link> SharedNetwork::links_of(const Topology& topology) const {
  std::vector<Link> links(topology.links().begin(), topology.links().end());
  for (const double rate : rates_) links.push_back({.bandwidth = rate});
  return links;
}

void SharedNetwork::lay(const Topology& network, const Views& views, std::vector<Way> ways, Time now) {
  const std::vector<Way> before = std::exchange(ways_, std::move(ways));  // kept: moving flows still refer to it
  for (std::size_t other = 0; other < ways_.size(); ++other)
    if (!ways_[other].empty()) ways_[other].push_back(private_link(network, other));
  relay(network, views, now);
}

void SharedNetwork::turn(std::size_t other, bool on, Time now) {
  on_[other] = on;
  turn_others(now);
}

namespace {

class SharedFluid final : public SharedNetwork {
 public:
  SharedFluid(std::vector<Tenant> tenants, const Views& views, std::vector<double> rates)
      : SharedNetwork(std::move(tenants), std::move(rates)) {
    const NetworkSetup& setup = *tenants_.front().setup;
    const bool asks_for_rates =
        std::any_of(tenants_.begin(), tenants_.end(), [](const Tenant& tenant) { return tenant.setup->rates; });
    auto laid = laid_on(*views.front(), views);
    auto network = std::make_unique<FluidNetwork>(std::move(laid.loads), laid.shapes, setup.alpha, setup.gamma,
                                                  asks_for_rates, std::move(laid.nccl));
    network_ = network.get();
    network_->serve(job_of_call(), meetings_.get());
    serve(std::move(network));
  }

 private:
  struct Laid {
    std::vector<std::shared_ptr<const RoundLoads>> loads;
    std::shared_ptr<Shapes> shapes;
    NcclCalls nccl;
  };

  Laid laid_on(const Topology& network, const Views& views) {
    Laid laid{{}, std::make_shared<Shapes>(meetings_ != nullptr), {}};
    for_each_laid(views, [&](const Rounds& rounds, const Topology& topology, const RoundsFabric& of, auto number) {
      laid.loads.push_back(std::make_shared<RoundLoads>(rounds, topology, *laid.shapes, of.levels_of(number)));
    });
    laid.nccl = nccl_on([&](std::size_t job) { return std::span(laid.loads).subspan(first_call(job)); });
    const std::vector<Link> links = links_of(network);
    shape_of_.assign(ways_.size(), 0);
    for (std::size_t other = 0; other < ways_.size(); ++other)
      shape_of_[other] = laid.shapes->number(shape(other, links));
    laid.shapes->fold();
    return laid;
  }

  // The shape of a background flow. At speed 1 it fills the slowest link of its way; its private link limits its rate.
  Shape shape(std::size_t other, const std::vector<Link>& links) const {
    if (ways_[other].empty()) return {};
    double slowest = std::numeric_limits<double>::infinity();
    for (const LinkId link : std::span(ways_[other]).first(ways_[other].size() - 1))
      slowest = std::min(slowest, links[link].bandwidth);
    Shape shape;
    for (const LinkId link : ways_[other]) shape.push_back({link, slowest / links[link].bandwidth});
    std::sort(shape.begin(), shape.end(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
    return shape;
  }

  std::vector<std::uint32_t> others() const {
    std::vector<std::uint32_t> shapes;
    for (std::size_t other = 0; other < ways_.size(); ++other)
      if (on_[other] && !ways_[other].empty()) shapes.push_back(shape_of_[other]);
    return shapes;
  }

  void relay(const Topology& network, const Views& views, Time now) override {
    auto laid = laid_on(network, views);
    network_->lay(std::move(laid.loads), laid.shapes, std::move(laid.nccl), others(), now);
  }
  void turn_others(Time now) override { network_->set_other_loads(others(), now); }

  FluidNetwork* network_ = nullptr;
  std::vector<std::uint32_t> shape_of_;  // by background flow
};

class SharedMessages final : public SharedNetwork {
 public:
  SharedMessages(std::vector<Tenant> tenants, const Views& views, std::vector<double> rates)
      : SharedNetwork(std::move(tenants), std::move(rates)) {
    NcclCalls nccl = nccl_on([&](std::size_t job) { return std::span(tenants_[job].fabric->loads()); });
    auto network = std::make_unique<MessageNetwork>(laid_on(views), links_of(*views.front()),
                                                    tenants_.front().setup->gamma, Parties(), std::move(nccl));
    network_ = network.get();
    network_->serve(job_of_call(), meetings_.get());
    serve(std::move(network));
  }

 private:
  std::vector<std::shared_ptr<const RoutedRounds>> laid_on(const Views& views) const {
    std::vector<std::shared_ptr<const RoutedRounds>> routed;
    for_each_laid(views, [&](const Rounds& rounds, const Topology& topology, const RoundsFabric& of, auto number) {
      routed.push_back(std::make_shared<RoutedRounds>(rounds, topology, of.alpha_of(number), of.levels_of(number)));
    });
    return routed;
  }

  void relay(const Topology& network, const Views& views, Time now) override {
    network_->lay(laid_on(views), links_of(network), now);
    turn_others(now);
  }
  void turn_others(Time now) override {
    for (std::uint32_t other = 0; other < ways_.size(); ++other)
      network_->set_other(other, on_[other] ? std::span<const LinkId>(ways_[other]) : std::span<const LinkId>(), now);
  }

  MessageNetwork* network_ = nullptr;
};

}  // namespace

std::unique_ptr<SharedNetwork> shared_network(std::vector<Tenant> tenants, const Views& views, std::vector<Way> ways,
                                              std::vector<double> rates) {
  std::unique_ptr<SharedNetwork> network;
  if (tenants.front().setup->fidelity == Fidelity::Fluid)
    network = std::make_unique<SharedFluid>(std::move(tenants), views, std::move(rates));
  else
    network = std::make_unique<SharedMessages>(std::move(tenants), views, std::move(rates));
  if (!ways.empty()) network->lay(*views.front(), views, std::move(ways), Time(0));
  return network;
}

}  // namespace allreplay
