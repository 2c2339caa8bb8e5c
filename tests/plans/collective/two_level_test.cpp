#include "sim/plans/collective/two_level.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;

namespace {

// Inside α = 1 us, β = 1 ns/B; a port α = 10 us, β = 8 ns/B.
TwoLevels levels(std::int64_t rails) { return {1e-6, 1e-9, 10e-6, 8e-9, rails}; }

TransferCost transfer(std::string_view name, const NodeLayout& layout, std::int64_t rails) {
  return two_level_transfer(find_algorithm(name, {}), layout, levels(rails),
                            {.tree_bandwidth = TreeBandwidth::Physical}, {"c.json", "/network/node"});
}

void check(std::string_view name, const NodeLayout& layout, std::int64_t rails, double a_us, double b_ns) {
  INFO(name);
  const TransferCost cost = transfer(name, layout, rails);
  CHECK(cost.a * 1e6 == Approx(a_us));
  CHECK(cost.b * 1e9 == Approx(b_ns));
}

Network network(std::int64_t node, std::int64_t rails) {
  Network result;
  result.place = {"c.json", "/network"};
  result.alpha = 10e-6;
  result.beta = 8e-9;
  result.gamma = 0.5e-9;
  result.node = NodeLevel{node, 1e-6, 1e-9, rails, result.place / "node"};
  return result;
}

}  // namespace

TEST_CASE("16 workers in 4 nodes of 4 with 2 ports each") {
  // N = 16, n = 4, g = 4, r = 2: h = 2, β_x = max(1, 2·8) = 16, log g = log n = 2.
  const NodeLayout layout = layout_of(16, 4);
  check("ring", layout, 2, 2 * 12 + 2 * 3 * 10, 2 * 15.0 / 16 * 4);       // max(1, 8/2)
  check("hierarchical", layout, 2, 2 * 3 + 60, 1.5 + 2 * 3 / 16.0 * 16);  // 2·3/4·1
  check("halving-doubling", layout, 2, 2 * 2 + 2 * 2 * 10, 1.5 + 6);      //
  check("recursive-doubling", layout, 2, 2 + 20, 2 + 2 * 16);             //
  check("parameter-server", layout, 2, 20, 2 * 12 / 16.0 * 16);           // outside: 12/16·2·8
  check("all-gather", layout, 2, 22, 3 + 12 * 16);                        //
  check("topk-allgather", layout, 2, 22, 3 + 12 * 16);                    //
  check("binary-tree", layout, 2, 44, 4 + 4 * 8);                         // max(1, 8)
  check("gtopk-tree", layout, 2, 44, 4 + 4 * 8);                          //
  check("double-binary-tree", layout, 2, 2 * 3 + 40, 2 * 4);              // max(1, 8/2)
  check("reduce-scatter", layout, 2, (24 + 60) / 2.0, 15.0 / 16 * 4);     // half of the ring
  check("broadcast", layout, 2, 22, 18);                                  // half of the tree
}

TEST_CASE("a node of one port, and of a port for each") {
  const NodeLayout layout = layout_of(16, 4);
  check("hierarchical", layout, 1, 66, 1.5 + 6 / 16.0 * 32);  // h = 4
  check("hierarchical", layout, 4, 66, 1.5 + 6 / 16.0 * 8);   // h = 1
  check("hierarchical", layout, 3, 66, 1.5 + 6 / 16.0 * 16);  // h = ⌈4/3⌉ = 2
  check("ring", layout, 4, 84, 2 * 15.0 / 16 * 2);
}

TEST_CASE("a last node that is not full") {
  // N = 10 in nodes of 4: n = 3, q = 2.
  const NodeLayout layout = layout_of(10, 4);
  CHECK((layout.nodes == 3 && layout.per_node == 4 && layout.last == 2));
  check("ring", layout, 4, 2 * 7 + 2 * 2 * 10, 2 * 9.0 / 10 * 4);  // ⌈4/min(4, 2)⌉/4·8
  check("ring", layout, 3, 54, 2 * 9.0 / 10 * 8 * 2 / 3);          // ⌈3/2⌉/3·8
  // 4 ports: inside 0.9, outside 6/10·1·8 = 4.8, the last 8/10·⌈2/4⌉·8 = 6.4.
  check("parameter-server", layout, 4, 20, 12.8);
  check("parameter-server", layout, 1, 20, 2 * 6 / 10.0 * 32);  // outside 6/10·4·8 = 19.2; the last 8/10·2·8 = 12.8
  check("recursive-doubling", layout, 2, 2 + 10 * std::log2(3), 2 + 16 * std::log2(3));
  check("all-gather", layout, 2, 2 + 10 * std::log2(3), 3 + 6 * 16);
  for (const auto* const name : {"hierarchical", "halving-doubling"})
    CHECK(error_place([&] { transfer(name, layout, 2); }) == "c.json: /network/node");
}

TEST_CASE("groups of workers that share nodes") {
  // 4 nodes of 8 with 4 ports, 4 groups at a time with 2 workers in each node: N' = 8, h = ⌈4·2/4⌉ = 2.
  const NodeLayout shared{8, 4, 2, 2, 4};
  check("ring", shared, 4, 2 * 4 + 60, 2 * 7.0 / 8 * 8);           // c·β/r = 4·8/4
  check("hierarchical", shared, 4, 2 + 60, 1 + 2 * 3 / 8.0 * 16);  // 2·1/2·1 + 2·3/8·2·8
  check("binary-tree", shared, 4, 2 + 40, 2 + 4 * 8);              // ⌈4/4⌉·8
  check("binary-tree", shared, 3, 2 + 40, 2 + 4 * 16);             // ⌈4/3⌉·8
  check("double-binary-tree", shared, 4, 2 + 40, 2 * 8);
  // One worker a node: one level, ⌈8/4⌉·8 = 16 ns/B.
  check("ring", {4, 4, 1, 1, 8}, 4, 60, 2 * 3 / 4.0 * 16);
}

TEST_CASE("one node, and one worker a node, are one level") {
  check("ring", layout_of(4, 8), 8, 6, 1.5);
  check("ring", layout_of(8, 1), 1, 140, 14.0);  // 2·7/8·8
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.coefficients || algorithm.in_switches) continue;
    INFO(algorithm.name);
    const CollectiveOptions options{.servers = 2};
    Network inside = network(8, 2), outside = network(1, 1), in, out;
    in.alpha = 1e-6, in.beta = 1e-9, in.gamma = 0.5e-9;
    out.alpha = 10e-6, out.beta = 8e-9, out.gamma = 0.5e-9;
    for (const Bytes bytes : {1, 1000, 1'000'000}) {
      CHECK(price(inside, algorithm, 8, 8, options)(bytes) == price(in, algorithm, 8, 8, options)(bytes));
      CHECK(price(outside, algorithm, 8, 8, options)(bytes) == price(out, algorithm, 8, 8, options)(bytes));
    }
  }
}

TEST_CASE("reduction comes on top, and the halves are halves") {
  // The ring of 16 in nodes of 4 with 2 ports: 84 us, 7.5 ns/B, and 15/16·0.5 ns/B of reduction.
  const OpCosts costs = price_ops(network(4, 2), find_algorithm("ring", {}), 16, 16, {});
  CHECK(to_seconds(costs.all_reduce(1000)) * 1e6 == Approx(84 + 7.5 + 0.46875));
  CHECK(to_seconds(costs.reduce_scatter(1000)) * 1e6 == Approx(42 + 3.75 + 0.46875));
  CHECK(to_seconds(costs.all_gather(1000)) * 1e6 == Approx(42 + 3.75));
}

TEST_CASE("settings without a closed form on two levels are refused") {
  const auto complaint = [](std::string_view name, const CollectiveOptions& options) {
    return error_place([&] { price(network(4, 2), find_algorithm(name, {}), 16, 16, options); });
  };
  CHECK(complaint("bml", {}) == "c.json: /network/node");
  CHECK(complaint("parameter-server", {.servers = 4}) == "c.json: /network/node");
  CHECK(complaint("double-binary-tree", {.tree_bandwidth = TreeBandwidth::Paper}) == "c.json: /network/node");
  CHECK(complaint("nccl", {}) == "c.json: /network");
}

TEST_CASE("a measurement inside one node is not used between nodes; one over several nodes is, with a note") {
  Network measured = network(8, 1);
  measured.alpha.reset();
  measured.beta.reset();
  const Algorithm& ring = find_algorithm("ring", {});
  measured.measured = MeasuredCost{"ring", 4, 60e-6, 1e-9, 0, measured.place / "measured"};
  CHECK(to_seconds(price(measured, ring, 4, 4, {})(1'000'000)) == Approx(1.06e-3));
  CHECK(to_seconds(price(measured, ring, 2, 4, {})(1'000'000)) == Approx(20e-6 + 1e-3 / 1.5));  // 2·α, β
  CHECK(implausible(measured, ring, 2, {}).empty());
  CHECK(error_place([&] { price(measured, ring, 8, 4, {}); }) == "c.json: /network/measured");
  measured.measured->workers = 16;
  CHECK(implausible(measured, ring, 16, {}).empty());
  CHECK(implausible(measured, ring, 64, {}) == "measured on 2 nodes, extrapolated to 8");
}

TEST_CASE("tables by number of workers are linear in its logarithm") {
  Network tables;
  tables.place = {"c.json", "/network"};
  tables.tables = {{4, {{1000, 10e-6}, {3000, 30e-6}}}, {16, {{1000, 20e-6}, {2000, 60e-6}}}};
  const Algorithm& ring = find_algorithm("ring", {});
  const auto us = [&](std::int64_t workers, Bytes bytes) {
    return to_seconds(price(tables, ring, workers, 99, {})(bytes)) * 1e6;
  };
  CHECK(us(4, 2000) == Approx(20));
  CHECK(us(16, 500) == Approx(20));
  CHECK(us(8, 1000) == Approx(15));   // log 8 is halfway from log 4 to log 16
  CHECK(us(8, 2000) == Approx(40));   // 20 and 60
  CHECK(us(8, 4000) == Approx(90));   // 40 and 140, by the last slopes
  CHECK(us(32, 1000) == Approx(25));  // half as much again, and it is said
  CHECK(implausible(tables, ring, 16, {}).empty());
  CHECK_FALSE(implausible(tables, ring, 8, {}).empty());
  CHECK_FALSE(implausible(tables, ring, 32, {}).empty());
  // Times that fall with more workers stay as they are beyond the last number: 3000 B take 40 us among 4, and 10 among
  // 16; those of 1000 B grow.
  Network falling = tables;
  falling.tables = {{4, {{1000, 10e-6}, {3000, 40e-6}}}, {16, {{1000, 12e-6}, {3000, 10e-6}}}};
  const auto falling_us = [&](std::int64_t workers, Bytes bytes) {
    return to_seconds(price(falling, ring, workers, 99, {})(bytes)) * 1e6;
  };
  CHECK(falling_us(8, 3000) == Approx(25));
  CHECK(falling_us(64, 3000) == Approx(10));  // the line would be at −20
  CHECK(falling_us(4096, 3000) == Approx(10));
  CHECK(falling_us(64, 1000) == Approx(14));
  // At 2 workers 3000 B would take 30 − (100 − 30)/2 us.
  CHECK(error_place([&] { us(2, 1000); }) == "c.json: /network/tables");
  CHECK(error_place([&] { price(tables, find_algorithm("hierarchical", {}), 8, 8, {}); }) == "c.json: /network/tables");
  tables.node = NodeLevel{.workers = 16, .place = tables.place / "node"};
  CHECK(error_place([&] { us(32, 1000); }) == "c.json: /network/tables");
}

TEST_CASE("groups of workers may lie in nodes in any way") {
  const auto check_layout = [](const NodeLayout& layout, std::int64_t nodes, std::int64_t per_node,
                               std::int64_t sharing) {
    CHECK(layout.nodes == nodes);
    CHECK(layout.per_node == per_node);
    CHECK(layout.sharing == sharing);
  };
  check_layout(layout_of(Group{2, 1, 8}, 4, {}), 1, 2, 1);  // two pairs in every node: no message leaves it
  check_layout(layout_of(Group{8, 1, 2}, 4, {}), 2, 4, 1);  // a group fills two nodes
  check_layout(layout_of(Group{2, 8, 8}, 4, {}), 2, 1, 4);  // equal places of those: four groups leave each node
  check_layout(layout_of(Group{8, 2, 2}, 4, {}), 4, 2, 2);  // equal places of the pairs
  check_layout(layout_of(Group{6, 1, 2}, 4, {}), 2, 4, 2);  // both groups leave the node in the middle
  CHECK_THROWS_AS(layout_of(Group{5, 1, 2}, 4, {}), InputError);
}

TEST_CASE("a group inside a node and one across nodes have the channels and prices of their levels") {
  const auto price = [&](const Group& group) {
    return price_call(network(4, 4), {CollectiveOp::AllReduce, group, &find_algorithm("ring", {})}, 16, 16, {});
  };
  const CallCost shard = price(consecutive(4)), replica = price(equal_place_group(4));
  CHECK(shard.channels == channel_inside);
  CHECK(replica.channels == channel_outside);
  // Four in a node: 6 messages of 1 us, (1.5·1 + 0.75·0.5) ns/B.
  CHECK(to_seconds(shard.cost(1'000'000)) == Approx(6e-6 + 1.875e-3));
  // Four across nodes, a port each: 6 of 10 us, (1.5·8 + 0.75·0.5) ns/B of a quarter of the bytes.
  CHECK(to_seconds(replica.cost(250'000)) == Approx(60e-6 + 12.375e-3 / 4));
}

TEST_CASE("a ring among each of several groups stays in its group") {
  const Rounds rounds = among_groups(ring_rounds(2, 1, CollectiveOp::AllGather), 8, 2);  // {0,2} {1,3} {4,6} {5,7}
  CHECK(rounds.ranks == 8);
  for (Rank rank = 0; rank < 8; ++rank) {
    std::vector<Send> sends;
    rounds.rounds.front().sends(rank, 0, sends);
    REQUIRE(sends.size() == 1);
    CHECK(sends.front().to == (rank ^ 2U));
  }
}
