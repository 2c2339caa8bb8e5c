#include "sim/studies/experiment/run.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

Outcome run(Scenario scenario, std::function<void()> after_iteration) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{std::move(scenario), {}, 0};
  outcome.scenario.after_iteration = std::move(after_iteration);
  try {
    if (outcome.scenario.seeds.empty()) {
      outcome.result = simulate(outcome.scenario);
    } else {
      MeanOverSeeds mean;
      for (const Scenario& one : each_seed(outcome.scenario)) mean.add(simulate(one));
      outcome.result = std::move(mean).take(outcome.scenario.seeds.size());
    }
  } catch (const Stuck& error) {
    if (!outcome.scenario.given) throw;
    throw InputError({outcome.scenario.given->file, ""}, fmt::format("never ends: {}", error.what()),
                     "lanes that start no transfer before those that it waits for");
  } catch (const TimeOverflow& error) {  // each number is valid, but a combination of them is too large
    throw InputError(outcome.scenario.cluster.network.place,
                     fmt::format("{} with {} workers and {}: {}", outcome.scenario.profile->name,
                                 outcome.scenario.workers, outcome.scenario.strategy->name, error.what()),
                     "smaller times, or a faster network");
  }
  outcome.scenario.after_iteration = nullptr;
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Outcome run_alongside(const Scenario& scenario, std::function<void()> after_iteration) try {
  return run(scenario, after_iteration);
} catch (const NothingFits&) {
  Scenario unlimited = scenario;
  unlimited.options.memory.limit.reset();
  Outcome outcome = run(std::move(unlimited), std::move(after_iteration));
  outcome.scenario = scenario;
  return outcome;
}

std::string strategy_text(const Scenario& scenario) {
  const std::string name(scenario.strategy->name);
  if (!scenario.strategy->searched() || scenario.given) return name;
  const std::int64_t stage = scenario.options.strategy.sharding.zero;
  return stage == 0 ? name + " without shards" : fmt::format("{} --zero {}", name, stage);
}

Row row_of(const Outcome& outcome) {
  const auto& parallel = outcome.result.parallel;
  Row row = make_row(outcome.scenario, outcome.result.metrics, outcome.result.memory, outcome.wall_s,
                     parallel ? &*parallel : nullptr);
  append_statistics(row, outcome.result.by_seed);
  return row;
}

std::string chosen_schedule(const Outcome& outcome) {
  const auto& [scenario, result, wall_s] = outcome;
  const Plan& plan = result.plan;
  const bool searched = !scenario.given && !scenario.strategy->schedule && !scenario.strategy->plan;
  if (!searched || !plan.sharding.shards_parameters() || plan.pipeline) return "";
  const auto count = [&](CollectiveOp op) {
    return std::count_if(plan.transfers.begin(), plan.transfers.end(),
                         [&](const Transfer& one) { return one.op == op; });
  };
  const std::size_t layers = scenario.profile->layers.size(), units = plan.memory_policy.units.size();
  std::string text = units > 0 ? fmt::format("{} layers in {} unit{}", layers, units, units == 1 ? "" : "s")
                               : fmt::format("{} layers, each its own unit", layers);
  text +=
      fmt::format(": {} gathers, {} reductions", count(CollectiveOp::AllGather), count(CollectiveOp::ReduceScatter));
  if (const auto replicas = count(CollectiveOp::AllReduce); replicas > 0)
    text += fmt::format(", {} all-reduces among groups", replicas);
  return text + (plan.lanes.size() > 1 ? ", in separate lanes" : ", in one lane");
}

JsonValue stages_json(const ParallelResult& parallel) {
  auto list = JsonValue::array();
  for (const StageResult& one : parallel.stages) {
    auto chunks = JsonValue::array();
    for (const auto& [chunk, first, layers] : one.chunks)
      chunks.push_back({{"chunk", chunk}, {"first", first}, {"layers", layers}});
    auto memory = JsonValue::object();
    for (const auto& [name, bytes] : parts_of(one.memory.parts)) memory[name] = bytes;
    list.push_back({{"chunks", std::move(chunks)},
                    {"compute_s", one.compute_s},
                    {"layer_comm_s", one.layer_comm_s},
                    {"update_s", one.update_s},
                    {"bubble_s", one.bubble_s},
                    {"memory_bytes", one.memory.peak},
                    {"memory", std::move(memory)}});
  }
  return list;
}

Row row_with_schedule(const Outcome& outcome) {
  Row row = row_of(outcome);
  if (const std::string chosen = chosen_schedule(outcome); !chosen.empty()) row.push_back({"schedule", chosen});
  return row;
}

}  // namespace allreplay
