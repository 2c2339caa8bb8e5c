#include "sim/search/plan_of.hpp"

#include "sim/search/best.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

Plan plan_of(const Scenario& scenario, const Communication& communication) {
  if (scenario.given) return scenario.given->plan;
  if (scenario.strategy->searched()) return find_best(scenario, communication);
  const Shared<Profile> profile = slowest_profile(scenario);
  return make_plan(*scenario.strategy, {profile, price_of_blocks(scenario, communication), scenario.options.strategy,
                                        !communication.choice.gathers(), scenario.workers});
}

Plan plan_of(const Scenario& scenario) { return plan_of(scenario, communication_of(scenario)); }

Result simulate(const Scenario& scenario) {
  const Communication communication = communication_of(scenario);
  const Plan plan = plan_of(scenario, communication);
  return simulate(scenario, plan, prepared_for(plan, communication));
}

}  // namespace allreplay
