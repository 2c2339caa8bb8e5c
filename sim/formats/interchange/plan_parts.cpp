#include "sim/formats/interchange/plan_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/schedule/needs.hpp"

namespace allreplay {

ShardingConfig read_step(const Json& plan, const Profile& profile) {
  ShardingConfig step;
  const auto json = plan.find("step");
  if (!json) return step;
  json->allow_only({"accumulate", "zero", "shard_group", "ep", "outer", "secondary", "node", "sync_every", "delay"});
  if (const auto group = json->find("secondary")) step.secondary = group->integer(1, most_workers);
  if (const auto node = json->find("node")) step.node = node->integer(1, most_workers);
  const auto steps = json->find("sync_every"), accumulate = json->find("accumulate");
  if (steps) step.sync_every = steps->integer(1, 1'000'000);
  if (const auto delay = json->find("delay")) step.delay = delay->integer(0, step.steps() - 1);
  if (accumulate) step.accumulate = accumulate->integer(1, 1'000'000);
  if (accumulate || steps) require_bearable_passes(step, profile, (accumulate ? accumulate : steps)->place());
  if (const auto zero = json->find("zero")) step.zero = zero->integer(0, 3);
  if (const auto group = json->find("shard_group")) step.shard_group = group->integer(0, most_workers);
  if (const auto ep = json->find("ep")) {
    step.experts = ep->integer(1, most_workers);
    if (step.has_expert_groups() && !profile.has_experts())
      ep->fail(fmt::format("{} has no layers of experts", profile.name), "1, or leave it out");
  }
  if (const auto outer = json->find("outer")) {
    if (outer->text() != outer_word)
      outer->fail(fmt::format("'{}' is not a way to shard over groups", outer->text()), "\"optim\", or no \"outer\"");
    if (!step.shards_optimizer() || step.shard_group == 0)
      outer->fail("shards the optimizer over groups, but there are none",
                  "\"shard_group\" and \"zero\" above 0, or no \"outer\"");
    step.outer_optimizer = true;
  }
  return step;
}

MemoryPolicy read_memory_policy(const Json& plan, const Profile& profile, const PlanNames& layers, std::size_t blocks) {
  MemoryPolicy holding;
  const auto json = plan.find("holding");
  if (!json) return holding;
  json->allow_only({"parameter_bytes", "gradient_bytes", "whole_gradients", "reduce_buffer", "resident", "units",
                    "root", "step_bytes", "step_elements", "single_moment", "outer_bytes"});
  if (const auto bytes = json->find("parameter_bytes")) holding.parameter = bytes->integer(1, 64);
  if (const auto bytes = json->find("gradient_bytes")) holding.gradient = bytes->integer(1, 64);
  if (const auto whole = json->find("whole_gradients")) holding.whole_gradients = whole->boolean();
  constexpr std::int64_t most_elements = 1'000'000'000'000;  // as many as a profile may have
  if (const auto buffer = json->find("reduce_buffer")) holding.reduce_buffer = buffer->integer(0, most_elements);
  if (const auto bytes = json->find("step_bytes")) holding.step = bytes->integer(0, 64);
  if (const auto pieces = json->find("step_elements")) holding.step_elements = pieces->integer(0, most_elements);
  if (const auto moment = json->find("single_moment")) holding.single_moment = moment->integer(0, profile.elements());
  if (const auto bytes = json->find("outer_bytes")) holding.outer = bytes->integer(0, 64);
  if (const auto block = json->find("resident"))
    holding.resident = static_cast<std::uint32_t>(block->integer(0, static_cast<std::int64_t>(blocks) - 1));
  if (const auto units = json->find("units"))
    for (const Json& unit : units->items()) {
      unit.allow_only({"first", "last"});
      holding.units.push_back({layers.read(unit.at("first")), layers.read(unit.at("last"))});
      const bool next = holding.units.size() == 1
                            ? holding.units.back().first == 0
                            : holding.units[holding.units.size() - 2].last + 1 == holding.units.back().first;
      if (!next || holding.units.back().last < holding.units.back().first)
        unit.fail("does not follow the unit before", "every layer in one unit, in order");
    }
  if (!holding.units.empty() && holding.units.back().last + 1 != profile.layers.size())
    json->at("units").fail("do not include every layer", "every layer in one unit, in order");
  if (const auto root = json->find("root"))
    for (const Json& unit : root->items()) {
      holding.root.push_back(static_cast<std::uint32_t>(unit.integer(0, std::ssize(holding.units) - 1)));
      if (const auto count = holding.root.size(); count > 1 && holding.root[count - 2] >= holding.root.back())
        unit.fail("does not come after the number before", "numbers of \"units\", from 0, in order");
    }
  return holding;
}

void read_lanes(const Json& list, Plan& plan) {
  // The end of each transfer costs time proportional to the number of lanes; each rank of a pipeline has a few.
  const std::size_t most_lanes = std::max<std::size_t>(1000, 8 * plan.roles.size());
  if (list.items().size() > most_lanes)
    list.fail(fmt::format("has {} entries", list.items().size()), fmt::format("at most {}", most_lanes));
  for (const Json& json : list.items()) {
    json.allow_only({"name", "order", "window", "tick", "stream"});
    Lane lane{.name = read_name(json.at("name"))};
    for (const Lane& other : plan.lanes)
      if (other.name == lane.name)
        json.at("name").fail(fmt::format("two lanes are called '{}'", lane.name), "a name for each");
    if (const auto order = json.find("order")) lane.order = read_order(*order);
    if (const auto window = json.find("window")) lane.window = read_window(*window);
    if (const auto tick = json.find("tick")) lane.tick = read_tick(*tick);
    if (const auto stream = json.find("stream")) lane.stream = stream->boolean() && !plan.pipeline;
    plan.lanes.push_back(std::move(lane));
  }
  if (plan.lanes.empty()) list.fail("is empty", "at least one lane, or leave it out");
}

// Reads pairs of actions; row_of() in plans/pipeline/planned.cpp checks that each action is one run of its chunk's
// layers.
void read_pairs(const Json& list, const Plan& plan, Role& role) {
  if (!plan.pipeline->ep_overlap) list.fail("need \"ep_overlap\": true in \"parallel\"", "that, or no pairs");
  const auto is_run = [&](std::uint32_t from, std::uint32_t to, Activity kind) {
    const auto other = [&](const Work& one) {
      return is_pass(one.kind) && (one.kind != kind || one.micro_batch != role.program[to - 1].micro_batch);
    };
    return from < to && role.program[to - 1].kind == kind &&
           std::none_of(role.program.begin() + from, role.program.begin() + to, other);
  };
  const auto works = static_cast<std::int64_t>(role.program.size());
  for (const Json& json : list.items()) {
    json.allow_only({"forward", "backward", "end"});
    const auto place = [&](const char* key) { return static_cast<std::uint32_t>(json.at(key).integer(0, works)); };
    const WorkPair pair{place("forward"), place("backward"), place("end")};
    const bool in_order = role.pairs.empty() || role.pairs.back().end <= pair.forward;
    if (!in_order || !is_run(pair.forward, pair.backward, Activity::Forward) ||
        !is_run(pair.backward, pair.end, Activity::Backward))
      json.fail("is not a forward action directly followed by a backward action",
                "places in the program: the first work of each, and one past the last; pairs in order");
    role.pairs.push_back(pair);
  }
}

}  // namespace allreplay
