#include <algorithm>
#include <memory>

#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/pipeline_replay.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/search/best.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t few_workers = 32;  // in `message`, plans are compared up to this number

// The most comparisons for planning one start, about a second.
constexpr double most_to_compare = 1e9;

Candidate candidate_of(const Scenario& scenario, double seconds, double bytes, Plan plan) {
  return {{seconds, bytes, fits(scenario, bytes)}, std::move(plan)};
}

}  // namespace

bool PlanCost::better_than(const PlanCost& other) const {
  if (fits != other.fits) return fits;
  if (!fits && bytes != other.bytes) return bytes < other.bytes;
  return seconds != other.seconds ? seconds < other.seconds : bytes < other.bytes;
}

Candidate replayed(const Job& job, Plan plan) {
  if (plan.pipeline) {
    const PipelineCost cost = pipeline_cost(job, plan);
    return candidate_of(job.scenario, cost.iteration_s, cost.memory_bytes, std::move(plan));
  }
  const Result result = simulate(job, plan);
  return candidate_of(job.scenario, result.metrics.iteration_s, result.memory.peak, std::move(plan));
}

Job as_searched(Job job) {
  job.scenario.stragglers.jitter.reset();
  job.scenario.options.start = Start::Together;
  job.scenario.after_iteration = nullptr;
  job.scenario.parts = false;
  if (!job.choice.detailed()) return job;
  const Fabric& fabric = *job.fabric;
  ChannelCosts costs;
  for (const Call& call : fabric.calls()) costs.push_back({fabric.price(call), fabric.channels(call)});
  job.fabric = std::make_shared<AlphaBetaFabric>(fabric.calls(), fabric.workers(), std::move(costs), Sharing::Fair);
  job.choice.fidelity = Fidelity::AlphaBeta;
  return job;
}

bool is_affordable(const Scenario& scenario) {
  const Strategy& strategy = *scenario.strategy;
  const StrategyOptions& options = scenario.options.strategy;
  const auto tensors = static_cast<double>(scenario.profile->tensors.size());
  return strategy.slices(scenario.profile, options) <= most_slices &&
         (!strategy.comparisons || strategy.comparisons(options, tensors) <= most_to_compare);
}

std::vector<Scenario> others(const Scenario& scenario) {
  const CollectiveChoice choice = collective_of(scenario);
  const bool halves = choice.has_halves() || choice.gathers();
  std::vector<Scenario> all;
  for (const Strategy& strategy : strategies()) {
    if (strategy.searched() || strategy.local_steps || (strategy.split && !halves)) continue;
    Scenario other = scenario;
    other.strategy = &strategy;
    other.collective = choice.algorithm->name;  // instead of the other strategy's default
    other.place_of_collective = place_of_collective(scenario);
    if (strategy.shards()) other.options.strategy.sharding.zero = 0;
    if (stage_of(other) != scenario.options.strategy.sharding.zero || !is_compatible(other) || !is_affordable(other))
      continue;
    all.push_back(std::move(other));
  }
  return all;
}

Candidate best_of(const Scenario& scenario, std::vector<Plan> found, const std::vector<Scenario>& others,
                  const Watch& watch) {
  const Job job = job_of(scenario);
  const bool first = job.choice.fidelity == Fidelity::Message && scenario.workers > few_workers;
  Candidate best;
  const auto consider = [&](Candidate candidate) {
    if (candidate.cost.better_than(best.cost)) best = std::move(candidate);
  };
  const auto done = [&] { return first && best.cost.fits; };
  const std::function<void()> advance = watched(watch, found.size() + others.size());
  const auto try_on = [&](const Job& on, Plan plan) {
    Job prepared = prepared_for(plan, on);
    prepared.scenario.after_iteration = nullptr;  // it counts those of the plan that is chosen
    consider(replayed(prepared, std::move(plan)));
    if (advance) advance();
  };
  for (Plan& plan : found)
    if (!done()) try_on(job, std::move(plan));
  for (const Scenario& other : others) {
    if (done()) break;
    const Job own = job_of(other);
    try_on(own, plan_of(own));
  }
  best.plan.strategy = "best";
  return best;
}

}  // namespace allreplay
