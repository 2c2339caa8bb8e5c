// Nodes with several ports: the closed forms against the rounds on the rails that they stand for.
#include <bit>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/job.hpp"

using namespace allreplay;

namespace {

struct Shape {
  std::int64_t workers, node, rails;
  double beta_in = 1e-9, beta_out = 8e-9;  // s/B
  double alpha_in = 0, alpha_out = 0;      // s
};

constexpr Bytes bytes = 3'000'000'001;

Scenario on_nodes(const Shape& shape, std::string_view collective) {
  Scenario scenario = scenario_of({}, "wfbp", shape.workers, shape.alpha_out, shape.beta_out);
  scenario.cluster.network.place = {"c.json", "/network"};
  scenario.cluster.network.node =
      NodeLevel{shape.node, shape.alpha_in, shape.beta_in, shape.rails, {"c.json", "/network/node"}};
  scenario.collective = collective;
  return scenario;
}

double closed(const Shape& shape, std::string_view collective, const Call& call = CollectiveOp::AllReduce) {
  const Scenario scenario = on_nodes(shape, collective);
  const CallCost priced = price_call(scenario.cluster.network, {call.op, call.group, &find_algorithm(collective, {})},
                                     shape.workers, shape.workers, {.tree_bandwidth = TreeBandwidth::Physical});
  return to_seconds(priced.cost(bytes));
}

double detailed(std::string_view fidelity, const Shape& shape, std::string_view collective,
                const Call& call = CollectiveOp::AllReduce) {
  Scenario scenario = on_nodes(shape, collective);
  scenario.fidelity = fidelity;
  Job job = job_of(scenario);
  job.setup.calls = {{call.op, call.group, &find_algorithm(collective, {})}};
  return to_seconds(lay_on(job.setup, *job.topology)->alone(bytes, call));
}

bool all_powers_of_two(const Shape& shape) {
  const auto power = [](std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); };
  return power(shape.workers) && power(shape.node);
}

// Their closed forms count log N rounds.
constexpr const char* logarithmic[] = {"halving-doubling", "recursive-doubling", "all-gather", "topk-allgather",
                                       "binary-tree",      "gtopk-tree",         "broadcast"};

// True if the closed form is below what the rounds take (docs/models.md): into a partly empty last node, whose messages
// share fewer ports of the others; and between nodes of one worker in a group each, whose own links inside are slower
// than the ports.
bool is_below(const Shape& shape, std::string_view collective, const Call& call) {
  if (collective == "parameter-server" && shape.workers > shape.node && shape.workers % shape.node != 0) return true;
  return call.group.stride > 1 && call.group.stride % shape.node == 0 && shape.beta_in > shape.beta_out;
}

void require_equal(const Shape& shape, std::string_view collective, const Call& call = CollectiveOp::AllReduce) {
  INFO(collective << " of " << shape.workers << " in nodes of " << shape.node << " with " << shape.rails << " ports: "
                  << to_string(call.op) << " of " << call.group.ranks << " with stride " << call.group.stride);
  const double rounds = detailed("fluid", shape, collective, call), form = closed(shape, collective, call);
  if (is_below(shape, collective, call))
    CHECK(rounds >= form * (1 - 1e-10));
  else
    CHECK(rounds == Approx(form).epsilon(1e-10));
}

}  // namespace

TEST_CASE("closed forms on two levels equal the rounds on rails, without start-ups") {
  std::vector<Shape> shapes;
  for (const auto& [workers, node, rails] : {std::tuple{16, 4, 4},
                                             {16, 4, 2},
                                             {16, 4, 1},
                                             {64, 8, 8},
                                             {32, 8, 4},
                                             {32, 2, 2},
                                             {12, 4, 4},
                                             {24, 6, 3},
                                             {12, 4, 3},
                                             {10, 5, 2},
                                             {8, 8, 8},
                                             {4, 1, 1},
                                             {10, 4, 2},
                                             {13, 4, 4},
                                             {18, 8, 3},
                                             {11, 3, 2},
                                             {9, 4, 3}})
    for (const double inside : {0.1e-9, 1e-9, 20e-9})  // the ports are the bottleneck, or what is inside
      shapes.push_back({workers, node, rails, inside, 8e-9});
  for (const Shape& shape : shapes) {
    for (const char* name : {"ring", "parameter-server", "reduce-scatter"}) require_equal(shape, name);
    if (shape.workers % shape.node == 0) require_equal(shape, "hierarchical");
    if (all_powers_of_two(shape))
      for (const char* name : logarithmic) require_equal(shape, name);
  }
}

TEST_CASE("so are their halves, and those of groups of workers") {
  for (const auto& [workers, node, rails] : {std::tuple{16, 4, 4}, {16, 4, 2}, {64, 8, 8}, {64, 8, 4}, {32, 8, 1}})
    for (const double inside : {0.1e-9, 20e-9}) {
      const Shape shape{workers, node, rails, inside, 8e-9};
      for (const char* name : {"ring", "hierarchical", "halving-doubling", "parameter-server", "binary-tree"})
        for (const CollectiveOp op : {CollectiveOp::ReduceScatter, CollectiveOp::AllGather})
          require_equal(shape, name, op);
      for (const std::int64_t shard : {2, 4, 8, 16})
        for (const Group& group : {consecutive(shard), equal_place_group(shard)}) {
          for (const char* name : {"ring", "parameter-server", "hierarchical"})
            require_equal(shape, name, {CollectiveOp::AllReduce, group});
          for (const char* name : logarithmic) require_equal(shape, name, {CollectiveOp::AllReduce, group});
        }
    }
}

namespace {

// The time of a ring whose every round is as slow as its slowest hop: 2(N − 1) rounds, of which 2(N − n) are
// inside.
double ring_in_lockstep(const Shape& shape, double workers, double node) {
  const double n = workers / node, slower = std::max(shape.alpha_out, shape.alpha_in);
  return closed(shape, "ring") + 2 * (workers - n) * (slower - shape.alpha_in) +
         2 * (n - 1) * (slower - shape.alpha_out);
}

}  // namespace

TEST_CASE("with start-ups, rounds that lie on one level are still the closed form") {
  for (const auto& [workers, node, rails] : {std::tuple{16, 4, 4}, {16, 4, 1}, {64, 8, 4}, {16, 2, 2}})
    for (const double alpha_in : {0.01, 2.0}) {  // below what is outside, and above
      const Shape shape{workers, node, rails, 1e-9, 8e-9, alpha_in, 0.5};
      for (const char* name : {"hierarchical", "parameter-server"}) {
        if (std::string_view(name) == "parameter-server" && alpha_in > shape.alpha_out) continue;  // a round of both
        require_equal(shape, name);
      }
      for (const char* name : logarithmic) require_equal(shape, name);
    }
}

TEST_CASE("rings hide start-ups behind bytes, and go no faster than either, nor slower than in lockstep") {
  for (const auto& [workers, node, rails] : {std::tuple{16, 4, 4}, {16, 4, 1}, {24, 6, 3}, {16, 2, 2}})
    for (const double scale : {1e-3, 0.3, 3.0, 300.0}) {
      INFO(workers << " in nodes of " << node << ", " << scale);
      const Shape bare{workers, node, rails, 1 / 300e9, 1 / 25e9};
      Shape shape = bare;
      shape.alpha_in = 1e-3 * scale, shape.alpha_out = 5e-3 * scale;
      const double all = closed(shape, "ring"), transfer = closed(bare, "ring"), start_up = all - transfer;
      for (const char* fidelity : {"fluid", "message"}) {
        const double time = detailed(fidelity, shape, "ring");
        CHECK(time >= std::max(start_up, transfer) * (1 - 1e-9));
        CHECK(time <= ring_in_lockstep(shape, workers, node) * (1 + 1e-9));
      }
    }
}

TEST_CASE("nodes imply a topology of kind rail, and measurements none") {
  const TopologySpec spec = *topology_of(on_nodes({16, 4, 2}, "ring").cluster.network);
  CHECK(spec.kind == TopologyKind::Rail);
  CHECK((spec.gpus_per_host == 4 && spec.rails == 2 && spec.pxn));
  CHECK((spec.inner.latency == 0 && spec.link.latency == 0));
  CHECK(spec.inner.bandwidth == Approx(1e9));
  CHECK(spec.link.bandwidth == Approx(0.125e9));
  Network measured;
  measured.node = NodeLevel{.workers = 8};
  CHECK(!topology_of(measured));
  Shape wireless{16, 4, 2};
  wireless.beta_out = 0;
  CHECK(error_place([&] { detailed("fluid", wireless, "ring"); }) == "c.json: /network/beta");
}

TEST_CASE("settings that two levels do not support are refused in every fidelity") {
  const auto complaint = [](std::string_view fidelity, const Shape& shape, std::string_view collective) {
    return error_place([&] {
      Scenario scenario = on_nodes(shape, collective);
      scenario.fidelity = fidelity;
      job_of(scenario);
    });
  };
  for (const char* fidelity : {"alpha-beta", "fluid", "message"})
    CHECK_FALSE(complaint(fidelity, {10, 4, 2}, "hierarchical").empty());
}
