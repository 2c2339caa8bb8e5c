#include "sim/formats/interchange/plan_words.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"

namespace allreplay {

namespace {

const std::string halves[] = {to_string(CollectiveOp::ReduceScatter), to_string(CollectiveOp::AllGather)};

template <class Enum>
Enum read_word(const Json& json, std::initializer_list<Enum> words) {
  std::vector<std::string> names;
  for (const Enum word : words) {
    if (to_string(word) == json.text()) return word;
    names.push_back(to_string(word));
  }
  json.fail(fmt::format("'{}' is not one of these", json.text()), fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace

JsonValue PlanNames::write(std::uint32_t index) const {
  return by_name_.at(names_[index]).size() == 1 ? JsonValue(names_[index]) : JsonValue(index);
}

std::uint32_t PlanNames::read(const Json& json) const {
  if (json.is_number()) return static_cast<std::uint32_t>(json.integer(0, static_cast<int>(names_.size()) - 1));
  const auto found = by_name_.find(json.text());
  if (found == by_name_.end())
    json.fail(fmt::format("the profile has no {} '{}'", noun_, json.text()), suggest(json.text(), names_));
  if (found->second.size() > 1)
    json.fail(fmt::format("{} {}s are called '{}'", found->second.size(), noun_, json.text()),
              fmt::format("its number, such as {}", found->second.front()));
  return found->second.front();
}

bool is_of_layer(Activity kind) { return is_pass(kind) || kind == Activity::Update; }

Order read_order(const Json& json) { return read_word(json, {Order::FirstReady, Order::AsListed, Order::Priority}); }
Barrier read_barrier(const Json& json) { return read_word(json, {Barrier::Iteration, Barrier::Layer}); }

JsonValue write_dtype(Dtype dtype) { return std::string(name_of(dtype_words, dtype)); }

Dtype read_dtype(const Json& json) {
  return choose_by_name(dtype_words, json.text(), json.place(), "'{}' is not a type that can be sent").value;
}

CollectiveOp read_op(const Json& json, bool of_pipeline) {
  using enum CollectiveOp;
  return of_pipeline ? read_word(json, {AllReduce, ReduceScatter, AllGather, Send})
                     : read_word(json, {AllReduce, ReduceScatter, AllGather, AllToAll, Gather, Scatter});
}

namespace {

constexpr Word<Payload::Kind> payloads[] = {{Payload::Kind::Secondary, "secondary"},
                                            {Payload::Kind::Matrices, "matrices"},
                                            {Payload::Kind::PseudoGradient, "pseudo-gradient"}};

}  // namespace

std::string_view name_of_payload(Payload::Kind kind) {
  for (const auto& [value, name] : payloads)
    if (value == kind) return name;
  return "";
}

std::optional<Payload::Kind> read_payload(const Json& transfer) {
  const auto json = transfer.find("payload");
  if (!json) return std::nullopt;
  return choose_by_name(payloads, json->text(), json->place(), "'{}' is not a kind of data").value;
}

JsonValue write_wire(const WireType& wire) {
  JsonValue json = JsonValue::object();
  if (wire.bits > 0) json["bits"] = static_cast<std::int64_t>(wire.bits);
  if (wire.block > 0) json["block"] = static_cast<std::int64_t>(wire.block);
  if (wire.block > 0) json["scale_bytes"] = static_cast<std::int64_t>(wire.scale_bytes);
  return json;
}

WireType read_wire(const Json& json) {
  json.allow_only({"bits", "block", "scale_bytes"});
  WireType wire;
  if (const auto bits = json.find("bits")) wire.bits = static_cast<std::uint8_t>(bits->integer(1, 64));
  if (const auto block = json.find("block")) {
    wire.block = static_cast<std::uint32_t>(block->integer(1, std::int64_t{1} << 31));
    wire.scale_bytes = static_cast<std::uint8_t>(json.at("scale_bytes").integer(1, 64));
  }
  if (!wire.quantises()) json.fail("is not a format", "{\"bits\": 8}, or {\"block\": 2048, \"scale_bytes\": 4}");
  return wire;
}

Activity read_computation(const Json& json) {
  return read_word(json, {Activity::Quantise, Activity::Dequantise, Activity::NewtonSchulz});
}

JsonValue write_window(const Window& window) {
  return window.bytes != Window::unlimited ? JsonValue{{"bytes", window.bytes}} : JsonValue{{"blocks", window.count}};
}

Window read_window(const Json& json) {
  json.allow_only({"blocks", "bytes"});
  const auto blocks = json.find("blocks"), bytes = json.find("bytes");
  if (blocks.has_value() == bytes.has_value())
    json.fail("is not a valid window", "{\"blocks\": 4} or {\"bytes\": 4000000}");
  if (blocks) return {.count = blocks->integer(1, Window::unlimited)};
  return {.count = Window::unlimited, .bytes = bytes->integer(1, Window::unlimited)};
}

Time read_tick(const Json& json) {
  constexpr double most = 86'400;
  const double seconds = json.duration();
  if (seconds > most || to_time(seconds) <= Time(0))
    json.fail("is not a valid tick", "1 ps to a day, such as \"5 ms\"");
  return to_time(seconds);
}

void write_queueing(JsonValue& value, const QueueingPolicy& travel) {
  value["order"] = to_string(travel.order);
  value["window"] = write_window(travel.window);
  value["barrier"] = to_string(travel.barrier);
  if (travel.split) value["stages"] = {halves[0], halves[1]};
  if (travel.release == Release::Backward) value["release"] = "backward";
  if (travel.tick > Time(0)) value["tick"] = write_duration(travel.tick);
}

QueueingPolicy read_queueing(const Json& json) {
  QueueingPolicy travel;
  if (const auto order = json.find("order")) travel.order = read_order(*order);
  if (const auto window = json.find("window")) travel.window = read_window(*window);
  if (const auto barrier = json.find("barrier")) travel.barrier = read_barrier(*barrier);
  if (const auto tick = json.find("tick")) travel.tick = read_tick(*tick);
  if (const auto release = json.find("release")) {
    if (release->text() != "backward" && release->text() != "layer")
      release->fail(fmt::format("'{}' is not a valid release", release->text()), "layer or backward");
    travel.release = release->text() == "layer" ? Release::Layer : Release::Backward;
  }
  if (const auto stages = json.find("stages")) {
    std::vector<std::string> words;
    for (const Json& stage : stages->items()) words.push_back(stage.text());
    travel.split = std::equal(words.begin(), words.end(), std::begin(halves), std::end(halves));
    if (!travel.split && words != std::vector{to_string(CollectiveOp::AllReduce)})
      stages->fail("are not valid stages", "[\"all-reduce\"], or [\"reduce-scatter\", \"all-gather\"]");
  }
  return travel;
}

}  // namespace allreplay
