// The load of a round on a topology in closed form, compared with walking every message's route.
#include "sim/replay/network/round_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"

namespace {

RoundTraffic walked(const Rounds& rounds, const Round& round, const Topology& topology, const LevelAlpha& levels) {
  RoundTraffic traffic{.loads = std::vector<double>(topology.links().size(), 0)};
  std::vector<std::int64_t> reduced(rounds.ranks, 0);
  for (Rank rank = 0; rank < rounds.ranks; ++rank) {
    std::vector<Send> sends;
    round.sends(rank, 0, sends);
    for (const Send& send : sends) {
      double latency = levels.beyond(rank, send.to);
      for (const LinkId link : route(topology, rank, send.to)) {
        traffic.loads[link] += static_cast<double>(send.count);
        latency += topology.links()[link].latency;
      }
      traffic.most_latency = std::max(traffic.most_latency, latency);
      traffic.least_latency = std::min(traffic.least_latency, latency);
      if (send.reduce) reduced[send.to] += send.count;
      ++traffic.messages;
    }
  }
  if (rounds.reduction_costs) traffic.most_reduced = *std::max_element(reduced.begin(), reduced.end());
  return traffic;
}

// To the bit. How many of the rounds were a closed form's.
int check_rounds(const Rounds& rounds, const Topology& topology, const LevelAlpha& levels = {}) {
  TrafficCounter counter(rounds, topology, levels);
  int closed = 0;
  for (const Round& round : rounds.rounds) {
    const RoundTraffic& counted = counter.count(round);
    const RoundTraffic expected = walked(rounds, round, topology, levels);
    CHECK(counted.loads == expected.loads);
    CHECK(counted.messages == expected.messages);
    CHECK(counted.most_reduced == expected.most_reduced);
    CHECK(counted.most_latency == expected.most_latency);
    CHECK(counted.least_latency == expected.least_latency);
    if (!round.all_pairs) continue;
    std::vector<std::int64_t> from(static_cast<std::size_t>(topology.hosts()), 0), to = from;
    for (const Rank rank : round.all_pairs->from) from[rank] = 1;
    for (const Rank rank : round.all_pairs->to) to[rank] = 1;
    std::vector<double> loads(topology.links().size(), 0);
    std::vector<HostPair> ends;
    if (topology.count_all(from, to, loads, ends)) {
      CHECK(loads == expected.loads);
      ++closed;
    }
  }
  return closed;
}

// A latency that sums of it round, and other links inside hosts.
std::unique_ptr<Topology> made(const std::string& kind, const std::string& rest, std::int64_t workers) {
  return make_topology(
      spec_of(R"({"kind": ")" + kind + R"(", "link": {"latency": "0.3 us", "bandwidth": "1 GB/s"})" + rest + "}"),
      workers);
}

const std::string inside = R"(, "inner": {"latency": "0.7 us", "bandwidth": "9 GB/s"}, "gpus_per_host": )";

struct Case {
  std::string kind, rest;
  std::int64_t hosts;
  bool closed = true;  // whether it has a closed form for all workers
};

const Case cases[] = {
    {"star", "", 2},
    {"star", "", 13},
    {"star", inside + "4", 12},
    {"ring", "", 2},
    {"ring", "", 3},
    {"ring", "", 12},
    {"ring", "", 13},
    {"ring", inside + "3", 24},
    {"torus", R"(, "dimensions": [2, 3])", 6},
    {"torus", R"(, "dimensions": [4, 1, 5])", 20},
    {"torus", R"(, "dimensions": [3, 2, 4])", 24},
    {"torus", R"(, "dimensions": [6, 5])" + inside + "2", 60},
    {"double-binary-tree", "", 11, false},
    {"fat-tree", R"(, "ports": 4)", 16},
    {"fat-tree", R"(, "ports": 6, "oversubscription": 3)", 54},
    {"fat-tree", R"(, "ports": 4)" + inside + "2", 32},
    {"leaf-spine", R"(, "leaves": 4, "hosts_per_leaf": 4, "spines": 2)", 16},
    {"leaf-spine", R"(, "leaves": 3, "hosts_per_leaf": 5, "spines": 4, "oversubscription": 3)", 15},
    {"leaf-spine", R"(, "leaves": 2, "hosts_per_leaf": 3, "spines": 3)" + inside + "2", 12},
    {"bcube", R"(, "n": 2, "k": 3)", 8},
    {"bcube", R"(, "n": 4, "k": 2)", 16},
    {"bcube", R"(, "n": 3, "k": 2)" + inside + "2", 18},
    {"rail", inside + "4" + R"(, "rails": 1)", 16},
    {"rail", inside + "4" + R"(, "rails": 4)", 16},
    {"rail", inside + "4" + R"(, "rails": 2, "pxn": false)", 20},
    {"rail", inside + "3" + R"(, "rails": 2, "pxn": false, "oversubscription": 2)", 9},
};

}  // namespace

TEST_CASE("parameter servers: loads in closed form are those of every route walked") {
  for (const Case& one : cases)
    for (const std::int64_t workers : {one.hosts, one.hosts - 1, one.hosts / 2 + 1}) {
      if (workers < 2) continue;
      const auto topology = made(one.kind, one.rest, workers);
      for (const std::int64_t servers : {workers, (workers + 1) / 2, std::int64_t{3}, std::int64_t{1}}) {
        if (servers > workers) continue;
        INFO(one.kind << one.rest << ", " << workers << " workers, " << servers << " servers");
        const Rounds rounds = parameter_server_rounds(static_cast<Rank>(workers), servers, CollectiveOp::AllReduce);
        const int closed = check_rounds(rounds, *topology);
        if (workers == one.hosts && servers == workers) CHECK(closed == (one.closed ? 2 : 0));
      }
    }
}

TEST_CASE("parameter servers whose messages cost more between machines") {
  const auto topology = made("rail", inside + "4" + R"(, "rails": 2, "pxn": false)", 16);
  for (const LevelAlpha& levels : {LevelAlpha{4, 0, 3.1e-6}, LevelAlpha{4, 9e-6, 0}, LevelAlpha{8, 0, 1e-6}})
    check_rounds(parameter_server_rounds(16, 16, CollectiveOp::AllReduce), *topology, levels);
}

TEST_CASE("any hosts send to any others, several on one") {
  Random random(7, 0);
  for (const Case& one : cases) {
    const auto topology = made(one.kind, one.rest, one.hosts);
    const auto hosts = static_cast<std::size_t>(topology->hosts());
    for (int times = 0; times < 20; ++times) {
      std::vector<std::int64_t> from(hosts), to(hosts);
      for (auto* census : {&from, &to})
        for (std::int64_t& count : *census) count = static_cast<std::int64_t>(random.below(4)) - 1;
      for (std::size_t i = 0; i < hosts; ++i) {
        from[i] = std::max<std::int64_t>(from[i], 0);
        to[i] = std::max<std::int64_t>(to[i], 0);
      }
      std::vector<double> loads(topology->links().size(), 0), expected = loads;
      std::vector<HostPair> ends;
      if (!topology->count_all(from, to, loads, ends)) continue;
      // By pairs in one machine, and between two: the most and the least latency.
      std::map<bool, std::pair<double, double>> expected_ends, found;
      const auto meets = [&](auto& extremes, NodeId a, NodeId b) {
        double latency = 0;
        for (const LinkId link : route(*topology, a, b)) latency += topology->links()[link].latency;
        const auto gpus = static_cast<NodeId>(topology->gpus_per_host());
        const auto [place, fresh] = extremes.emplace(a / gpus == b / gpus, std::pair(latency, latency));
        place->second.first = std::max(place->second.first, latency);
        place->second.second = std::min(place->second.second, latency);
      };
      for (NodeId a = 0; a < hosts; ++a)
        for (NodeId b = 0; b < hosts; ++b) {
          if (a == b || from[a] * to[b] == 0) continue;
          for (const LinkId link : route(*topology, a, b)) expected[link] += static_cast<double>(from[a] * to[b]);
          meets(expected_ends, a, b);
        }
      for (const auto& [a, b] : ends) {
        CHECK(from[a] * to[b] > 0);
        meets(found, a, b);
      }
      INFO(one.kind << one.rest);
      CHECK(loads == expected);
      CHECK(found == expected_ends);
    }
  }
}

TEST_CASE("a graph, and links that changed") {
  const std::string graph = R"({"kind": "graph", "hosts": ["a", "b", "c", "d", "e"], "switches": ["s", "t"], "links": [
    {"between": ["a", "s"], "latency": "0.3 us", "bandwidth": "1 GB/s"},
    {"between": ["b", "s"], "latency": "0.1 us", "bandwidth": "1 GB/s"},
    {"between": ["c", "t"], "latency": "0.7 us", "bandwidth": "2 GB/s"},
    {"between": ["d", "t"], "latency": "0.3 us", "bandwidth": "1 GB/s"},
    {"between": ["d", "s"], "latency": "0.3 us", "bandwidth": "1 GB/s"},
    {"between": ["s", "t"], "latency": "0.2 us", "bandwidth": "4 GB/s"},
    {"between": ["e", "d"], "latency": "0.4 us", "bandwidth": "1 GB/s"}]})";
  for (const std::int64_t workers : {5, 4, 2}) {
    const auto topology = make_topology(spec_of(graph), workers);
    CHECK(check_rounds(parameter_server_rounds(static_cast<Rank>(workers), workers, CollectiveOp::AllReduce),
                       *topology) == 2);
  }
  const std::pair<std::string, int> changes[] = {
      {R"({"between": ["h0", "s0"], "bandwidth": "1 MB/s"})", 2},
      {R"({"between": ["h0", "s0"], "latency": "1 ms"})", 0},  // walked: another route is the longest
  };
  for (const auto& [change, closed] : changes) {
    const auto topology = made("star", R"(, "links": [)" + change + "]", 6);
    CHECK(check_rounds(parameter_server_rounds(6, 6, CollectiveOp::AllReduce), *topology) == closed);
  }
  const auto cut = made("torus", R"(, "dimensions": [3, 4], "links": [{"between": ["h0", "h1"], "down": true}])", 12);
  CHECK(check_rounds(parameter_server_rounds(12, 12, CollectiveOp::AllReduce), *cut) == 0);
}

TEST_CASE("routes that are not walked are those that are: runs of links on tori, digits of BCube") {
  for (const Case& one : cases) {
    if (one.kind != "ring" && one.kind != "torus" && one.kind != "bcube") continue;
    const auto topology = made(one.kind, one.rest, one.hosts);
    const auto workers = static_cast<Rank>(one.hosts);
    INFO(one.kind << one.rest);
    check_rounds(ring_rounds(workers, 1, CollectiveOp::AllReduce), *topology);
    check_rounds(binomial_rounds(workers, CollectiveOp::AllReduce), *topology);
    check_rounds(all_gather_rounds(workers), *topology);
    check_rounds(double_binary_tree_rounds(workers, 3, CollectiveOp::AllReduce), *topology, {2, 1e-6, 0});
    if (workers == 16) check_rounds(bml_rounds(4, 2, CollectiveOp::AllReduce), *topology);
  }
}

TEST_CASE("steps of BML, one counted from the other, are those walked") {
  for (const auto& [n, levels] : {std::pair{3, 3}, {5, 2}, {2, 4}, {4, 1}}) {
    const auto workers = static_cast<std::int64_t>(std::lround(std::pow(n, levels)));
    const auto topology = made("bcube", fmt::format(R"(, "n": {}, "k": {})", n, levels), workers);
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather}) {
      INFO(n << "^" << levels << ", stage " << static_cast<int>(op));
      check_rounds(bml_rounds(n, levels, op), *topology);
      check_rounds(bml_rounds(n, levels, op), *topology, {2, 1e-6, 0});
      // n groups of them are others: nothing is said of those.
      for (const Round& round : among_groups(bml_rounds(n, levels, op), static_cast<Rank>(n * workers), 1).rounds)
        CHECK(!round.uniform);
    }
  }
}

TEST_CASE("messages to all ranks are a wall if they outnumber senders and receivers") {
  const auto topology = build("star", 4);
  const auto is_wall = [&](std::map<Rank, std::vector<Rank>> sends) {
    Rounds rounds{.ranks = 4};
    rounds.rounds.push_back({.sends = [sends](Rank from, std::int64_t, std::vector<Send>& out) {
      if (const auto found = sends.find(from); found != sends.end())
        for (const Rank to : found->second) out.push_back({.to = to});
    }});
    return TrafficCounter(rounds, *topology, {}).count(rounds.rounds.front()).wall;
  };
  CHECK(is_wall({{0, {2, 3}}, {1, {2, 3}}}));       // four among two and two
  CHECK(!is_wall({{0, {1, 2, 3}}}));                // each of three receives one
  CHECK(!is_wall({{1, {0}}, {2, {0}}, {3, {0}}}));  // each of three sends one
  CHECK(!is_wall({{0, {2, 3}}, {1, {2}}}));         // not each to each
}
