#include "sim/search/plan_of.hpp"

#include "sim/search/best.hpp"
#include "sim/training/job.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

Plan plan_of(const Job& job) {
  const Scenario& scenario = job.scenario;
  if (scenario.given) return scenario.given->plan;
  if (scenario.strategy->searched()) return find_best(job);
  const Shared<Profile> profile = slowest_profile(scenario);
  return make_plan(*scenario.strategy,
                   {profile, price_of_blocks(job), scenario.options.strategy, !job.choice.gathers(), scenario.workers});
}

Plan plan_of(const Scenario& scenario) { return plan_of(job_of(scenario)); }

Result simulate(const Scenario& scenario) {
  const Job job = job_of(scenario);
  const Plan plan = plan_of(job);
  return simulate(prepared_for(plan, job), plan);
}

}  // namespace allreplay
