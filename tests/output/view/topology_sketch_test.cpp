// Folded topologies.
#include "sim/output/view/topology_sketch.hpp"

#include <numeric>

#include "tests/catch.hpp"

#include "sim/inputs/cluster/make_topology.hpp"

using namespace allreplay;

namespace {

Sketch sketch(const std::string& rest, std::int64_t workers, const SketchLimits& limits = {}) {
  const std::string text = R"({"link": {"latency": "0 s", "bandwidth": "1 GB/s"}, )" + rest + "}";
  return sketch_of(no_usage(make_topology(read_topology(Json::parse(text, "cluster.json")), workers)), limits);
}

std::vector<std::size_t> spots_by_row(const Sketch& sketch) {
  std::vector<std::size_t> counts(sketch.rows.size());
  for (const Spot& spot : sketch.spots) ++counts[spot.row];
  return counts;
}

std::vector<std::int64_t> counts(const Sketch& sketch) {
  std::vector<std::int64_t> counts;
  for (const EqualParts& part : sketch.parts) counts.push_back(part.count);
  return counts;
}

std::int64_t links(const Sketch& sketch) {
  return std::accumulate(sketch.cables.begin(), sketch.cables.end(), std::int64_t{0},
                         [](std::int64_t sum, const Cable& cable) { return sum + cable.count; });
}

const std::string gpus = R"("gpus_per_host": 8, "inner": {"latency": "0 s", "bandwidth": "4 GB/s"}, )",
                  leaf_spine = R"("kind": "leaf-spine", "leaves": 8, "hosts_per_leaf": 8, "spines": 4)";

}  // namespace

TEST_CASE("small topologies are drawn completely") {
  const Sketch whole = sketch(R"("kind": "fat-tree", "ports": 4)", 16);
  CHECK(spots_by_row(whole) == std::vector<std::size_t>{16, 8, 8, 4});
  CHECK(whole.cables.size() == 48);
  CHECK(whole.parts.empty());
}

TEST_CASE("of a Fat-Tree one pod, and in it one edge switch, as far as need be") {
  // 8 pods of 4 edge and 4 aggregation switches, 16 hosts each; 16 cores, each on one aggregation switch of every pod.
  const Sketch pods = sketch(R"("kind": "fat-tree", "ports": 8)", 128);
  CHECK(spots_by_row(pods) == std::vector<std::size_t>{16, 4, 4, 16});
  CHECK(counts(pods) == std::vector<std::int64_t>{8});
  CHECK(pods.parts[0].spots.size() == 24);
  CHECK(links(pods) == 3 * 128);
  for (const Cable& cable : pods.cables) CHECK(cable.count == 8);
  // With room for eight: also one edge switch, and of the four cores above each aggregation switch one.
  const Sketch edges = sketch(R"("kind": "fat-tree", "ports": 8)", 128, {.in_a_row = 8});
  CHECK(spots_by_row(edges) == std::vector<std::size_t>{4, 1, 4, 4});
  CHECK(counts(edges) == std::vector<std::int64_t>{8, 4});
  CHECK(links(edges) == 3 * 128);
  for (const Spot& spot : edges.spots) CHECK(spot.count == (spot.row == 3 ? 4 : 1));
}

TEST_CASE("a part with a slower link, or one that is down, is not equal to the others") {
  const Sketch even = sketch(gpus + leaf_spine, 512);
  CHECK(spots_by_row(even) == std::vector<std::size_t>{8, 1, 1, 4});
  CHECK(counts(even) == std::vector<std::int64_t>{8, 8});
  const Sketch dead = sketch(gpus + leaf_spine + R"(, "links": [{"between": ["leaf3", "spine1"], "down": true}])", 512);
  CHECK(spots_by_row(dead) == std::vector<std::size_t>{16, 2, 2, 4});
  std::int64_t down = 0;
  for (const Cable& cable : dead.cables) {
    down += cable.down;
    CHECK((cable.down == 0 || cable.is_down()));
  }
  CHECK(down == 1);
  CHECK(links(dead) == links(even));
  const Sketch slow =
      sketch(gpus + leaf_spine + R"(, "links": [{"between": ["h9", "leaf1"], "bandwidth": "0.5 GB/s"}])", 512);
  // Leaf 1 by itself, and there host 9.
  CHECK(spots_by_row(slow) == std::vector<std::size_t>{24, 3, 2, 4});
}

TEST_CASE("BCube's levels are rows, and the servers of a level-0 switch are a part") {
  // 16 servers on each of 16 switches of level 0, and each on one of level 1, which all 16 parts share.
  const Sketch cube = sketch(R"("kind": "bcube", "n": 16, "k": 2)", 256);
  REQUIRE(cube.rows.size() == 3);
  CHECK(cube.rows[1].kind == "s0");
  CHECK(cube.rows[2].kind == "s1");
  CHECK(spots_by_row(cube) == std::vector<std::size_t>{16, 1, 16});
  CHECK(counts(cube) == std::vector<std::int64_t>{16});
  CHECK(links(cube) == 512);
}

TEST_CASE("links of several NICs are one cable") {
  const Sketch star = sketch(gpus + R"("kind": "star", "nics": 4)", 512);
  CHECK(spots_by_row(star) == std::vector<std::size_t>{8, 1, 1});
  REQUIRE(star.cables.size() == 1 + 8);
  CHECK(links(star) == 64 * (4 + 8));
}

TEST_CASE("topologies without equal parts are reduced to one node per row") {
  const Sketch ring = sketch(R"("kind": "ring")", 1000);
  REQUIRE(ring.spots.size() == 1);
  CHECK(ring.spots[0].count == 1000);
  REQUIRE(ring.cables.size() == 1);
  CHECK(ring.cables[0].count == 1000);
}
