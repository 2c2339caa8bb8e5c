#include "sim/studies/experiment/reasons.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/job.hpp"

namespace allreplay {

namespace {

// Replays on a network without start-up times. Returns none if the network does not state them separately.
std::optional<Metrics> without_start_ups(const Outcome& outcome) {
  Scenario scenario = outcome.scenario;
  scenario.options.launch = scenario.options.launch_tensor = Time(0);
  scenario.after_iteration = nullptr;
  scenario.parts = false;
  Network& network = scenario.cluster.network;
  const Adjustment none{0.0, 0};
  const bool nccl = collective_of(scenario).algorithm->name == "nccl";
  try {
    change_latency(network, Level::Outside, none, nccl, {});
    if (node_workers_of(network) > 1 && !network.measured && network.table.empty() && network.tables.empty())
      change_latency(network, Level::Inside, none, nccl, {});
    return simulate(scenario, outcome.result.plan).metrics;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

double Reasons::exposed() const { return std::accumulate(seconds.begin() + 1, seconds.end(), 0.0); }

Bound Reasons::most() const {
  constexpr double hardly = 0.005;  // share of an iteration
  if (exposed() <= hardly * (of(Bound::Computing) + exposed())) return Bound::Computing;
  const auto largest = std::max_element(seconds.begin() + 1, seconds.end());
  return static_cast<Bound>(largest - seconds.begin());
}

Reasons reasons_of(const Outcome& outcome) {
  const Metrics& m = outcome.result.metrics;
  Reasons reasons;
  const double beyond = m.exposed_comm_s + m.straggler_s;  // the computation of a worker without slowdown
  double left = std::max(0.0, beyond);
  const auto take = [&](Bound bound, double seconds) {
    const double taken = std::clamp(seconds, 0.0, left);
    reasons.of(bound) += taken;
    left -= taken;
  };
  const double computing = m.iteration_s - beyond;
  reasons.of(Bound::Computing) = m.iteration_s - left;
  const double slowest = slowest_factor(outcome.scenario) * computing;
  take(Bound::Stragglers, slowest - computing);
  // Copies extend the work of the GPU. The bound contains them, so they would otherwise count as the first layer's.
  const double working = slowest + std::min(m.copy_s, left);
  take(Bound::Copies, m.copy_s);
  const auto bare = left > 0 ? without_start_ups(outcome) : std::nullopt;
  if (bare) {
    const double busy = std::max(working, bare->comm_busy_s);
    take(Bound::Traffic, busy - working);
    // With jitter the bound is computed from the drawn times, so it contains stragglers.
    take(outcome.scenario.stragglers.jitter ? Bound::Stragglers : Bound::FirstLayer,
         bare->lower_bound_s.value_or(0) - busy);
    take(Bound::StartUps, m.iteration_s - bare->iteration_s);
  }
  take(Bound::Schedule, left);
  return reasons;
}

}  // namespace allreplay
