#include "sim/studies/experiment/wire_format.hpp"

#include <utility>

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome) {
  const Result& result = outcome.result;
  packer.all(result.fidelity, result.metrics, result.memory.parts, result.memory.peak, result.plan.sharding,
             outcome.wall_s, result.collective, result.warning);
}

Outcome unpack(Unpacker& unpacker, Scenario scenario) {
  Outcome outcome{std::move(scenario), {}, 0};
  Result& result = outcome.result;
  unpacker.all(result.fidelity, result.metrics, result.memory.parts, result.memory.peak, result.plan.sharding,
               outcome.wall_s, result.collective, result.warning);
  return outcome;
}

std::string pack_or_error(const std::function<void(Packer& packer)>& add) {
  try {
    Packer packer;
    add(packer.add(false));
    return packer.bytes();
  } catch (const InputError& error) {
    return Packer().add(true).add_text(error.what()).bytes();
  }
}

std::optional<std::string> take_error(Unpacker& unpacker) {
  if (!unpacker.take<bool>()) return std::nullopt;
  return unpacker.take_text();
}

namespace {

void pack(Packer& packer, const SourceLocation& place) { packer.add_text(place.file).add_text(place.path); }

SourceLocation unpack_place(Unpacker& unpacker) {
  std::string file = unpacker.take_text();
  return {std::move(file), unpacker.take_text()};
}

// Packs options or changes: names, values and places.
template <class Text>
void pack_texts(Packer& packer, const std::vector<Text>& texts) {
  packer.add(texts.size());
  for (const Text& text : texts) pack(packer.add_text(text.name).add_text(text.value), text.place);
}

template <class Text>
std::vector<Text> unpack_texts(Unpacker& unpacker) {
  std::vector<Text> texts(unpacker.take<std::size_t>());
  for (Text& text : texts) {
    text.name = unpacker.take_text();
    text.value = unpacker.take_text();
    text.place = unpack_place(unpacker);
  }
  return texts;
}

constexpr Given<std::string> Request::*placed_words[] = {&Request::profile, &Request::collective, &Request::fidelity,
                                                         &Request::codec,   &Request::strategy,   &Request::plan};
constexpr std::string Request::*words_of_request[] = {&Request::cluster, &Request::model, &Request::device,
                                                      &Request::tokens};

}  // namespace

void pack(Packer& packer, const SimulatedRow& row) {
  for (const NamedCell& column : row.row) packer.all(column.cell);
  packer.add_text(row.warning);
}

SimulatedRow unpack_swept(Unpacker& unpacker, std::span<const std::string_view> columns) {
  SimulatedRow row;
  for (const std::string_view name : columns) unpacker.all(row.row.emplace_back(name, Cell()).cell);
  row.warning = unpacker.take_text();
  return row;
}

void pack(Packer& packer, const Request& request) {
  for (const auto word : placed_words) pack(packer.add_text((request.*word).value), (request.*word).place);
  for (const auto word : words_of_request) packer.add_text(request.*word);
  pack(packer.all(request.forward_ratio.value), request.forward_ratio.place);
  pack(packer.all(request.workers.value), request.workers.place);
  packer.add(request.reuse).add(request.sequence_parallel);
  pack_texts(packer, request.options);
  pack_texts(packer, request.changes);
  pack_texts(packer, request.cluster_words);
}

Request unpack_request(Unpacker& unpacker) {
  Request request;
  for (const auto word : placed_words) {
    request.*word = unpacker.take_text();
    (request.*word).place = unpack_place(unpacker);
  }
  for (const auto word : words_of_request) request.*word = unpacker.take_text();
  unpacker.all(request.forward_ratio.value);
  request.forward_ratio.place = unpack_place(unpacker);
  unpacker.all(request.workers.value);
  request.workers.place = unpack_place(unpacker);
  request.reuse = unpacker.take<bool>();
  request.sequence_parallel = unpacker.take<bool>();
  request.options = unpack_texts<OptionText>(unpacker);
  request.changes = unpack_texts<ChangeText>(unpacker);
  request.cluster_words = unpack_texts<ChangeText>(unpacker);
  return request;
}

}  // namespace allreplay
