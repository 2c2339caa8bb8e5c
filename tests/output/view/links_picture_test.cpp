// Pictures of a topology's nodes and links.
#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/replay/training/link_usage.hpp"

using namespace allreplay;

namespace {

struct Drawn {
  std::vector<Circle> nodes;
  std::vector<Path> links;
  std::vector<Rectangle> parts;
  std::vector<std::string> names, counts, rows, facts;
  std::size_t crosses = 0;
};

Scenario scenario_on(const std::string& topology, std::int64_t workers, const std::string& collective = "ring") {
  Scenario scenario = scenario_of({}, "wfbp", workers, 0, 0);
  scenario.cluster.network.topology = read_topology(Json::parse(topology, "cluster.json"));
  scenario.collective = collective;
  scenario.fidelity = "fluid";
  return scenario;
}

Drawing picture_of(const Scenario& scenario) {
  return links_picture(link_usage(scenario, 1'000'000, 10e-3, {}), *scenario.cluster.network.topology, "a title");
}

Drawn drawn(const Drawing& drawing) {
  require_legible(drawing);
  CHECK(drawing.width == 960);
  Drawn drawn;
  drawn.nodes = shapes<Circle>(drawing, "node");
  drawn.links = shapes<Path>(drawing, "link");
  drawn.parts = shapes<Rectangle>(drawing, "part");
  drawn.crosses = shapes<Path>(drawing, "cross").size();
  drawn.names = texts(drawing, "name");
  drawn.counts = texts(drawing, "count");
  drawn.rows = texts(drawing, "row");
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Text>(&shape); one && (one->kind == "fact" || one->kind == "use"))
      drawn.facts.push_back(one->text);
  // Each word of the legend has its line before its letters.
  for (const Text& word : shapes<Text>(drawing, "legend"))
    CHECK(std::any_of(drawing.shapes.begin(), drawing.shapes.end(), [&](const Shape& other) {
      const auto* line = std::get_if<Path>(&other);
      return line && line->points[1].x == Approx(word.at.x - 6) && line->points[0].y < word.at.y &&
             line->points[0].y > word.at.y - word.size;
    }));
  return drawn;
}

Drawn drawn(const std::string& topology, std::int64_t workers, const std::string& collective = "ring") {
  return drawn(picture_of(scenario_on(topology, workers, collective)));
}

std::string of_links(const std::string& rest) {
  return R"({"link": {"latency": "0 s", "bandwidth": "1 GB/s"}, )" + rest + "}";
}

}  // namespace

TEST_CASE("a star has its switch above its workers") {
  const Drawn star =
      drawn(of_links(R"("kind": "star", "links": [{"between": ["h2", "s0"], "bandwidth": "0.4 GB/s"}])"), 4);
  REQUIRE(star.nodes.size() == 5);
  CHECK(star.names == std::vector<std::string>{"h0", "h1", "h2", "h3", "s0"});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(star.nodes[i].centre.y == star.nodes[0].centre.y);
    CHECK(star.nodes[i].centre.y == star.nodes[4].centre.y + 120);
    // With equal distances, and around the switch.
    CHECK(star.nodes[i].centre.x - star.nodes[4].centre.x ==
          Approx((static_cast<double>(i) - 1.5) * (star.nodes[1].centre.x - star.nodes[0].centre.x)));
  }
  // 1.5 MB in 10 ms: 15 % of a link, 37.5 % of the slow one, which is drawn last and widest.
  REQUIRE(star.links.size() == 4);
  CHECK(star.links[0].meaning.title == "h0 - s0: 15.0 % there, 15.0 % back");
  CHECK(star.links[3].meaning.title == "h2 - s0: 37.5 % there, 37.5 % back");
  CHECK(star.links[0].look.width == Approx(0.8 + 3.2 * 0.15));
  CHECK(star.links[3].look.width == Approx(0.8 + 3.2 * 0.375));
  // Next to it the level, with six of its eight directions at 15 %: (6 · 15 + 2 · 37.5) / 8 %.
  CHECK(star.rows == std::vector<std::string>{"h ×4", "s"});
  CHECK(star.facts == std::vector<std::string>{"h - s", "4 × 3.2 Gbit/s to 8 Gbit/s", "mean 20.6 %, busiest 37.5 %"});
  CHECK(star.parts.empty());
}

TEST_CASE("a torus is a grid whose links around its edge are drawn at their ends") {
  const Drawn torus = drawn(of_links(R"("kind": "torus", "dimensions": [3, 4])"), 12);
  REQUIRE(torus.nodes.size() == 12);
  const double step = torus.nodes[1].centre.x - torus.nodes[0].centre.x;
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(torus.nodes[i].centre.x == Approx(torus.nodes[0].centre.x + step * static_cast<double>(i % 4)));
    CHECK(torus.nodes[i].centre.y == Approx(torus.nodes[0].centre.y + step * static_cast<double>(i / 4)));
  }
  // 12 nodes have 24 links, of which 3 + 4 go around: two stubs each.
  CHECK(torus.links.size() == 24 + 7);
  int stubs = 0;
  for (const Path& link : torus.links)
    stubs += std::hypot(link.points[1].x - link.points[0].x, link.points[1].y - link.points[0].y) < step - 1;
  CHECK(stubs == 14);
}

TEST_CASE("a torus of three dimensions has its slabs side by side, and links between them at their ends, askew") {
  const Drawn torus = drawn(of_links(R"("kind": "torus", "dimensions": [2, 3, 4])"), 24);
  REQUIRE(torus.nodes.size() == 24);
  CHECK(torus.nodes[12].centre.y == torus.nodes[0].centre.y);
  CHECK(torus.nodes[12].centre.x ==
        Approx(torus.nodes[0].centre.x + 5 * (torus.nodes[1].centre.x - torus.nodes[0].centre.x)));
  // Rows of four: 24 links, 6 of them around; columns of three: 24, 8 around; 12 between the slabs. Those two stubs
  // each.
  CHECK(torus.links.size() == 18 + 2 * 6 + 16 + 2 * 8 + 2 * 12);
  CHECK(std::count_if(torus.links.begin(), torus.links.end(), [](const Path& link) {
          return link.points[0].x != link.points[1].x && link.points[0].y != link.points[1].y;
        }) == 24);
}

TEST_CASE("topologies without switches and rows are circles") {
  const Drawn ring = drawn(of_links(R"("kind": "ring")"), 6);
  REQUIRE(ring.nodes.size() == 6);
  const Position top = ring.nodes[0].centre, bottom = ring.nodes[3].centre;
  CHECK(top.x == Approx(bottom.x));
  CHECK(bottom.y > top.y);
  const Position centre{top.x, (top.y + bottom.y) / 2};
  for (const Circle& node : ring.nodes)
    CHECK(std::hypot(node.centre.x - centre.x, node.centre.y - centre.y) == Approx(bottom.y - centre.y));
  CHECK(ring.nodes[1].centre.x > centre.x);  // clockwise
  CHECK(ring.links.size() == 6);
}

TEST_CASE("many nodes that hang on one switch are drawn as one") {
  const Drawn many = drawn(of_links(R"("kind": "star")"), 500);
  REQUIRE(many.nodes.size() == 2);
  CHECK(many.nodes[0].meaning.title == "h ×500");
  CHECK(many.nodes[1].meaning.title == "s0");
  REQUIRE(many.links.size() == 1);
  CHECK(many.links[0].meaning.title.find("500") != std::string::npos);
}

TEST_CASE("512 GPUs are one host of many, in a frame that says how many") {
  const Drawn rails = drawn(of_links(R"("kind": "rail", "rails": 8, "gpus_per_host": 8,
"inner": {"latency": "0 s", "bandwidth": "4 GB/s"})"),
                            512);
  // Eight GPUs, their host, eight rails, one of 64 spines.
  CHECK(rails.nodes.size() == 8 + 1 + 8 + 1);
  CHECK(rails.links.size() == 8 + 8 + 8);
  REQUIRE(rails.parts.size() == 1);
  CHECK(rails.counts == std::vector<std::string>{"×64"});
  CHECK(rails.rows == std::vector<std::string>{"gpu ×512", "h ×64", "rail ×8", "spine ×64"});
  CHECK(std::count(rails.names.begin(), rails.names.end(), "h0.gpu7") == 1);
  CHECK(std::count(rails.names.begin(), rails.names.end(), "spine ×64") == 1);
  // Eight rings share the bytes: each GPU sends 2·511/512 MB in all, over a link that could carry 40; each NIC an
  // eighth of it, of 10; with PXN nothing goes up to the spines.
  CHECK(rails.facts == std::vector<std::string>{"rail - spine", "512 × 8 Gbit/s", "not used", "h - rail",
                                                "512 × 8 Gbit/s", "mean 2.5 %, busiest 2.5 %", "gpu - h",
                                                "512 × 32 Gbit/s", "mean 5.0 %, busiest 5.0 %"});
  // The frame is around the host and its GPUs, and around nothing else.
  const Box& frame = rails.parts[0].box;
  for (const Circle& node : rails.nodes) {
    const bool inside = node.centre.x > frame.x && node.centre.x < frame.right() && node.centre.y > frame.y &&
                        node.centre.y < frame.bottom();
    CHECK(inside == node.meaning.title.starts_with("h0"));
  }
}

TEST_CASE("links that are down are crossed out") {
  const std::string rest =
      R"("kind": "star", "gpus_per_host": 4, "nics": 4, "inner": {"latency": "0 s", "bandwidth": "4 GB/s"},
"links": [{"between": ["h1.nic2", "s0"], "down": true}])";
  const Drawn star = drawn(of_links(rest), 8);
  CHECK(star.nodes.size() == 8 + 2 + 1);
  CHECK(star.links.size() == 8 + 2);
  CHECK(star.crosses == 4 + 4);  // two strokes on white ones, on the line and in the legend
  CHECK(std::count(star.facts.begin(), star.facts.end(), "8 × 8 Gbit/s, 1 down") == 1);
  const Drawn spines = drawn(of_links(R"("kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2,
"links": [{"between": ["leaf0", "spine1"], "down": true}])"),
                             4);
  CHECK(spines.crosses == 4 + 4);
  // Dashed, unlike the line above, three of whose four links are up.
  const auto dashed = [](const Path& link) { return !link.look.dashes.empty(); };
  CHECK(std::count_if(spines.links.begin(), spines.links.end(), dashed) == 1);
  CHECK(std::count_if(star.links.begin(), star.links.end(), dashed) == 0);
}

TEST_CASE("a network without traffic") {
  const Scenario scenario = scenario_on(of_links(R"("kind": "fat-tree", "ports": 4)"), 16);
  const TopologySpec& spec = *scenario.cluster.network.topology;
  const Drawn tree = drawn(links_picture(no_usage(make_topology(spec, 16)), spec, "a title"));
  CHECK(tree.nodes.size() == 36);
  CHECK(tree.links.size() == 48);
  CHECK(tree.links[0].meaning.title == "h0 - edge0");
  CHECK(tree.facts == std::vector<std::string>{"agg - core", "16 × 8 Gbit/s", "edge - agg", "16 × 8 Gbit/s", "h - edge",
                                               "16 × 8 Gbit/s"});
}

TEST_CASE("every kind can be read, small and large, as a whole and folded") {
  const std::string gpus = R"(, "gpus_per_host": 8, "inner": {"latency": "0 s", "bandwidth": "4 GB/s"})",
                    nics = gpus + R"(, "nics": 8)", planes = nics + R"(, "planes": 8)";
  const std::string fat_tree = R"("kind": "fat-tree", "ports": 8)",
                    leaf_spine = R"("kind": "leaf-spine", "leaves": 8, "hosts_per_leaf": 8, "spines": 4)",
                    leaf_down = R"(, "links": [{"between": ["leaf0", "spine1"], "down": true}])",
                    nic_down = R"(, "links": [{"between": ["h3.nic5", "leaf0"], "down": true}])";
  for (const auto& [topology, workers] : {std::pair(fat_tree, 128),
                                          {fat_tree + nics, 1024},
                                          {fat_tree + planes, 1024},
                                          {leaf_spine, 64},
                                          {leaf_spine + leaf_down, 64},
                                          {leaf_spine + gpus, 512},
                                          {leaf_spine + nics + leaf_down, 512},
                                          {leaf_spine + nics + nic_down, 512},
                                          {leaf_spine + planes, 512},
                                          {leaf_spine + nics + R"(, "routing": "ecmp")", 512},
                                          {R"("kind": "bcube", "n": 4, "k": 2)", 16},
                                          {R"("kind": "bcube", "n": 8, "k": 3)", 512},
                                          {R"("kind": "bcube", "n": 2, "k": 4)", 16},
                                          {R"("kind": "torus", "dimensions": [4, 4, 4])", 64},
                                          {R"("kind": "torus", "dimensions": [16, 16, 16])", 4096},
                                          {R"("kind": "torus", "dimensions": [5, 1])", 5},
                                          {R"("kind": "torus", "dimensions": [4, 4])" + gpus, 128},
                                          {R"("kind": "ring")", 80},
                                          {R"("kind": "ring")", 500},
                                          {R"("kind": "ring")" + gpus, 64},
                                          {R"("kind": "double-binary-tree")", 30},
                                          {R"("kind": "double-binary-tree")" + gpus, 64},
                                          {R"("kind": "star")" + planes, 512},
                                          {R"("kind": "star")", 1}}) {
    CAPTURE(topology);
    const Drawn any = drawn(of_links(topology), workers);
    CHECK(any.nodes.size() < 150);
    CHECK(!any.facts.empty());
  }
}
