#include "sim/network/shared_network.hpp"

#include <algorithm>

#include "sim/network/fluid.hpp"
#include "sim/network/message.hpp"
#include "sim/network/round_load.hpp"
#include "sim/network/routed_rounds.hpp"

namespace allreplay {

namespace {

// By tenant and call.
template <class Visit>
void for_each_call(std::span<const Tenant> tenants, const Visit& visit) {
  for (const Tenant& tenant : tenants)
    for (const Call& call : tenant.fabric->calls())
      visit(tenant, tenant.fabric->rounds_of_call(call, tenant.topology->group_size()));
}

std::unique_ptr<Server> fluid(std::span<const Tenant> tenants) {
  const auto shapes = std::make_shared<Shapes>();
  std::vector<std::shared_ptr<const RoundLoads>> loads;
  for_each_call(tenants, [&](const Tenant& tenant, const Rounds& rounds) {
    loads.push_back(std::make_shared<RoundLoads>(rounds, *tenant.topology, *shapes, tenant.setup->levels));
  });
  shapes->fold();
  const NetworkSetup& setup = *tenants.front().setup;
  return std::make_unique<FluidNetwork>(std::move(loads), shapes, setup.alpha, setup.gamma);
}

std::unique_ptr<Server> messages(std::span<const Tenant> tenants) {
  std::vector<std::shared_ptr<const RoutedRounds>> routed;
  for_each_call(tenants, [&](const Tenant& tenant, const Rounds& rounds) {
    routed.push_back(
        std::make_shared<RoutedRounds>(rounds, *tenant.topology, tenant.setup->alpha, tenant.setup->levels));
  });
  return std::make_unique<MessageNetwork>(std::move(routed), tenants.front().topology->links(),
                                          tenants.front().setup->gamma);
}

}  // namespace

SharedNetwork shared_network(std::span<const Tenant> tenants) {
  SharedNetwork network;
  network.launch = std::make_unique<std::vector<std::optional<Time>>>();
  network.legs = std::make_unique<Legs>();
  for (const Tenant& tenant : tenants) {
    network.first_call.push_back(static_cast<CallId>(network.launch->size()));
    for (const Call& call : tenant.fabric->calls()) {
      network.legs->push_back({static_cast<CallId>(network.legs->size())});  // in one
      network.launch->push_back(call.group.ranks > 1 ? std::optional(tenant.launch) : std::nullopt);
    }
  }
  network.server = tenants.front().setup->fidelity == Fidelity::Fluid ? fluid(tenants) : messages(tenants);
  network.server = std::make_unique<Launcher>(std::move(network.server), *network.launch, *network.legs);
  return network;
}

}  // namespace allreplay
