#include "sim/studies/results/outcome.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/schedule/offer.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"

namespace allreplay {

std::string strategy_text(const Scenario& scenario) {
  const std::string name(scenario.strategy->name);
  if (!scenario.strategy->searched() || scenario.given) return name;
  const std::int64_t stage = scenario.options.strategy.sharding.zero;
  return stage == 0 ? name + " without shards" : fmt::format("{} --zero {}", name, stage);
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

namespace {

// The option's value for this strategy if it is not given.
std::string usual_value(const Strategy& strategy, std::string_view option, const Profile& profile) {
  Options usual;
  usual.strategy = with_defaults(strategy, usual.strategy, profile);
  usual.strategy.fsdp.wrap.by = has_groups(profile) ? Wrap::By::Group : Wrap::By::Layer;
  const OptionRow* row = option_named(option);
  const std::string value = usual.get(option);
  return value.empty() && row && row->default_text_of ? row->default_text_of(strategy) : value;
}

}  // namespace

std::size_t options_changed(const Strategy& strategy, const NamedValues& options, const Profile& profile) {
  const auto steps = step_options();
  const auto& on = strategy.offer.switched_on;
  return static_cast<std::size_t>(std::count_if(options.begin(), options.end(), [&](const auto& one) {
    const auto& [name, value] = one;
    const bool off = std::find(on.begin(), on.end(), name) != on.end();
    if (name == "memory" || value == (off ? "false" : usual_value(strategy, name, profile)))
      return false;  // the memory's size is not a setting
    return reads(strategy, name) || std::find(steps.begin(), steps.end(), name) != steps.end();
  }));
}

NamedValues options_to_show(const Scenario& scenario) {
  NamedValues options = options_in_effect(scenario);
  std::erase_if(options, [&](const auto& one) {
    const auto& [name, value] = one;
    if (scenario.options.places.contains(name)) return false;
    return name == "memory" || value == usual_value(*scenario.strategy, name, scenario.profile);
  });
  return options;
}

namespace {

// Converts the seconds of an iteration.
double of_equal_work(const Outcome& outcome, double seconds) {
  const auto& [scenario, result, wall_s] = outcome;
  const double replica = static_cast<double>(scenario.workers / degrees_of(scenario).dp);
  return seconds * replica / static_cast<double>(result.plan.sharding.accumulate);
}

}  // namespace

double seconds_of_equal_work(const Outcome& outcome) {
  return of_equal_work(outcome, outcome.result.metrics.iteration_s);
}

std::optional<double> doubted_seconds_of_equal_work(const Outcome& outcome) {
  const auto& doubted = outcome.result.doubted_s;
  return doubted ? std::optional(of_equal_work(outcome, *doubted)) : std::nullopt;
}

std::int64_t batches_of_iteration(const Outcome& outcome) {
  return degrees_of(outcome.scenario).dp * outcome.result.plan.sharding.accumulate;
}

Contender contender_of(const Outcome& outcome, const WinningRule& rule) {
  const auto& [scenario, result, wall_s] = outcome;
  const Strategy& strategy = *scenario.strategy;
  return {.fits = fits(scenario, result),
          .iteration_s = seconds_of_equal_work(outcome),
          .runs_now = strategy.name == rule.runs_now,
          .offered = scenario.given ? Offered::AsPlan
                                    : offered(strategy, scenario.options.strategy.sharding.shards_optimizer()),
          .changed = options_changed(strategy, options_in_effect(scenario), scenario.profile) +
                     (scenario.codec.has_value() ? 1 : 0),
          .stage = result.plan.sharding.zero,
          .collectives = result.metrics.collectives,
          .memory_bytes = result.memory.peak,
          .free = free_share(scenario.options.memory.limit, result.memory.peak),
          .doubted_s = doubted_seconds_of_equal_work(outcome)};
}

}  // namespace allreplay
