// NCCL's choice on links: on the rails that its model believes in, what the model says; elsewhere what the links add.
#include "sim/replay/network/nccl_on_links.hpp"

#include <cmath>
#include <set>

#include "tests/catch.hpp"
#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/replay/network/round_load.hpp"

using namespace allreplay;

namespace {

// Nodes of g GPUs and r ports.
Network nodes(std::int64_t g, std::int64_t r, NcclSetup nccl, double inside = 370e9, double port = 50e9) {
  Network network;
  network.alpha = 0;
  network.beta = 1 / port;
  network.node = NodeLevel{g, 0, 1 / inside, r, {}};
  network.nccl = nccl;
  return network;
}

std::shared_ptr<const RoundsFabric> on(const Network& network, const Topology& topology, std::int64_t workers,
                                       std::vector<Call> calls, Fidelity fidelity) {
  NetworkSetup setup{.fidelity = fidelity, .workers = workers};
  setup.place = {"test", ""};
  for (Call& call : calls) call.algorithm = &find_algorithm("nccl", {});
  setup.calls = std::move(calls);
  setup.levels.node_workers = network.node->workers;
  setup.rails = network.node->rails;
  setup.nccl = std::make_shared<Network>(nccl_levels(network));
  return lay_on(setup, topology);
}

struct NodeShape {
  Network network;
  std::vector<std::int64_t> workers;
};

// Nodes of eight and eight ports, of four and one, of one; slower links than believed, rendezvous, AMD, PCIe.
std::vector<NodeShape> node_shapes() {
  NcclSetup alps{.gpu = NcclSetup::Gpu::Hopper, .ll128 = false, .rendezvous = NcclRendezvous{2048, 14e-6}};
  alps.network = {{0.9, 1.3}, 0.5, 0.15};
  alps.node = {1.1, 0.9};
  return {{nodes(8, 8, {.gpu = NcclSetup::Gpu::Hopper}), {4, 8, 16, 24, 64}},
          {nodes(4, 1, {.gpu = NcclSetup::Gpu::Ampere, .amd = true}, 240e9, 24e9), {2, 8, 10, 32}},
          {nodes(4, 4, alps, 360e9, 24e9), {8, 16, 30}},
          {nodes(4, 2, {.gpu = NcclSetup::Gpu::Volta, .pcie = true}, 12e9, 12.5e9), {4, 8, 16}},
          {nodes(1, 1, {.gpu = NcclSetup::Gpu::Volta, .pat = true}), {2, 5, 16}}};
}

constexpr CollectiveOp ops[] = {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather,
                                CollectiveOp::Broadcast};
constexpr double sizes[] = {8, 1024, 65536, 1 << 20, 1 << 24, 1e9, 1e10};

Rounds rounds_sent(const RoundsFabric& fabric, const Call& call, double bytes) {
  return fabric.rounds_laid(fabric.sent(fabric.id_of(call), bytes).rounds, 1);
}

// Returns the share of one link over all rounds in the busiest links of all rounds, summed.
double part_of_one_link(const Rounds& rounds, const Topology& topology) {
  Shapes shapes;
  const RoundLoads loads(rounds, topology, shapes);
  return loads.busiest / loads.per_byte(0);
}

}  // namespace

TEST_CASE("on the rails that NCCL's model assumes, fluid takes the model's time") {
  std::set<std::string_view> chosen;
  for (const auto& [network, counts] : node_shapes())
    for (const std::int64_t workers : counts)
      for (const CollectiveOp op : ops) {
        const auto rails = make_topology(*topology_of(network), workers);
        const auto fabric = on(network, *rails, workers, {op}, Fidelity::Fluid);
        const NcclPrice price(network, workers, op);
        for (const double bytes : sizes) {
          INFO(to_string(op) << " of " << bytes << " B among " << workers << " in nodes of " << network.node->workers);
          chosen.insert(price.choice(bytes).algorithm);
          CHECK(fabric->price(op).seconds(bytes) == Approx(price.seconds(bytes)).epsilon(1e-9));
          // Simulated, each round ends at a whole picosecond.
          const double off = to_seconds(fabric->alone(bytes, op)) - price.seconds(bytes);
          CHECK(std::abs(off) <=
                1e-12 * static_cast<double>(rounds_sent(*fabric, op, bytes).length()) + 1e-9 * price.seconds(bytes));
        }
      }
  CHECK(chosen == std::set<std::string_view>{"nvls", "pat", "ring", "tree"});
}

// x = 2·(hop between − hop inside), the hops of the choice: from the larger of the model's two terms less x to their
// sum and x. A path of a ring may have two hops between nodes more than the model counts, and correspondingly fewer
// inside. A tree's first and last rounds load only links inside nodes: the model's bytes have them in lockstep,
// messages run ahead, and only the time of one link over all rounds is sure. A broadcast's chain has one hop less than
// the model counts; its chunks pass the slow hops only once, so that with many of them the bytes take as little as
// 1/chunks of what the model says for each (the model has no chunks), and on one node the model counts one hop of all.
TEST_CASE("message lies between the model's terms") {
  for (const auto& [network, counts] : node_shapes())
    for (const std::int64_t workers : counts)
      for (const CollectiveOp op : ops) {
        const auto rails = make_topology(*topology_of(network), workers);
        const auto fabric = on(network, *rails, workers, {op}, Fidelity::Message);
        const NcclPrice price(network, workers, op);
        for (const double bytes : sizes) {
          INFO(to_string(op) << " of " << bytes << " B among " << workers << " in nodes of " << network.node->workers);
          const NcclChoice choice = price.choice(bytes);
          const double takes = to_seconds(fabric->alone(bytes, op)), move = bytes / choice.bandwidth;
          const double x = 2 * (choice.between - choice.inside);
          CHECK(takes >= 0.999999 * to_seconds(fabric->least(bytes, op)));
          if (op == CollectiveOp::Broadcast) continue;
          INFO(choice.algorithm << "/" << choice.protocol << ": " << choice.start_up * 1e6 << " + " << move * 1e6
                                << " us, x " << x * 1e6 << " us, takes " << takes * 1e6);
          const bool several = workers > network.node->workers;
          const double rounding = 1e-9 + 1e-6 * takes;
          const double on_one_link =
              choice.algorithm == "tree" ? move * part_of_one_link(rounds_sent(*fabric, op, bytes), *rails) : move;
          CHECK(takes >= std::max(choice.start_up, on_one_link) - (several ? x : 0) - rounding);
          CHECK(takes <= choice.start_up + move + (several ? x : 0) + rounding);
        }
      }
}
