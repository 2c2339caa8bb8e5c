#include "sim/studies/search/plan_of.hpp"

#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/fidelity_note.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/search/best.hpp"

namespace allreplay {

namespace {

// In a pipeline, `best` is the best of all other strategies, unmodified.
Plan plan_of_pipeline(const Job& job, const Watch& watch) {
  const Scenario& scenario = job.scenario;
  if (!scenario.strategy->searched())
    return pipeline_plan(pipeline_request(scenario, *job.parallel, price_of_blocks(job)));
  Plan best = best_of(scenario, {}, others(scenario), watch).plan;
  best.strategy = scenario.strategy->name;
  return best;
}

}  // namespace

Plan plan_of(const Job& job, const Watch& watch) {
  const Scenario& scenario = job.scenario;
  if (scenario.given) return scenario.given->plan;
  if (scenario.options.parallel.pipeline()) return plan_of_pipeline(job, watch);
  if (scenario.strategy->searched()) return find_best(job, watch);
  const Shared<Profile> profile = slowest_profile(scenario);
  return make_plan(*scenario.strategy, {profile, price_of_blocks(job), scenario.options.strategy, !job.choice.gathers(),
                                        scenario.workers / scenario.options.strategy.sharding.stride,
                                        gpus_of_a_host(scenario.cluster.network)});
}

Plan plan_of(const Scenario& scenario, const Watch& watch) { return plan_of(job_of(scenario), watch); }

Result simulate(const Scenario& scenario, const Watch& watch) {
  const Job job = job_of(scenario);
  const Plan plan = plan_of(job, watch);
  const Job prepared = prepared_for(plan, job);
  Result result = simulate(prepared, plan);
  result.note = fidelity_note(prepared, plan);
  return result;
}

}  // namespace allreplay
