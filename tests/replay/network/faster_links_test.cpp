// The law of faster links: no link that gets faster makes a collective slower (docs/network.md).
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/plans/collective/nccl.hpp"

using namespace allreplay;

namespace {

struct LinkedFabric {
  std::string topology;  // as in a file
  std::int64_t workers;
};

std::string of_kind(std::string_view kind, std::string_view rest = "") {
  return fmt::format(R"({{"kind": "{}", "link": {{"latency": "1 us", "bandwidth": "25 GB/s"}}{}{}}})", kind,
                     rest.empty() ? "" : ", ", rest);
}

std::vector<LinkedFabric> fabrics_of_links() {
  const std::string hosts = R"("gpus_per_host": 4, "inner": {"latency": "0.5 us", "bandwidth": "100 GB/s"})";
  const std::string leaves = R"("leaves": 2, "hosts_per_leaf": 2, "spines": 2, "oversubscription": 8)";
  return {{of_kind("star"), 8},
          {of_kind("ring"), 8},
          {of_kind("torus", R"("dimensions": [2, 4])"), 8},
          {of_kind("double-binary-tree"), 8},
          {of_kind("fat-tree", R"("ports": 4, "oversubscription": 4)"), 16},
          {of_kind("leaf-spine", R"("leaves": 4, "hosts_per_leaf": 2, "spines": 2, "oversubscription": 2)"), 8},
          {of_kind("bcube", R"("n": 2, "k": 3)"), 8},
          {of_kind("rail", hosts + R"(, "rails": 2)"), 16},
          {of_kind("rail", hosts + R"(, "rails": 4, "pxn": false, "oversubscription": 4)"), 16},
          {of_kind("star", hosts), 16},
          {of_kind("star", hosts + R"(, "nics": 4, "planes": 4)"), 8},
          {of_kind("leaf-spine", hosts + R"(, "nics": 4, )" + leaves), 16},
          {of_kind("leaf-spine", hosts + R"(, "nics": 2, "routing": "adaptive", )" + leaves), 16},
          {of_kind("fat-tree", hosts + R"(, "nics": 4, "ports": 2, "oversubscription": 4)"), 8},
          {R"({"kind": "graph", "hosts": ["a", "b", "c", "d"], "switches": ["s", "t"],
               "link": {"latency": "1 us", "bandwidth": "25 GB/s"},
               "links": [{"between": ["a", "s"]}, {"between": ["b", "s"]}, {"between": ["c", "t"]},
                         {"between": ["d", "t"]}, {"between": ["s", "t"]}]})",
           4}};
}

struct NamedCollective {
  std::string name;
  CollectiveOp op = CollectiveOp::AllReduce;
};

const std::vector<NamedCollective> timed_collectives = {{"ring"},
                                                        {"hierarchical"},
                                                        {"halving-doubling"},
                                                        {"binary-tree"},
                                                        {"parameter-server"},
                                                        {"double-binary-tree"},
                                                        {"all-to-all", CollectiveOp::AllToAll},
                                                        {"nccl"},
                                                        {"nccl", CollectiveOp::AllGather},
                                                        {"nccl", CollectiveOp::Broadcast}};

// A collective on the network it is laid out for. NCCL's levels are those of the topology, whose links its model uses.
struct LaidCollective {
  LaidCollective(const TopologySpec& spec, const NamedCollective& collective, std::int64_t workers, Fidelity fidelity) {
    Network network;
    network.alpha = 0;
    network.topology = spec;
    network.nccl = NcclSetup{.gpu = NcclSetup::Gpu::Hopper};
    NetworkSetup setup{.fidelity = fidelity, .workers = workers, .alpha = collective.name == "nccl" ? 0 : 5e-6};
    setup.place = {"test", ""};
    op = collective.op;
    setup.calls = {{op, everybody(), &find_algorithm(collective.name, {})}};
    const auto topology = make_topology(spec, workers);
    if (topology->group_size() == topology->gpus_per_host()) setup.levels.node_workers = topology->gpus_per_host();
    setup.rails = spec.ports_of_host();
    setup.options.groups = hierarchy_groups(workers, 1, topology->group_size());
    setup.nccl = std::make_shared<Network>(nccl_levels(network));
    fabric = lay_on(setup, *topology);
    levels = *setup.nccl;
  }

  std::shared_ptr<const RoundsFabric> fabric;
  Network levels;
  CollectiveOp op = CollectiveOp::AllReduce;
};

// A few ways to make links faster: all inside hosts, all of the network, the latencies of both, one of the cables.
std::vector<TopologySpec> made_faster(const TopologySpec& spec, std::int64_t workers, Random& random) {
  std::vector<TopologySpec> result;
  for (const double factor : {1.5, 20.0}) {
    TopologySpec one = spec;
    one.inner.bandwidth *= factor;
    if (spec.gpus_per_host > 1) result.push_back(one);
    one = spec;
    one.link.bandwidth *= factor;
    for (GraphLink& link : one.graph_links) link.link.bandwidth *= factor;
    result.push_back(one);
    one = spec;
    one.link.latency /= factor;
    one.inner.latency /= factor;
    result.push_back(one);
    const auto topology = make_topology(spec, workers);
    const auto link = static_cast<LinkId>(2 * random.below(topology->links().size() / 2));
    if (spec.kind == TopologyKind::Graph) continue;  // its links are its own
    one = spec;
    one.changes.push_back({topology->name(topology->port(link)),
                           topology->name(topology->port(link ^ 1U)),
                           {},
                           topology->links()[link].bandwidth * factor,
                           false,
                           {}});
    result.push_back(one);
  }
  return result;
}

// Bytes after which NCCL's tuner, which knows no topology, takes another choice: it may be worse there.
bool chooses_alike(const LaidCollective& one, const LaidCollective& other, std::int64_t workers, double bytes) {
  const NcclChoice a = NcclPrice(one.levels, workers, one.op).choice(bytes),
                   b = NcclPrice(other.levels, workers, other.op).choice(bytes);
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

// In `message` what comes earlier meets others: several rings, chunks of trees, NCCL's of both. Where GPUs limit NCCL
// its bytes are stretched by their sum over rounds, and not by how they overlap with start-ups.
double may_lose(const NamedCollective& collective, Fidelity fidelity) {
  const bool streams =
      collective.name == "ring" || collective.name == "double-binary-tree" || collective.name == "nccl";
  return fidelity == Fidelity::Message && streams ? 0.05 : 1e-9;
}

}  // namespace

TEST_CASE("no link that gets faster makes a collective slower") {
  Random random(1, 0);
  for (const auto& [text, workers] : fabrics_of_links()) {
    const TopologySpec spec = spec_of(text);
    const auto others = made_faster(spec, workers, random);
    for (const NamedCollective& collective : timed_collectives)
      for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
        if (fidelity == Fidelity::Message && spec.routing.kind == Routing::Kind::Adaptive) continue;
        const LaidCollective before(spec, collective, workers, fidelity);
        for (const TopologySpec& other : others) {
          const LaidCollective after(other, collective, workers, fidelity);
          for (const double bytes : {8.0, 1e5, 1e7, 1e9}) {
            if (collective.name == "nccl" && !chooses_alike(before, after, workers, bytes)) continue;
            INFO(text << ", " << collective.name << " (" << to_string(collective.op) << "), " << to_string(fidelity)
                      << ", " << bytes << " B: link " << other.link.bandwidth << ", inner " << other.inner.bandwidth
                      << ", changed " << (other.changes.empty() ? "" : other.changes[0].a + "-" + other.changes[0].b));
            const double slow = to_seconds(before.fabric->alone(bytes, before.op));
            const double fast = to_seconds(after.fabric->alone(bytes, after.op));
            CHECK(fast <= slow * (1 + may_lose(collective, fidelity)) + 1e-9);
          }
        }
      }
  }
}
