#include "sim/search/plan_of.hpp"

#include "sim/search/best.hpp"
#include "sim/training/communication.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

// Where nothing fits into a limit that nobody gave, the device's, the best that there is: it will be marked.
Plan searched_plan(const Scenario& scenario, const Communication& communication) {
  if (!scenario.options.memory.limit || scenario.options.places.contains("memory"))
    return find_best(scenario, communication);
  try {
    return find_best(scenario, communication);
  } catch (const NothingFits&) {
    Scenario unlimited = scenario;
    unlimited.options.memory.limit.reset();
    return find_best(unlimited, communication);
  }
}

}  // namespace

Plan plan_of(const Scenario& scenario, const Communication& communication) {
  if (scenario.given) return scenario.given->plan;
  if (scenario.strategy->searched()) return searched_plan(scenario, communication);
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
