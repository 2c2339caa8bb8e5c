#include <chakra/chakra.pb.h>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/formats/interchange/chakra/trace.hpp"

namespace allreplay {

namespace {

// Reads the varint that precedes each message as its length: seven bits per byte, lowest first; the highest bit is set
// if more bytes follow. Returns none if the text ends inside it or it is longer than five bytes.
std::optional<std::size_t> take_length(std::string_view& bytes) {
  std::size_t length = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    length |= static_cast<std::size_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return length;
  }
  return std::nullopt;
}

void put(std::string& bytes, const google::protobuf::MessageLite& message) {
  const std::string text = message.SerializeAsString();
  std::size_t length = text.size();
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>(0x80 | (length & 0x7F));
  bytes += static_cast<char>(length);
  bytes += text;
}

ChakraValue number(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}

std::optional<ChakraValue> value_of(const chakra::Attribute& attribute) {
  using Attribute = chakra::Attribute;
  switch (attribute.value_case()) {
    case Attribute::kOfDouble:
      return attribute.of_double();
    case Attribute::kOfFloat:
      return static_cast<double>(attribute.of_float());
    case Attribute::kOfInt32:
      return std::int64_t{attribute.of_int32()};
    case Attribute::kOfInt64:
      return std::int64_t{attribute.of_int64()};
    case Attribute::kOfInt64List:
      return std::vector<std::int64_t>(attribute.of_int64_list().values().begin(),
                                       attribute.of_int64_list().values().end());
    case Attribute::kOfUint32:
      return std::int64_t{attribute.of_uint32()};
    case Attribute::kOfUint64:
      return number(attribute.of_uint64());
    case Attribute::kOfSint32:
      return std::int64_t{attribute.of_sint32()};
    case Attribute::kOfSint64:
      return std::int64_t{attribute.of_sint64()};
    case Attribute::kOfFixed32:
      return std::int64_t{attribute.of_fixed32()};
    case Attribute::kOfFixed64:
      return number(attribute.of_fixed64());
    case Attribute::kOfSfixed32:
      return std::int64_t{attribute.of_sfixed32()};
    case Attribute::kOfSfixed64:
      return std::int64_t{attribute.of_sfixed64()};
    case Attribute::kOfBool:
      return attribute.of_bool();
    case Attribute::kOfText:
      return attribute.of_text();
    case Attribute::kOfTextList:
      return std::vector<std::string>(attribute.of_text_list().values().begin(),
                                      attribute.of_text_list().values().end());
    case Attribute::VALUE_NOT_SET:
      break;  // a type that is not used here
  }
  return std::nullopt;
}

struct SetValue {
  chakra::Attribute& attribute;

  void operator()(bool value) const { attribute.set_of_bool(value); }
  void operator()(std::int32_t value) const { attribute.set_of_int32(value); }
  void operator()(std::int64_t value) const { attribute.set_of_int64(value); }
  void operator()(double value) const { attribute.set_of_double(value); }
  void operator()(const std::string& value) const { attribute.set_of_text(value); }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) attribute.mutable_of_int64_list()->add_values(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) attribute.mutable_of_text_list()->add_values(value);
  }
};

template <class List>
ChakraAttributes attributes_of(const List& list) {
  ChakraAttributes attributes;
  for (const chakra::Attribute& attribute : list)
    if (auto value = value_of(attribute)) attributes[attribute.name()] = std::move(*value);
  return attributes;
}

template <class Message>
void add_attributes(Message& message, const ChakraAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    chakra::Attribute& attribute = *message.add_attributes();
    attribute.set_name(name);
    std::visit(SetValue{attribute}, value);
  }
}

// Returns the next message, without its length. Throws InputError if the file ends inside it.
std::string_view take_message(std::string_view& bytes, const SourceLocation& place) {
  const auto length = take_length(bytes);
  if (!length || *length > bytes.size())
    throw InputError(place, "the file ends inside this message, or is not a Chakra trace", "a complete .et file");
  const std::string_view message = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return message;
}

template <class Message>
Message parse(std::string_view bytes, const SourceLocation& place) {
  Message message;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw InputError(place, "is not a message of a Chakra trace", "an .et file of MLCommons Chakra");
  return message;
}

}  // namespace

bool is_chakra_protobuf(std::string_view head) {
  const auto length = take_length(head);
  if (!length || *length >= head.size()) return false;
  const std::string_view metadata = head.substr(0, *length);
  // The metadata has fields 1 and 2, both length-delimited: tags 0x0A and 0x12.
  if (!metadata.empty() && metadata[0] != 0x0A && metadata[0] != 0x12) return false;
  if (!chakra::Metadata().ParseFromArray(metadata.data(), static_cast<int>(metadata.size()))) return false;
  head.remove_prefix(*length);
  const auto next = take_length(head);  // a node starts with its id, its name or its type
  return next && *next > 0 && !head.empty() && (head[0] == 0x08 || head[0] == 0x12 || head[0] == 0x18);
}

ChakraTrace decode_chakra(std::string_view bytes, const std::string& file) {
  ChakraTrace trace;
  const SourceLocation first{file, "metadata"};
  trace.metadata = attributes_of(parse<chakra::Metadata>(take_message(bytes, first), first).attributes());
  while (!bytes.empty()) {
    const SourceLocation place{file, fmt::format("node {}", trace.nodes.size() + 1)};
    constexpr std::size_t most_nodes = 2'000'000;  // a node takes three bytes of a file, and some 400 of memory
    if (trace.nodes.size() == most_nodes)
      throw InputError(place, fmt::format("is after {} nodes", most_nodes), "a trace of fewer iterations");
    const auto node = parse<chakra::Node>(take_message(bytes, place), place);
    trace.nodes.push_back({node.id(),
                           node.name(),
                           node.type(),
                           {node.control_dependencies().begin(), node.control_dependencies().end()},
                           {node.data_dependencies().begin(), node.data_dependencies().end()},
                           static_cast<double>(node.microseconds()),
                           attributes_of(node.attributes()),
                           {file, fmt::format("node {}", node.id())}});
  }
  return trace;
}

std::string encode_chakra(const ChakraTrace& trace) {
  std::string bytes;
  chakra::Metadata metadata;
  metadata.set_version("0.0.4");
  add_attributes(metadata, trace.metadata);
  put(bytes, metadata);
  for (const ChakraNode& one : trace.nodes) {
    chakra::Node node;
    node.set_id(one.id);
    node.set_name(one.name);
    node.set_type(one.kind);
    for (const std::uint64_t id : one.control_dependencies) node.add_control_dependencies(id);
    for (const std::uint64_t id : one.data_dependencies) node.add_data_dependencies(id);
    node.set_microseconds(static_cast<std::uint64_t>(std::llround(one.microseconds)));
    add_attributes(node, one.attributes);
    put(bytes, node);
  }
  return bytes;
}

}  // namespace allreplay
