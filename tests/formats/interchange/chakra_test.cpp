#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/import_text.hpp"

#include "sim/formats/interchange/chakra/trace.hpp"

using namespace allreplay;

namespace {

ChakraNode node(std::uint64_t id, const std::string& name, std::uint64_t kind, double us,
                std::vector<std::uint64_t> data = {}, ChakraAttributes attributes = {}) {
  ChakraNode made;
  made.id = id;
  made.name = name;
  made.kind = kind;
  made.microseconds = us;
  made.data_dependencies = std::move(data);
  made.attributes = std::move(attributes);
  return made;
}

ChakraAttributes all_reduce(std::int64_t bytes) { return {{"comm_type", std::int64_t{0}}, {"comm_size", bytes}}; }

// The trace that Chakra's converter makes of a text workload of two layers: no input gradient of the first, and two
// iterations.
ChakraTrace converted() {
  ChakraTrace trace;
  trace.nodes = {node(0, "COMP_NODE_a_FWD", 4, 10),
                 node(1, "COMP_NODE_b_FWD", 4, 20, {0}),
                 node(2, "COMP_NODE_b_BWD_WG", 4, 30, {1}),
                 node(3, "COMM_COLL_NODE_b_ALLREDUCE", 7, 0, {2}, all_reduce(80)),
                 node(4, "COMP_NODE_b_BWD_IG", 4, 5, {2}),
                 node(5, "COMP_NODE_a_BWD_WG", 4, 40, {4}),
                 node(6, "COMM_COLL_NODE_a_ALLREDUCE", 7, 0, {5}, all_reduce(400)),
                 node(7, "COMP_NODE_a_FWD", 4, 10, {6}),
                 node(8, "COMP_NODE_a_BWD_WG", 4, 40, {7}),
                 node(9, "COMM_COLL_NODE_a_ALLREDUCE", 7, 0, {8}, all_reduce(400))};
  return trace;
}

std::string refused(const ChakraTrace& trace) { return refusal("chakra", encode_chakra(trace)); }

std::string json(const std::string& nodes) { return "{\"workload_graph\": [" + nodes + "]}"; }

const std::string forward = R"({"Id": 1, "Name": "a_FWD", "NodeType": 4, "data_deps": [], "runtime": 10})";
const std::string backward = R"({"Id": 2, "Name": "a_BWD", "NodeType": "COMP_NODE", "data_deps": [1], "runtime": 2.5})";
const std::string reduce =
    R"({"Id": 3, "Name": "r", "NodeType": 7, "data_deps": [2], "comm_type": 0, "comm_size": 40})";

}  // namespace

TEST_CASE("Chakra: the text converter's output is the profile that it read") {
  const Imported imported = import_text("chakra", encode_chakra(converted()));
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "a");
  CHECK(profile.layers[0].forward == Time(10'000'000));
  CHECK(profile.layers[0].backward == Time(40'000'000));
  CHECK(profile.layers[1].backward == Time(35'000'000));  // 30 + 5
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[0].name == "a");
  CHECK(profile.tensors[0].elements == 100);
  CHECK(profile.tensors[1].elements == 20);
  CHECK(has_note(imported, "50 us"));
}

TEST_CASE("Chakra JSON: the same, with durations that need not be whole") {
  const Imported imported = import_text("chakra-json", json(forward + "," + backward + "," + reduce));
  REQUIRE(imported.profile.layers.size() == 1);
  CHECK(imported.profile.layers[0].backward == Time(2'500'000));
  REQUIRE(imported.profile.tensors.size() == 1);
  CHECK(imported.profile.tensors[0].elements == 10);
}

TEST_CASE("Chakra protobuf: the wire, byte by byte") {
  // metadata (empty); node: id 3 (field 1), name "ab" (2), type 4 (3), data_deps 1, 300 (5, packed), 7 us (7), attr
  // (10) {name "n" (1), int64 −1 (9: ten bytes)}, and a field 8 that the reader ignores.
  const std::string bytes(
      "\x00\x21\x08\x03\x12\x02"
      "ab\x18\x04\x2a\x03\x01\xac\x02\x38\x07\x52\x0e\x0a\x01n\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x42\x00",
      35);
  const ChakraTrace trace = decode_chakra(bytes, "file");
  REQUIRE(trace.nodes.size() == 1);
  const ChakraNode& only = trace.nodes[0];
  CHECK(only.id == 3);
  CHECK(only.name == "ab");
  CHECK(only.kind == 4);
  CHECK(only.data_dependencies == std::vector<std::uint64_t>{1, 300});
  CHECK(only.microseconds == 7);
  CHECK(attribute<std::int64_t>(only.attributes, "n") == -1);
}

TEST_CASE("Chakra: operators on the CPU, point-to-point and other collectives are omitted, with a note") {
  ChakraTrace trace = converted();
  trace.nodes.push_back(node(20, "aten::copy_", 4, 7, {}, {{"is_cpu_op", true}}));
  trace.nodes.push_back(node(21, "some kernel", 4, 8));
  trace.nodes.push_back(node(22, "send", 5, 9));
  trace.nodes.push_back(
      node(23, "gather", 7, 0, {2}, {{"comm_type", std::int64_t{2}}, {"comm_size", std::int64_t{4}}}));
  trace.nodes.back().control_dependencies = {99};
  const Imported imported = import_text("chakra", encode_chakra(trace));
  CHECK(imported.profile.tensors.size() == 2);
  CHECK(has_note(imported, "7 us"));
  CHECK(has_note(imported, "8 us"));
  CHECK(has_note(imported, "9 us"));
}

TEST_CASE("Chakra: bad input") {
  const std::string bytes = encode_chakra(converted());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const std::string complaint = refusal("chakra", bytes.substr(0, cut));
    // Cut between two nodes, the start may be a whole trace: not before the first all-reduce is in it.
    if (complaint.empty()) CHECK(cut > bytes.find("b_ALLREDUCE"));
  }
  CHECK(refusal("chakra", "") == "file: metadata");
  CHECK(refusal("chakra", bytes.substr(0, bytes.size() - 1)) == "file: node 10");
  CHECK(refusal("chakra", encode_chakra({})) == "file");
  CHECK(refusal("chakra", std::string("\0\x02\xff\xff", 4)) == "file: node 1");

  ChakraTrace trace = converted();
  trace.nodes[1].kind = 42;
  CHECK(refused(trace) == "file: node 1");
  trace = converted();
  trace.nodes[0].data_dependencies = {5};
  CHECK(refused(trace) == "file: node 0");
  trace = converted();
  trace.nodes[1].id = 0;
  CHECK(refused(trace) == "file: node 0");
  trace = converted();
  trace.nodes[1].data_dependencies = {77};
  CHECK(refused(trace) == "file: node 1");
  trace = converted();
  trace.nodes[0].microseconds = 1e13;
  CHECK(refused(trace) == "file: node 0");
  trace = converted();
  trace.nodes[3].attributes.erase("comm_size");
  CHECK(refused(trace) == "file: node 3");
  trace = converted();
  for (ChakraNode& one : trace.nodes) one.name = one.kind == 4 ? "kernel" : one.name;
  CHECK(refused(trace) == "file");
  trace.nodes = {node(0, "a_FWD", 4, 10), node(1, "r", 7, 0, {0}, all_reduce(4))};
  CHECK(refused(trace) == "file");
  trace.nodes = {node(0, "a_FWD", 4, 10), node(1, "b_BWD", 4, 10)};
  CHECK(refused(trace) == "file");
  trace.nodes = {node(0, "a_FWD", 4, 10), node(1, "a_BWD", 4, 10), node(2, "r", 7, 0, {0}, all_reduce(4))};
  CHECK(refused(trace) == "file");
  CHECK(refusal("chakra-json", json(R"({"Id": 1, "Name": "a", "NodeType": "COMPUTE"})")) ==
        "file: /workload_graph/0/NodeType");
  CHECK(refusal("chakra-json", json(R"({"Id": 1, "Name": "a_FWD", "NodeType": 4, "runtime": -3})")) == "file: node 1");
  CHECK(refusal("chakra-json", json(R"({"Id": 1, "Name": "a_FWD"})")) == "file: /workload_graph/0");
  CHECK(refusal("chakra-json", R"({"schema": "1.0.2-chakra.0.0.4", "nodes": []})") == "file");
}

TEST_CASE("Chakra: control dependencies that contradict data dependencies") {
  // As chakra_trace_link writes them: the calling operator is a control dependency, and waits for what it called.
  ChakraTrace trace = converted();
  trace.nodes[1].control_dependencies.push_back(trace.nodes[0].id);
  trace.nodes[0].data_dependencies.push_back(trace.nodes[1].id);
  trace.nodes[1].data_dependencies.clear();
  const Imported imported = import_text("chakra", encode_chakra(trace));
  CHECK(imported.profile.layers.size() == import_text("chakra", encode_chakra(converted())).profile.layers.size());
  // A linked trace names operators: that is the reason, whatever its graph looks like.
  for (ChakraNode& one : trace.nodes)
    if (one.kind == 4) one.name = "aten::mul";
  CHECK(refused(trace) == "file");
}
