// MLCommons Chakra execution traces: a graph of the computations and communications of one worker. A file is protobuf
// (.et: metadata and nodes, each preceded by its length) or JSON ("workload_graph").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"

namespace allreplay {

/// The kinds of nodes that are used here, with the numbers of the schema.
enum class ChakraKind : std::uint64_t { Compute = 4, Send = 5, Receive = 6, Collective = 7 };
constexpr std::uint64_t chakra_kinds = 11;  ///< 0 to 10 are defined
std::string chakra_kind_name(std::uint64_t kind);

/// The kinds of collectives that are used here, with the numbers of the schema.
enum class ChakraCollective : std::int64_t {
  AllReduce = 0,
  AllGather = 2,
  Gather = 3,
  Scatter = 4,
  AllToAll = 6,
  ReduceScatter = 7
};

/// An attribute's value. int32 is only written, where other readers need it; every integer read has 64 bits.
using ChakraValue = std::variant<bool, std::int32_t, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                 std::vector<std::string>>;
using ChakraAttributes = std::map<std::string, ChakraValue>;

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t kind = 0;
  std::vector<std::uint64_t> control_dependencies, data_dependencies;
  double microseconds = 0;  ///< integer in protobuf
  ChakraAttributes attributes;
  SourceLocation place;  ///< the file and the node's id
};

struct ChakraTrace {
  ChakraAttributes metadata;
  std::vector<ChakraNode> nodes;
};

/// Returns the attribute's value if it exists and has this type.
template <class T>
std::optional<T> attribute(const ChakraAttributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end() || !std::holds_alternative<T>(found->second)) return std::nullopt;
  return std::get<T>(found->second);
}

/// True if a file with this beginning can be Chakra's protobuf.
bool is_chakra_protobuf(std::string_view head);

/// Throws InputError, naming the message that is truncated or damaged.
ChakraTrace decode_chakra(std::string_view bytes, const std::string& file);
/// Durations are rounded to whole microseconds.
std::string encode_chakra(const ChakraTrace& trace);

/// Throws InputError.
ChakraTrace parse_chakra_json(const Json& json);

}  // namespace allreplay
