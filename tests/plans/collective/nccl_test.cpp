#include "sim/plans/collective/nccl.hpp"

#include <cmath>
#include <map>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/network_change.hpp"

using namespace allreplay;

namespace {

// 370 GB/s inside, ports of 50 GB/s, no start-up of the network's own.
Network network(NcclSetup::Gpu gpu, std::int64_t rails = 8, std::int64_t node = 8) {
  Network result;
  result.place = {"c.json", "/network"};
  result.alpha = 0;
  result.beta = 1 / 50e9;
  result.node = NodeLevel{node, 0, 1 / 370e9, rails, result.place / "node"};
  result.nccl = NcclSetup{.gpu = gpu};
  return result;
}

void check(const Network& on, std::int64_t workers, CollectiveOp op, double bytes, std::string_view name, double us) {
  const NcclPrice price(on, workers, op);
  const NcclChoice choice = price.choice(bytes);
  INFO(bytes << " B among " << workers);
  CHECK(std::string(choice.algorithm) + "/" + std::string(choice.protocol) == name);
  CHECK(price.seconds(bytes) * 1e6 == Approx(us));
}

}  // namespace

TEST_CASE("8 H100 of one node") {
  const Network h100 = network(NcclSetup::Gpu::Hopper);
  // Ring, LL: 6.6 + 14·0.6 us; min(141, 370/2)·8/14 GB/s.
  check(h100, 8, CollectiveOp::AllReduce, 1024, "ring/LL", 15 + 1024 / (141e3 * 8 / 14));
  // NVLS: 8 channels of 40 (8·50 > 370): 8·40·0.85·7/8·2 = 476 GB/s of bus.
  check(h100, 8, CollectiveOp::AllReduce, 1e9, "nvls/Simple", 25 + 1e9 / (476e3 * 8 / 14));
  // The halves: 8·40·0.85·7/8 = 238 GB/s of bus, below the ring's 370: 8.4 + 7·3.4 us, 370·8/7 GB/s.
  check(h100, 8, CollectiveOp::ReduceScatter, 1e9, "ring/Simple", 32.2 + 1e9 / (370e3 * 8 / 7));
  check(h100, 8, CollectiveOp::AllGather, 1e9, "ring/Simple", 32.2 + 1e9 / (370e3 * 8 / 7));
  // LL128: 14 + 7·1.9 us, min(0.92·370, 12·36.7)·8/7. At 4 MB LL takes 6.6 + 7·0.6 + 4000/(141·8/7) = 35.6 us,
  // Simple 32.2 + 9.5, NVLS 25 + 14.7, LL128 27.3 + 10.3.
  check(h100, 8, CollectiveOp::AllGather, 4e6, "ring/LL", 10.8 + 4e6 / (141e3 * 8 / 7));
  check(h100, 8, CollectiveOp::AllGather, 5e6, "ring/LL128", 27.3 + 5e6 / (0.92 * 370e3 * 8 / 7));
  // Four of the node: four channels of 60 are 4·60·0.85·3/4·2 = 306 GB/s of bus, less than the ring's 370.
  check(h100, 4, CollectiveOp::AllReduce, 1e9, "ring/Simple", 8.4 + 6 * 3.4 + 1e9 / (370e3 * 4 / 6));
}

TEST_CASE("without NVLS, a ring; PCIe has no LL128") {
  Network setup = network(NcclSetup::Gpu::Hopper);
  setup.nccl->nvls = false;
  check(setup, 8, CollectiveOp::AllReduce, 1e9, "ring/Simple", 8.4 + 14 * 3.4 + 1e9 / (370e3 * 8 / 14));
  check(network(NcclSetup::Gpu::Ampere), 8, CollectiveOp::AllReduce, 1e9, "ring/Simple", 56 + 1e9 / (370e3 * 8 / 14));
  Network pcie = network(NcclSetup::Gpu::Volta, 1, 4);
  pcie.nccl->pcie = true;
  pcie.node->beta = 1 / 12e9;
  for (double bytes = 64; bytes < 1e9; bytes *= 2) {
    const NcclPrice price(pcie, 4, CollectiveOp::AllReduce);
    CHECK(price.choice(bytes).protocol != "LL128");
  }
  check(pcie, 4, CollectiveOp::AllReduce, 1e9, "ring/Simple", 8.4 + 6 * 5.7 + 1e9 / (12e3 * 4 / 6));
}

TEST_CASE("64 A100 of 8 nodes") {
  const Network a100 = network(NcclSetup::Gpu::Ampere);
  // A tree, LL: 6.8 + 2·(7·0.6 + 3·5) = 45.2 us; t = min(0.92·370, 8·17.8) = 142.4 GB/s, LL min(t/3.8, 20.4) = 20.4;
  // 1 kB at index 4, 0.9, and half.
  check(a100, 64, CollectiveOp::AllReduce, 1024, "tree/LL", 45.2 + 1024 / (20.4e3 * 0.9 / 2));
  // Index 0 is 64 B, each doubling one more.
  double bytes = 64;
  for (const double factor : {1., 1., 1., 1., .9, .8, .7, .7, .7, .7, .6}) {
    check(a100, 64, CollectiveOp::AllReduce, bytes, "tree/LL", 45.2 + bytes / (20.4e3 * factor / 2));
    bytes *= 2;
  }
  // A ring, Simple, at 4 GB: (8.4 + (126 − 14)·3.4 + 14·14)·1.4 us, 370·64/126 GB/s. A NIC's 3 us is less than 3.4.
  check(a100, 64, CollectiveOp::AllReduce, 4e9, "ring/Simple",
        (8.4 + 112 * 3.4 + 14 * 14) * 1.4 + 4e9 / (370e3 * 64 / 126));
  // AMD: 6 us a step.
  Network amd = a100;
  amd.nccl->amd = true;
  check(amd, 64, CollectiveOp::AllReduce, 4e9, "ring/Simple",
        (8.4 + 112 * 6 + 14 * 14) * 1.4 + 4e9 / (370e3 * 64 / 126));
  // One port: the bus is 50 GB/s. A start-up of 1 us comes twice for each of Simple's messages between nodes.
  Network one = network(NcclSetup::Gpu::Ampere, 1);
  one.alpha = 1e-6;
  check(one, 64, CollectiveOp::AllReduce, 40e9, "ring/Simple",
        (8.4 + 112 * 3.4 + 14 * 16) * 1.4 + 40e9 / (50e3 * 64 / 126));
  // 12 workers on two nodes: N = 2, six a node. Reduce-scatters have no factor 1.4.
  check(a100, 12, CollectiveOp::ReduceScatter, 4e9, "ring/Simple", 8.4 + 10 * 3.4 + 14 + 4e9 / (370e3 * 12 / 11));
}

TEST_CASE("trees between two nodes send half as much as a ring; between more, a fraction of NCCL's estimate") {
  // 16 H100: LL's tree at 1 kB: 6.8 + 2·(7·0.6 + 5) us; min(min(0.92·370, 8·41.4)/3.8, 39)·0.9 GB/s, not halved.
  Network h100 = network(NcclSetup::Gpu::Hopper);
  check(h100, 16, CollectiveOp::AllReduce, 1024, "tree/LL", 25.2 + 1024 / (39e3 * 0.9));
  // Simple: 8.4 + 2·(7·4 + 14) us; 0.92·370 = 340 GB/s but at most half of the bandwidth inside a node.
  check(h100, 16, CollectiveOp::AllReduce, 4e9, "ring/Simple",
        (8.4 + 28 * 3.4 + 2 * 14) * 1.4 + 4e9 / (370e3 * 16 / 30));
  h100.nccl->two_node_tree = false;
  check(h100, 16, CollectiveOp::AllReduce, 1024, "tree/LL", 25.2 + 1024 / (39e3 * 0.9 / 2));
  // On two nodes no part is taken but LL's; on four both: tree, LL: 6.8 + 2·(7·0.6 + 2·5), min(331/3.8, 20.4)·0.9/2.
  h100.nccl->network.tree = 0.5;
  h100.nccl->network.ll = 0.25;
  check(h100, 16, CollectiveOp::AllReduce, 1024, "tree/LL", 25.2 + 1024 / (39e3 * 0.9 / 2 * 0.25));
  check(h100, 32, CollectiveOp::AllReduce, 1024, "tree/LL", 35.2 + 1024 / (20.4e3 * 0.9 / 2 * 0.25));
  // Inside a node nothing of it counts.
  check(h100, 8, CollectiveOp::AllReduce, 1024, "ring/LL", 15 + 1024 / (141e3 * 8 / 14));
}

TEST_CASE("a GPU a node has the trees' latency between nodes") {
  // Four nodes: ring, LL: 6.6 + 6·5 us; tree: 6.8 + 2·2·5 = 26.8 us, bus min(0.92·50/3.8, …)·0.85·0.9/2.
  check(network(NcclSetup::Gpu::Volta, 1, 1), 4, CollectiveOp::AllReduce, 1024, "tree/LL",
        26.8 + 1024 / (10e3 / 3.8 * 0.85 * 0.9 / 2));  // t = min(46, 1·10)
}

TEST_CASE("a broadcast goes down a ring") {
  // In a node base and one hop, between nodes base and a hop of the net for each rank; all of the bus, no overheads:
  // 370 GB/s inside, less than eight ports of 50.
  const Network a100 = network(NcclSetup::Gpu::Ampere);
  check(a100, 8, CollectiveOp::Broadcast, 1e9, "ring/Simple", 8.4 + 3.4 + 1e9 / 370e3);
  check(a100, 64, CollectiveOp::Broadcast, 40e9, "ring/Simple", 8.4 + 64 * 14 + 40e9 / 370e3);
  check(a100, 64, CollectiveOp::Broadcast, 8, "ring/LL", 6.6 + 64 * 2.7 + 8 / 20.4e3);
  // A rendezvous at each of the seven hops to another node.
  Network waits = a100;
  waits.nccl->rendezvous = NcclRendezvous{2048, 10e-6};
  check(waits, 64, CollectiveOp::Broadcast, 40e9, "ring/Simple", 8.4 + 64 * 14 + 7 * 10 + 40e9 / 370e3);
}

TEST_CASE("PAT gathers and scatters among nodes of one GPU") {
  // Ten nodes: 8 + 10 · 2.8 us and three messages of (14 + 2 · 1) / 3.5; 0.75 of 50 GB/s. A ring in LL, the best of the
  // others, would take 6.6 + 9 · (5 + 1) = 60.6 us and more.
  Network one = network(NcclSetup::Gpu::Volta, 1, 1);
  one.alpha = 1e-6;
  check(one, 10, CollectiveOp::AllGather, 1024, "ring/LL", 60.6 + 1024 / (20.4e3 * 10 / 9));
  one.nccl->pat = true;
  const double latency = 8 + 28 + 3 * 16 / 3.5;
  check(one, 10, CollectiveOp::AllGather, 1024, "pat/Simple", latency + 1024 / 37.5e3);
  check(one, 10, CollectiveOp::ReduceScatter, 1024, "pat/Simple", latency + 1024 / 37.5e3);
  one.nccl->rendezvous = NcclRendezvous{512, 2e-6};
  check(one, 10, CollectiveOp::AllGather, 1024, "pat/Simple", latency + 3 * 2 + 1024 / 37.5e3);
  CHECK(NcclPrice(one, 10, CollectiveOp::AllReduce).choice(1024).algorithm != "pat");
  // Two nodes are the fewest; a ring is faster there at any size, but PAT is priced.
  CHECK(NcclPrice(one, 2, CollectiveOp::AllGather).algorithms() == std::vector<std::string_view>{"ring", "pat"});
  Network four = network(NcclSetup::Gpu::Volta, 4, 4);
  four.nccl->pat = true;
  CHECK(NcclPrice(four, 16, CollectiveOp::AllGather).choice(1024).algorithm == "ring");
}

TEST_CASE("without a node, hosts of the topology are the levels") {
  Network drawn = network(NcclSetup::Gpu::Ampere);
  drawn.node.reset();
  drawn.topology = TopologySpec{.kind = TopologyKind::Star, .link = {1e-6, 50e9}};
  drawn.topology->gpus_per_host = 8;
  drawn.topology->inner = {1e-6, 370e9};
  drawn.topology->nics = 8;
  const Network named = network(NcclSetup::Gpu::Ampere);
  for (const double bytes : {1e3, 1e6, 1e9})
    CHECK(NcclPrice(nccl_levels(drawn), 64, CollectiveOp::AllReduce).seconds(bytes) ==
          NcclPrice(named, 64, CollectiveOp::AllReduce).seconds(bytes));
}

TEST_CASE("factors scale a level's bandwidth and latency") {
  Network a100 = network(NcclSetup::Gpu::Ampere);
  a100.nccl->node = {0.5, 2};
  check(a100, 8, CollectiveOp::AllReduce, 1e9, "ring/Simple", 112 + 1e9 / (185e3 * 8 / 14));
  a100.nccl->node = {1, 2};
  a100.nccl->network = {{0.25, 3}};  // 100 GB/s of 8 ports
  check(a100, 64, CollectiveOp::AllReduce, 40e9, "ring/Simple",
        (2 * (8.4 + 112 * 3.4) + 3 * 14 * 14) * 1.4 + 40e9 / (100e3 * 64 / 126));
}

TEST_CASE("a start-up of the network's own is in every message between nodes, in Simple twice") {
  Network slow = network(NcclSetup::Gpu::Ampere);
  slow.alpha = 1e-6;
  const auto start_ups = [](const Network& on) {
    std::map<std::pair<std::string_view, std::string_view>, double> us;
    for (const NcclChoice& one : NcclPrice(nccl_levels(on), 64, CollectiveOp::AllReduce).choices(4e9))
      us[{one.algorithm, one.protocol}] = one.start_up * 1e6;
    return us;
  };
  auto more = start_ups(slow);
  for (const auto& [choice, us] : start_ups(network(NcclSetup::Gpu::Ampere))) more[choice] -= us;
  REQUIRE(more.size() == 6);
  // Eight nodes: a ring passes between two of them 2·7 times, a tree up and down 2·log2(8) times.
  CHECK(more[{"ring", "LL"}] == Approx(14));
  CHECK(more[{"ring", "LL128"}] == Approx(14));
  CHECK(more[{"ring", "Simple"}] == Approx(1.4 * 28));
  CHECK(more[{"tree", "LL"}] == Approx(6));
  CHECK(more[{"tree", "LL128"}] == Approx(6));
  CHECK(more[{"tree", "Simple"}] == Approx(12));
}

TEST_CASE("a cost that is neither a line nor a table") {
  const Network h100 = network(NcclSetup::Gpu::Hopper);
  const OpCosts costs = price_ops(h100, find_algorithm("nccl", {}), 8, 8, {});
  CHECK(costs.all_reduce(0) == Time(0));
  CHECK(to_seconds(costs.all_reduce(1'000'000'000)) == Approx(3.7014706e-3));
  CHECK(to_seconds(costs.all_reduce.transfer(1'000'000'000)) == Approx(1 / 272.0));
  CHECK(price(h100, find_algorithm("nccl", {}), 1, 8, {})(1000) == Time(0));
  // Cut into any number of equal blocks, whose start-ups overlap: no less than least().
  for (const std::int64_t workers : {2, 8, 16, 64})
    for (const Bytes bytes : {Bytes(1) << 10, Bytes(1) << 20, Bytes(1) << 30}) {
      const CommCost cost = price(h100, find_algorithm("nccl", {}), workers, 8, {});
      for (const Bytes blocks : {1, 2, 7, 64, 1024}) {
        const Bytes one = bytes / blocks;
        const double together =
            to_seconds(cost(one)) + static_cast<double>(blocks - 1) * to_seconds(cost.transfer(one));
        CHECK(together * (1 + 1e-3) >= to_seconds(cost.least(bytes)));  // the last bytes of a division are not sent
      }
    }
}

TEST_CASE("trees reach their full bandwidth at the end of the table of sizes, and beyond it, but for Simple") {
  // The table ends with sizes from 64 B · 2^22 on: 1 for LL and LL128, 0.9 for Simple.
  const NcclPrice price(nccl_levels(network(NcclSetup::Gpu::Ampere)), 64, CollectiveOp::AllReduce);
  const auto trees = [&](double bytes) {
    std::map<std::string_view, double> bandwidths;
    for (const NcclChoice& one : price.choices(bytes))
      if (one.algorithm == "tree") bandwidths[one.protocol] = one.bandwidth;
    return bandwidths;
  };
  auto last = trees(64. * (1 << 22)), beyond = trees(64. * (1 << 23));
  REQUIRE((beyond.size() == 3 && last.size() == 3));
  CHECK(last["LL"] == beyond["LL"]);
  CHECK(last["LL128"] == beyond["LL128"]);
  CHECK(last["Simple"] == Approx(0.9 * beyond["Simple"]));
}

TEST_CASE("--protocol leaves one protocol, whose choices cost as much as before") {
  const Network all = network(NcclSetup::Gpu::Hopper);
  for (const auto& [text, name] : {std::pair("ll", "LL"), {"ll128", "LL128"}, {"simple", "Simple"}}) {
    Network one = all;
    change_protocol(one, text, {"command line", "--protocol"});
    for (const std::int64_t workers : {8, 32})
      for (const double bytes : {1e3, 1e6, 1e9}) {
        const NcclPrice any(all, workers, CollectiveOp::AllReduce), only(one, workers, CollectiveOp::AllReduce);
        double least = 1e9;
        for (const NcclChoice& choice : any.choices(bytes))
          if (choice.protocol == name) least = std::min(least, choice.start_up + bytes / choice.bandwidth);
        CHECK(only.choice(bytes).protocol == name);
        CHECK(only.seconds(bytes) == least);
      }
  }
}

TEST_CASE("a protocol that the network does not have is refused") {
  const SourceLocation place{"command line", "--protocol"};
  Network pcie = network(NcclSetup::Gpu::Hopper);
  pcie.nccl->pcie = true;
  Network without = network(NcclSetup::Gpu::Hopper);
  without.nccl.reset();
  CHECK(error_place([&] { change_protocol(pcie, "ll128", place); }) == "command line: --protocol");
  CHECK(error_place([&] { change_protocol(without, "simple", place); }) == "command line: --protocol");
  CHECK(error_place([&] { change_protocol(pcie, "fast", place); }) == "command line: --protocol");
}
