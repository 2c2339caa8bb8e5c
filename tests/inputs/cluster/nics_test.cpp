// Hosts with several NICs, on one network or on a plane each.
#include <set>

#include <fmt/format.h>

#include "tests/error_place.hpp"
#include "tests/inputs/cluster/topologies.hpp"

namespace {

// Two GPUs per host, the inner link, and further keys.
std::unique_ptr<Topology> with_nics(std::string_view kind, std::int64_t workers, std::int64_t gpus,
                                    std::string_view rest) {
  return build(kind, workers,
               R"("gpus_per_host": )" + std::to_string(gpus) +
                   R"(, "inner": {"latency": "2 us", "bandwidth": "10 GB/s"}, )" + std::string(rest));
}

std::string way_by_ports(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::string names;
  for (const LinkId link : route(topology, from, to))
    names +=
        (names.empty() ? "" : " ") + topology.name(topology.port(link)) + ">" + topology.name(topology.port(link ^ 1U));
  return names;
}

std::string complaint(std::string_view kind, std::string_view rest) {
  return error_place([&] { spec_of(json_of(kind, rest)); });
}

}  // namespace

TEST_CASE(
    "on one network a host has cables beside each other, and switches are joined by as many times as wide links") {
  const auto one = with_nics("leaf-spine", 8, 2,
                             R"("leaves": 2, "hosts_per_leaf": 2, "spines": 1, "oversubscription": 4, "nics": 2)");
  CHECK(one->hosts() == 8);
  CHECK(one->machines() == 4);
  CHECK(one->switches() == 3);
  CHECK(one->links().size() == 2 * (4 * 2 + 2 + 8));
  // GPU 5 is the second of host 2: NIC 1 at both ends, in both directions.
  CHECK(way(*one, 0, 5) == "h0.gpu0 h0 leaf0 spine0 leaf1 h2 h2.gpu1");
  CHECK(way_by_ports(*one, 0, 5) == "h0.gpu0>h0 h0.nic1>leaf0 leaf0>spine0 spine0>leaf1 leaf1>h2.nic1 h2>h2.gpu1");
  CHECK(way_by_ports(*one, 1, 4) == "h0.gpu1>h0 h0.nic0>leaf0 leaf0>spine0 spine0>leaf1 leaf1>h2.nic0 h2>h2.gpu0");
  CHECK(way(*one, 2, 3) == "h1.gpu0 h1 h1.gpu1");
  // 2 hosts of 2 cables of 1 GB/s leave a leaf by a quarter of that: 1 GB/s.
  for (const Link& link : one->links())
    if (one->name(link.from) == "leaf0" && one->name(link.to) == "spine0") CHECK(link.bandwidth == 1e9);
}

TEST_CASE("a plane for each NIC is a copy of the network") {
  const auto planes = with_nics("fat-tree", 32, 4, R"("ports": 4, "nics": 2, "planes": 2)");
  CHECK(planes->switches() == 2 * 20);
  CHECK(planes->links().size() == 2 * (2 * 48 + 64));
  CHECK(way(*planes, 0, 6) == "h0.gpu0 h0 edge0.p0 h1 h1.gpu2");  // GPU 2 of host 1: NIC 0
  CHECK(way(*planes, 0, 9) == "h0.gpu0 h0 edge0.p1 agg0.p1 edge1.p1 h2 h2.gpu1");
  std::set<std::string> names;
  for (NodeId node = 0; node < planes->nodes(); ++node) CHECK(names.insert(planes->name(node)).second);
  const auto graph =
      make_topology(spec_of(R"({"kind": "graph", "hosts": ["a", "b"], "switches": ["s"], "gpus_per_host": 2,
    "inner": {"latency": "1 us", "bandwidth": "1 GB/s"}, "link": {"latency": "1 us", "bandwidth": "1 GB/s"},
    "links": [{"between": ["a", "s"]}, {"between": ["b", "s"]}], "nics": 2})"),
                    4);
  CHECK(graph->planes() == 2);
  CHECK(way(*graph, 0, 3) == "a.gpu0 a s.p1 b b.gpu1");
  CHECK(way(*with_nics("bcube", 8, 2, R"("n": 2, "k": 2, "nics": 2, "planes": 2)"), 0, 7) ==
        "h0.gpu0 h0 s1.0.p1 h2 s0.1.p1 h3 h3.gpu1");
}

TEST_CASE("a star with a plane for each NIC is kind rail with PXN") {
  const auto planes = with_nics("star", 12, 4, R"("nics": 3, "planes": 3)");
  const auto rail = with_nics("rail", 12, 4, R"("rails": 3)");
  const auto same = [](std::string names) {
    for (std::size_t at; (at = names.find("s0.p")) != std::string::npos;) names.replace(at, 4, "rail");
    return names;
  };
  for (std::int64_t from = 0; from < 12; ++from)
    for (std::int64_t to = 0; to < 12; ++to) CHECK(same(way(*planes, from, to)) == way(*rail, from, to));
}

TEST_CASE("the load of all pairs on several NICs, in closed form and by walking routes") {
  for (const char* rest : {R"("leaves": 3, "hosts_per_leaf": 2, "spines": 2, "nics": 3)",
                           R"("leaves": 3, "hosts_per_leaf": 2, "spines": 2, "nics": 3, "planes": 3)"}) {
    const auto topology = with_nics("leaf-spine", 24, 4, rest);
    const std::vector<std::int64_t> all(24, 1);
    std::vector<double> counted(topology->links().size(), 0), walked = counted;
    std::vector<HostPair> ends;
    REQUIRE(topology->count_all(all, all, counted, ends));
    for (std::int64_t from = 0; from < 24; ++from)
      for (std::int64_t to = 0; to < 24; ++to)
        for (const LinkId link : route(*topology, from, to)) ++walked[link];
    CHECK(counted == walked);
  }
}

TEST_CASE("a failed cable of a NIC") {
  const std::string cable = R"("links": [{"between": ["h0.nic1", "leaf0"], "down": true}])";
  const auto one =
      with_nics("leaf-spine", 8, 2, R"("leaves": 2, "hosts_per_leaf": 2, "spines": 1, "nics": 2, )" + cable);
  CHECK(way_by_ports(*one, 0, 3) == "h0.gpu0>h0 h0.nic0>leaf0 leaf0>h1.nic1 h1>h1.gpu1");  // any way around does
  // In a plane it was the only way. GPUs of a host reach its other NIC, as on rails: the host forwards at both ends.
  // Plane 1 connects each host's GPU 1; to GPUs 0, and between other hosts, nothing changes.
  const auto planes = with_nics("leaf-spine", 8, 2,
                                R"("leaves": 2, "hosts_per_leaf": 2, "spines": 1, "nics": 2, "planes": 2,
                                   "links": [{"between": ["h0.nic1", "leaf0.p1"], "down": true}])");
  CHECK(way(*planes, 0, 3) == "h0.gpu0 h0 leaf0.p0 h1 h1.gpu1");
  CHECK(way(*planes, 2, 1) == "h1.gpu0 h1 leaf0.p0 h0 h0.gpu1");
  CHECK(way(*planes, 0, 5) == "h0.gpu0 h0 leaf0.p0 spine0.p0 leaf1.p0 h2 h2.gpu1");
  CHECK(way(*planes, 0, 2) == "h0.gpu0 h0 leaf0.p0 h1 h1.gpu0");
  CHECK(way(*planes, 2, 5) == "h1.gpu0 h1 leaf0.p1 spine0.p1 leaf1.p1 h2 h2.gpu1");
  CHECK(error_place([] {
          with_nics("star", 4, 2, R"("nics": 2, "planes": 2, "links": [{"between": ["h0.nic0", "s0.p0"], "down": true},
                                     {"between": ["h0.nic1", "s0.p1"], "down": true}])");
        }) == "cluster.json: /links/0");
  // With two spines a way around stays in its plane.
  const auto two = with_nics("leaf-spine", 8, 2,
                             R"("leaves": 2, "hosts_per_leaf": 2, "spines": 2, "nics": 2, "planes": 2,
                                "links": [{"between": ["leaf0.p1", "spine0.p1"], "down": true}])");
  CHECK(way(*two, 0, 5) == "h0.gpu0 h0 leaf0.p1 spine1.p1 leaf1.p1 h2 h2.gpu1");
  CHECK(way(*two, 0, 4) == "h0.gpu0 h0 leaf0.p0 spine0.p0 leaf1.p0 h2 h2.gpu0");
}

TEST_CASE("hosts with one of two NICs failed stay connected") {
  const auto planes = with_nics("star", 6, 2, R"("nics": 2, "planes": 2)");
  std::vector<Link> links(planes->links().begin(), planes->links().end());
  for (LinkId link = 0; link < links.size(); ++link)  // of host 2 the cable of NIC 1
    if (planes->name(planes->port(link)) == "h2.nic1") links[link].bandwidth = links[link ^ 1U].bandwidth = 0;
  const auto failed = with_links(std::shared_ptr<const Topology>(with_nics("star", 6, 2, R"("nics": 2, "planes": 2)")),
                                 std::move(links));
  const Connections connections(*failed);
  const auto cut_off = [&](std::vector<NodeId> gpus) { return connections.cut_off(gpus); };
  CHECK(!cut_off({0, 2, 4, 1, 5}));  // host 2 forwards what comes by NIC 0
  std::vector<Link> none(failed->links().begin(), failed->links().end());
  for (LinkId link = 0; link < none.size(); ++link)  // and of NIC 0
    if (planes->name(planes->port(link)) == "h2.nic0") none[link].bandwidth = none[link ^ 1U].bandwidth = 0;
  const auto alone = with_links(failed, std::move(none));
  CHECK(!Connections(*alone).cut_off(std::vector<NodeId>{0, 1, 2, 3}));
  CHECK(Connections(*alone).cut_off(std::vector<NodeId>{0, 2, 5}) == HostPair{0, 5});
}

TEST_CASE("limits on NICs and planes") {
  const std::string inner = R"("gpus_per_host": 4, "inner": {"latency": "1 us", "bandwidth": "1 GB/s"}, )";
  CHECK(complaint("star", inner + R"("nics": 5)") == "cluster.json: /nics");
  CHECK(complaint("star", inner + R"("nics": 0)") == "cluster.json: /nics");
  CHECK(complaint("star", R"("nics": 1)") == "cluster.json: /nics");
  CHECK(complaint("star", inner + R"("nics": 4, "planes": 2)") == "cluster.json: /planes");
  CHECK(complaint("star", inner + R"("planes": 2)") == "cluster.json: /planes");
  CHECK(complaint("bcube", inner + R"("n": 2, "k": 1, "nics": 4, "planes": 1)") == "cluster.json: /planes");
  CHECK(complaint("torus", inner + R"("dimensions": [2, 2], "nics": 2)") == "cluster.json: /nics");
  CHECK(complaint("rail", inner + R"("rails": 2, "nics": 2)") == "cluster.json: /nics");
}
