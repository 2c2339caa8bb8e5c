// Where the nodes and links of a topology are drawn, and how.
#include "sim/view/links_picture.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/picture/legible.hpp"
#include "tests/training/scenario.hpp"

using namespace allreplay;

namespace {

struct Drawn {
  std::vector<Circle> nodes;
  std::vector<Path> links;
  std::vector<std::string> names, notes;
};

Drawn drawn(const std::string& topology, std::int64_t workers, const std::string& collective = "ring") {
  Scenario scenario = scenario_of({}, "wfbp", workers, 0, 0);
  scenario.cluster.network.topology = read_topology(Json::parse(topology, "cluster.json"));
  scenario.collective = collective;
  scenario.fidelity = "fluid";
  const Drawing drawing =
      links_picture(link_usage(scenario, 1'000'000, 10e-3, {}), *scenario.cluster.network.topology, "a title");
  require_legible(drawing);
  Drawn drawn;
  for (const Shape& shape : drawing.shapes) {
    if (const auto* one = std::get_if<Circle>(&shape); one && one->meaning.kind == "node") drawn.nodes.push_back(*one);
    if (const auto* one = std::get_if<Path>(&shape); one && one->meaning.kind == "link") drawn.links.push_back(*one);
    if (const auto* one = std::get_if<Text>(&shape); one && one->kind == "name") drawn.names.push_back(one->text);
  }
  // Each word of the legend has its line before its letters.
  for (const Shape& shape : drawing.shapes) {
    const auto* word = std::get_if<Text>(&shape);
    if (!word || word->kind != "legend") continue;
    CHECK(std::any_of(drawing.shapes.begin(), drawing.shapes.end(), [&](const Shape& other) {
      const auto* line = std::get_if<Path>(&other);
      return line && line->points[1].x == Approx(word->at.x - 6) && line->points[0].y < word->at.y &&
             line->points[0].y > word->at.y - word->size;
    }));
  }
  return drawn;
}

std::string of_links(const std::string& rest) {
  return R"({"link": {"latency": "0 s", "bandwidth": "1 GB/s"}, )" + rest + "}";
}

}  // namespace

TEST_CASE("a star has its switch above its workers") {
  const Drawn star =
      drawn(of_links(R"("kind": "star", "links": [{"between": ["h2", "s0"], "bandwidth": "0.5 GB/s"}])"), 4);
  REQUIRE(star.nodes.size() == 5);
  CHECK(star.names == std::vector<std::string>{"h0", "h1", "h2", "h3", "s0"});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(star.nodes[i].centre.y == star.nodes[0].centre.y);
    CHECK(star.nodes[i].centre.y == star.nodes[4].centre.y + 90);
    // Equally far apart, and around the switch.
    CHECK(star.nodes[i].centre.x - star.nodes[4].centre.x ==
          Approx((static_cast<double>(i) - 1.5) * (star.nodes[1].centre.x - star.nodes[0].centre.x)));
  }
  // 1.5 MB in 10 ms: 15 % of a link, 30 % of the slow one, which is drawn last and widest.
  REQUIRE(star.links.size() == 4);
  CHECK(star.links[0].meaning.title == "h0 - s0: 15.0 % there, 15.0 % back");
  CHECK(star.links[3].meaning.title == "h2 - s0: 30.0 % there, 30.0 % back");
  CHECK(star.links[0].look.width == Approx(0.8 + 3.2 * 0.15));
  CHECK(star.links[3].look.width == Approx(0.8 + 3.2 * 0.3));
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

TEST_CASE("what has neither switches nor rows is a circle") {
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

TEST_CASE("of many nodes one is drawn of all that look alike") {
  const Drawn many = drawn(of_links(R"("kind": "star")"), 500);
  REQUIRE(many.nodes.size() == 2);
  CHECK(many.nodes[0].meaning.title == "h x500");
  CHECK(many.nodes[1].meaning.title == "s");
  REQUIRE(many.links.size() == 1);
  CHECK(many.links[0].meaning.title.find("(500 links, the most used)") != std::string::npos);
}
