#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/formats/interchange/plan_words.hpp"

namespace allreplay {

namespace {

// Host steps follow from the profile, and no gate refers to them.
bool is_written(const Work& work) { return work.kind != Activity::HostStep; }

class PlanWriter {
 public:
  PlanWriter(const Plan& plan, const Profile& profile, const Dtypes& dtypes)
      : plan_(plan), dtypes_(dtypes), layers_(profile.layers, "layer"), tensors_(profile.tensors, "tensor") {}

  std::string write() const {
    JsonValue value{{"strategy", plan_.strategy}};
    if (!(plan_.sharding == ShardingConfig{.experts = plan_.pipeline ? plan_.sharding.experts : 1}))
      value["step"] = step();
    if (dtypes_.gradient) value["gradient_dtype"] = write_dtype(*dtypes_.gradient);
    if (dtypes_.parameter) value["parameter_dtype"] = write_dtype(*dtypes_.parameter);
    if (plan_.copy_rate) value["copy"] = fmt::format("{} B/s", *plan_.copy_rate);
    if (plan_.quantise_rate) value["quantise"] = fmt::format("{} B/s", *plan_.quantise_rate);
    if (plan_.outer_update > Time(0)) value["outer_update"] = write_duration(plan_.outer_update);
    if (!(plan_.memory_policy == MemoryPolicy())) value["holding"] = holding();
    if (plan_.queueing) write_queueing(value, *plan_.queueing);
    value["blocks"] = blocks();
    value["lanes"] = lanes();
    if (plan_.pipeline)
      write_ranks(value);
    else
      value["program"] = program(plan_.roles.front());
    value["transfers"] = transfers();
    return json_text(value, 2);
  }

 private:
  // Writes a pipeline's layout, and a program for each rank.
  void write_ranks(JsonValue& value) const {
    const PlannedPipeline& pipeline = *plan_.pipeline;
    value["parallel"] = {{"pp", plan_.roles.size()},
                         {"tp", pipeline.tp},
                         {"cp", pipeline.cp},
                         {"ep", pipeline.ep},
                         {"schedule", pipeline.schedule},
                         {"stages", JsonValue::array()},
                         {"update_barrier", plan_.together ? "all" : "stage"},
                         {"barrier", to_string(pipeline.barrier)}};
    for (const std::int64_t layers : pipeline.layers) value["parallel"]["stages"].push_back(layers);
    if (pipeline.ep_overlap) value["parallel"]["ep_overlap"] = true;
    value["ranks"] = JsonValue::array();
    for (const Role& role : plan_.roles) {
      value["ranks"].push_back({{"program", program(role)}});
      if (!role.pairs.empty()) value["ranks"].back()["pairs"] = JsonValue::array();
      for (const WorkPair& pair : role.pairs)
        value["ranks"].back()["pairs"].push_back({{"forward", written_place(role, pair.forward)},
                                                  {"backward", written_place(role, pair.backward)},
                                                  {"end", written_place(role, pair.end)}});
    }
  }

  // The work's place among those that program() writes.
  static std::int64_t written_place(const Role& role, std::uint32_t place) {
    return std::count_if(role.program.begin(), role.program.begin() + place, is_written);
  }

  JsonValue blocks() const {
    JsonValue list = JsonValue::array();
    for (const Block& block : plan_.blocks) {
      JsonValue slices = JsonValue::array();
      for (const Slice& slice : block.slices)
        slices.push_back({{"tensor", tensors_.write(slice.tensor)}, {"offset", slice.offset}, {"bytes", slice.bytes}});
      list.push_back({{"slices", std::move(slices)}, {"priority", block.priority}});
      if (block.tick > 0) list.back()["tick"] = block.tick;
    }
    return list;
  }

  JsonValue lanes() const {
    JsonValue list = JsonValue::array();
    for (const Lane& lane : plan_.lanes) {
      list.push_back({{"name", lane.name}, {"order", to_string(lane.order)}, {"window", write_window(lane.window)}});
      if (lane.tick > Time(0)) list.back()["tick"] = write_duration(lane.tick);
      if (lane.stream) list.back()["stream"] = true;
    }
    return list;
  }

  JsonValue step() const {
    const ShardingConfig& sharding = plan_.sharding;
    JsonValue value{
        {"accumulate", sharding.accumulate}, {"zero", sharding.zero}, {"shard_group", sharding.shard_group}};
    if (!plan_.pipeline && sharding.has_expert_groups()) value["ep"] = sharding.experts;
    if (sharding.outer_optimizer) value["outer"] = outer_word;
    if (sharding.secondary > 1) value["secondary"] = sharding.secondary;
    if (sharding.node > 0) value["node"] = sharding.node;
    if (sharding.averages()) value["sync_every"] = sharding.sync_every;
    if (sharding.delay > 0) value["delay"] = sharding.delay;
    return value;
  }

  JsonValue holding() const {
    const MemoryPolicy& holding = plan_.memory_policy;
    JsonValue value = JsonValue::object();
    if (holding.parameter > 0) value["parameter_bytes"] = holding.parameter;
    if (holding.gradient > 0) value["gradient_bytes"] = holding.gradient;
    if (holding.whole_gradients) value["whole_gradients"] = true;
    if (holding.reduce_buffer >= 0) value["reduce_buffer"] = holding.reduce_buffer;
    if (holding.resident) value["resident"] = *holding.resident;
    if (holding.step) value["step_bytes"] = *holding.step;
    if (holding.step_elements > 0) value["step_elements"] = holding.step_elements;
    if (holding.single_moment > 0) value["single_moment"] = holding.single_moment;
    if (holding.outer > 0) value["outer_bytes"] = holding.outer;
    if (!holding.units.empty()) value["units"] = JsonValue::array();
    for (const Unit& unit : holding.units)
      value["units"].push_back({{"first", layers_.write(unit.first)}, {"last", layers_.write(unit.last)}});
    if (!holding.root.empty()) value["root"] = holding.root;
    return value;
  }

  JsonValue work(const Work& work) const {
    JsonValue value{{to_string(work.kind), !is_of_layer(work.kind)   ? JsonValue(work.item)
                                           : work.item == everything ? JsonValue(everything_word)
                                                                     : layers_.write(work.item)}};
    if (work.micro_batch > 0) value["batch"] = work.micro_batch;
    return value;
  }

  JsonValue point(const PlanPoint& point) const {
    if (const auto* one = std::get_if<WorkPoint>(&point)) {
      JsonValue value = work(plan_.roles[one->role].program[one->place]);
      if (plan_.pipeline) value["rank"] = one->role;
      if (one->computed) value["computed"] = true;
      return value;
    }
    if (const auto* one = std::get_if<TransferPoint>(&point)) return {{"transfer", one->index}};
    return start_word;
  }

  JsonValue program(const Role& role) const {
    JsonValue list = JsonValue::array();
    for (const Work& one : role.program)
      if (is_written(one)) list.push_back(work(one));
    return list;
  }

  JsonValue transfers() const {
    JsonValue list = JsonValue::array();
    for (const Transfer& transfer : plan_.transfers) {
      const bool block = transfer.payload.block != Payload::just_bytes;
      list.push_back({{"op", to_string(transfer.op)},
                      {block ? "block" : "bytes",
                       block ? JsonValue(transfer.payload.block) : JsonValue(static_cast<double>(transfer.bytes))},
                      {"lane", plan_.lanes[transfer.lane].name},
                      {"priority", transfer.priority}});
      if (!transfer.travels()) {
        list.back() = {{"computes", to_string(transfer.computes)},
                       {"block", transfer.payload.block},
                       {"bytes", static_cast<double>(transfer.bytes)},
                       {"lane", plan_.lanes[transfer.lane].name}};
      }
      if (const std::string_view kind = name_of_payload(transfer.payload.kind); !kind.empty())
        list.back()["payload"] = std::string(kind);
      if (transfer.payload.wire.quantises()) list.back()["wire"] = write_wire(transfer.payload.wire);
      if (transfer.ticks_from) list.back()["ticks_from"] = point(*transfer.ticks_from);
      if (transfer.held_until) list.back()["held_until"] = point(*transfer.held_until);
      if (plan_.pipeline || (transfer.travels() && transfer.group != group_all))
        list.back()["axis"] = plan_.groups[transfer.group].name;
      if (transfer.micro_batch > 0) list.back()["batch"] = transfer.micro_batch;
      list.back()["before"] = JsonValue::array();
      list.back()["after"] = JsonValue::array();
    }
    for (const Gate& gate : plan_.gates) {
      const auto* sends = gate.transfer_after();
      JsonValue& ends = sends ? list[sends->index]["after"] : list[gate.transfer_before()->index]["before"];
      ends.push_back(point(sends ? gate.before : gate.after));
      if (gate.next) ends.back()["next"] = true;
    }
    return list;
  }

  const Plan& plan_;
  const Dtypes& dtypes_;
  PlanNames layers_, tensors_;
};

}  // namespace

std::string write_plan(const Plan& plan, const Profile& profile, const Dtypes& dtypes) {
  return PlanWriter(plan, profile, dtypes).write();
}

}  // namespace allreplay
