#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/import_text.hpp"

using namespace allreplay;

namespace {

std::string node(int id, bool backward, double ms, double size, int color) {
  return fmt::format(R"({{"name": "n{}", "id": {}, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": {}, )"
                     R"("isBackwardNode": {}, "colorClass": {}, "size": {}}})",
                     id, id, ms, backward ? 1 : 0, color, size);
}

std::string edge(int from, int to, double size) {
  return fmt::format(R"({{"sourceId": {}, "destId": {}, "cost": 0, "size": {}}})", from, to, size);
}

std::string graph(const std::string& nodes, const std::string& edges) {
  return fmt::format(R"({{"maxFPGAs": 1, "nodes": [{}], "edges": [{}]}})", nodes, edges);
}

// 1 -> 2, listed backwards; 1 has 400 bytes of which its output is 40, 2 has 100 of which 20.
const std::string nodes = node(2, false, 2, 100, 7) + "," + node(1, false, 1, 400, 5) + "," +
                          node(11, true, 3, 400, 5) + "," + node(12, true, 4, 100, 7);
const std::string edges = edge(1, 2, 40) + "," + edge(11, 12, 20);

}  // namespace

TEST_CASE(
    "dnn-partitioning: forward nodes in their order, with their twins' times and what is no output as parameters") {
  // What a forward node hands to its twin is no output, and nothing waits for it.
  const std::string kept = "," + edge(1, 11, 100) + "," + edge(2, 12, 8);
  const Imported imported = import_text("dnn-partitioning", graph(nodes, edges + kept));
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "n1");
  CHECK(profile.layers[0].forward == to_time(1e-3));
  CHECK(profile.layers[0].backward == to_time(3e-3));
  CHECK(profile.layers[1].backward == to_time(4e-3));
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[0].elements == 90);  // (400 − 40) / 4
  CHECK(profile.tensors[1].elements == 20);  // (100 − 20) / 4
  CHECK(has_note(imported, "60"));
  const Imported small = import_text("dnn-partitioning", graph(nodes, edge(1, 2, 404) + "," + edge(11, 12, 20)));
  CHECK(small.profile.tensors.size() == 1);
  const Imported alone = import_text("dnn-partitioning", graph(nodes + "," + node(13, true, 5, 100, 9), edges));
}

TEST_CASE("dnn-partitioning: bad input") {
  const auto refused = [](const std::string& some_nodes, const std::string& some_edges) {
    return refusal("dnn-partitioning", graph(some_nodes, some_edges));
  };
  CHECK(refusal("dnn-partitioning", "") == "file");
  CHECK(refusal("dnn-partitioning", "{}") == "file");
  CHECK(refused(nodes, edges + "," + edge(2, 1, 0)) == "file: /edges");
  CHECK(refused(nodes, edge(1, 3, 0)) == "file: /edges/0/destId");
  CHECK(refused(node(1, false, 1, 400, 5), "") == "file: /nodes");
  CHECK(refused(nodes + "," + node(3, false, 1, 4, 8), "") == "file: /nodes/4");
  CHECK(refused(nodes + "," + node(3, false, 1, 4, 7), "") == "file: /nodes/4/colorClass");
  CHECK(refused(nodes + "," + node(2, false, 1, 4, 9), "") == "file: /nodes/4/id");
  CHECK(refused(node(1, false, -1, 400, 5), "") == "file: /nodes/0/fpgaLatency");
  CHECK(refused(node(1, false, 1, -4, 5), "") == "file: /nodes/0/size");
  CHECK(refused(node(1, false, 1, 6, 5) + "," + node(2, true, 1, 6, 5), "") == "file: /nodes/0/size");
}
