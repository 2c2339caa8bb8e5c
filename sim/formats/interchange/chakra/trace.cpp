#include "sim/formats/interchange/chakra/trace.hpp"

#include <array>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr std::array<std::string_view, chakra_kinds> kind_names{
    "INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",  "BATCH_NODE",     "CHECKPOINT_NODE"};

constexpr std::int64_t largest = std::int64_t{1} << 53;

std::optional<ChakraValue> value_of(const Json& json) {
  if (json.is_string()) return json.text();
  if (const auto whole = json.whole()) return *whole;
  if (json.is_number()) return json.number();
  if (json.is_array()) {
    std::vector<std::string> texts;
    std::vector<std::int64_t> numbers;
    for (const Json& item : json.items()) {
      if (item.is_string()) texts.push_back(item.text());
      if (const auto whole = item.whole(); whole && *whole >= 0) numbers.push_back(*whole);
    }
    if (texts.size() == json.items().size()) return texts;
    if (numbers.size() == json.items().size()) return numbers;
    return std::nullopt;
  }
  if (json.is_object() || json.dump() == "null") return std::nullopt;
  return json.boolean();
}

// Reads one id or an array of ids, under either of the two names in use.
std::vector<std::uint64_t> dependencies(const Json& node, std::string_view name, std::string_view other) {
  auto found = node.find(name);
  if (!found) found = node.find(other);
  std::vector<std::uint64_t> ids;
  if (!found) return ids;
  if (!found->is_array()) return {static_cast<std::uint64_t>(found->integer(0, largest))};
  for (const Json& id : found->items()) ids.push_back(static_cast<std::uint64_t>(id.integer(0, largest)));
  return ids;
}

std::uint64_t kind_of(const Json& json) {
  if (json.is_string()) {
    for (std::size_t kind = 0; kind < kind_names.size(); ++kind)
      if (kind_names[kind] == json.text()) return kind;
    json.fail(fmt::format("unknown node type '{}'", json.text()), "such as COMP_NODE or COMM_COLL_NODE");
  }
  return static_cast<std::uint64_t>(json.integer(0, largest));
}

}  // namespace

std::string chakra_kind_name(std::uint64_t kind) {
  return kind < kind_names.size() ? std::string(kind_names[kind]) : fmt::format("type {}", kind);
}

ChakraTrace parse_chakra_json(const Json& json) {
  ChakraTrace trace;
  if (!json.find("workload_graph") && json.find("nodes"))
    json.fail("is a trace of the host's operators without durations",
              "link it with its Kineto trace (chakra_trace_link) and convert it, or import the Kineto trace");
  const Json graph = json.at("workload_graph");
  for (const auto& [name, member] : json.members())
    if (name != "workload_graph")
      if (auto value = value_of(member)) trace.metadata[name] = std::move(*value);
  for (const Json& item : graph.items()) {
    ChakraNode node;
    node.id = static_cast<std::uint64_t>(item.at("Id").integer(0, largest));
    node.name = item.at("Name").text();
    node.kind = kind_of(item.at("NodeType"));
    node.control_dependencies = dependencies(item, "ctrl_deps", "ctrlDeps");
    node.data_dependencies = dependencies(item, "data_deps", "dataDeps");
    node.place = {item.place().file, fmt::format("node {}", node.id)};
    if (const auto runtime = item.find("runtime")) node.microseconds = runtime->number();
    for (const auto& [name, member] : item.members())
      if (auto value = value_of(member)) node.attributes[name] = std::move(*value);
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

}  // namespace allreplay
