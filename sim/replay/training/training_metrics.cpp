#include "sim/replay/training/training_metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace allreplay {

namespace {

// Returns the times of each kind of work on the compute stream of a worker without slowdown.
std::array<Time, std::size(activity_rows)> times_by_kind(const Unrolled& unrolled) {
  std::array<Time, std::size(activity_rows)> sums{};
  for (TaskId id = 0; id < unrolled.labels.size(); ++id) {
    const Label& label = unrolled.labels[id];
    Time& sum = sums[static_cast<std::size_t>(label.kind)];
    if (label.worker_class == 0) sum = add(sum, unrolled.nominal[id]);
  }
  return sums;
}

// Returns the time of Muon's Newton-Schulz: that on the compute stream, or of the owner that computes most. None if the
// step is not Muon's.
std::optional<double> newton_schulz_of(const Plan& plan, const Unrolled& unrolled, Time on_stream) {
  if (plan.memory_policy.single_moment == 0) return std::nullopt;
  std::vector<Time> owners(plan.lanes.size(), Time(0));
  for (std::size_t i = 0; i < unrolled.transfers; ++i)
    if (const Transfer& one = plan.transfers[i]; one.computes == Activity::NewtonSchulz)
      owners[one.lane] = add(owners[one.lane], unrolled.graph.tasks()[unrolled.transfer(i)].duration);
  return to_seconds(owners.empty() ? on_stream : std::max(on_stream, *std::max_element(owners.begin(), owners.end())));
}

// Divides the times of a round by its steps.
void share_among_steps(const Plan& plan, Metrics& metrics) {
  if (!plan.sharding.averages()) return;
  metrics.period_s = metrics.iteration_s;
  const auto steps = static_cast<double>(plan.sharding.steps());
  for (double* one : {&metrics.iteration_s, &metrics.update_s, &metrics.host_step_s, &metrics.copy_s, &metrics.codec_s,
                      &metrics.comm_busy_s})
    *one /= steps;
  if (metrics.lower_bound_s) *metrics.lower_bound_s /= steps;
}

}  // namespace

double without_rounding(double seconds) { return std::abs(seconds) < 0.5e-12 ? 0 : seconds; }

Metrics metrics_of(const Scenario& scenario, const Plan& plan, const Period& period, const Unrolled& unrolled) {
  Metrics metrics;
  metrics.iteration_s = period.iteration_s;
  metrics.comm_busy_s = period.comm_busy_s;
  if (!scenario.codec) metrics.lower_bound_s = period.lower_bound_s;
  const auto times = times_by_kind(unrolled);
  const auto seconds_of = [&](Activity a, Activity b) {
    return to_seconds(add(times[static_cast<std::size_t>(a)], times[static_cast<std::size_t>(b)]));
  };
  const auto time_of = [&](Activity activity) { return times[static_cast<std::size_t>(activity)]; };
  metrics.update_s = to_seconds(add(time_of(Activity::Update), time_of(Activity::OuterUpdate)));
  metrics.newton_schulz_s = newton_schulz_of(plan, unrolled, time_of(Activity::NewtonSchulz));
  metrics.update_s += metrics.newton_schulz_s.value_or(0);
  metrics.host_step_s = to_seconds(time_of(Activity::HostStep));
  metrics.copy_s = seconds_of(Activity::CopyOut, Activity::CopyIn);
  if (!unrolled.separate_codec) metrics.codec_s = seconds_of(Activity::Encode, Activity::Decode);
  metrics.codec_s += to_seconds(times[static_cast<std::size_t>(Activity::Dequantise)]);
  share_among_steps(plan, metrics);
  add_speeds(scenario.profile, plan.sharding.accumulate, {.dp = scenario.workers}, metrics);
  const double compute = static_cast<double>(plan.sharding.accumulate) * (metrics.forward_s + metrics.backward_s);
  const auto steps = static_cast<double>(plan.sharding.steps());
  metrics.straggler_s = without_rounding((period.iteration_s - period.without_stragglers_s) / steps);
  metrics.exposed_comm_s = without_rounding(metrics.iteration_s - metrics.straggler_s - compute - metrics.update_s -
                                            metrics.host_step_s - metrics.codec_s);
  return metrics;
}

void add_speeds(const Profile& profile, std::int64_t micro_batches, const Degrees& degrees, Metrics& metrics) {
  const auto passes = static_cast<double>(micro_batches);
  const auto workers = static_cast<double>(degrees.workers());
  metrics.forward_s = to_seconds(profile.forward());
  metrics.backward_s = to_seconds(profile.backward());
  const double whole = passes * (metrics.forward_s + metrics.backward_s) +
                       to_seconds(add(profile.update.value_or(Time(0)), profile.host.step));
  metrics.host_s = passes * to_seconds(profile.waiting()) + to_seconds(profile.host.step);
  metrics.speedup = workers / static_cast<double>(degrees.pp) * whole / metrics.iteration_s;
  metrics.efficiency = metrics.speedup / workers;
  if (profile.batch_size)
    metrics.samples_per_s =
        static_cast<double>(degrees.dp) * passes * static_cast<double>(*profile.batch_size) / metrics.iteration_s;
}

}  // namespace allreplay
