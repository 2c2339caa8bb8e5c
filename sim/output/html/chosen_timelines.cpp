#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/html/pages.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/doubt.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

namespace {

using Rerun = std::variant<Outcome, std::string>;

class Simulator {
 public:
  Simulator(const Inputs& inputs, const SweepResult& result, const Sweep& sweep)
      : result_(result), sweep_(sweep), library_(inputs) {}

  Rerun rerun(const ResultRow& row) {
    try {
      const auto scenario = in_sweep(row);
      if (!scenario) return std::string("the configuration has no such row");
      Outcome outcome = run(*scenario);
      if (const double now = outcome.result.metrics.iteration_s; now != row.iteration_s)
        return fmt::format(
            "an iteration now takes {}, but the CSV says {}: the profile, the cluster or the program has changed since "
            "the sweep",
            format_duration(now), format_duration(row.iteration_s));
      return outcome;
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  }

 private:
  // Returns the scenario of the sweep whose identity matches the row.
  std::optional<Scenario> in_sweep(const ResultRow& row) {
    for (const Request& request : sweep_.requests) {
      if ((request.plan.empty() && request.strategy != row.strategy) ||
          request.workers.value.value_or(row.workers) != row.workers)
        continue;
      if (std::filesystem::path(request.profile.value).stem() !=
          std::filesystem::path(fmt::format("{}.json", row.profile)).stem())
        continue;
      Scenario scenario = library_.resolve(request);
      if (is_of(row, identity(scenario))) return scenario;
    }
    return std::nullopt;
  }

  bool is_of(const ResultRow& row, const Row& names) const {
    return std::all_of(names.begin(), names.end(), [&](const NamedCell& one) {
      const std::string key(one.column->key);
      return result_.table->has(key) && result_.table->text(*row.line, key) == unquoted_text(one.cell);
    });
  }

  const SweepResult& result_;
  const Sweep& sweep_;
  Library library_;
};

}  // namespace

ChosenTimelines choose_timelines(const Inputs& inputs, const SweepResult& result, const Sweep& sweep,
                                 std::size_t most) {
  std::vector<ChosenTimeline> candidates;
  for (std::size_t group = 0; group < result.groups.size(); ++group) {
    const Rows& rows = result.groups[group].by_workers.rbegin()->second.rows;
    if (rows.empty()) continue;  // no row fits into memory
    candidates.push_back({rows.front(), group, true, ""});
    if (rows.size() > 1) candidates.push_back({rows.back(), group, false, ""});
  }
  ChosenTimelines chosen;
  chosen.left_out = candidates.size() - std::min(candidates.size(), most);
  candidates.resize(candidates.size() - chosen.left_out);
  Progress progress("timelines", candidates.size());
  Simulator simulator(inputs, result, sweep);
  for (ChosenTimeline& one : candidates) {
    one.outcome = simulator.rerun(result.rows[one.row]);
    progress.advance();
  }
  chosen.timelines = std::move(candidates);
  return chosen;
}

void doubt_races(const Inputs& inputs, SweepResult& result, const Sweep& sweep) {
  constexpr std::size_t most_groups = 8, most_rows = 12;
  if (!result.rule.doubt) return;
  Simulator simulator(inputs, result, sweep);
  for (std::size_t group = 0; group < std::min(result.groups.size(), most_groups); ++group) {
    Race& race = result.groups[group].by_workers.rbegin()->second;
    const Rows rows(race.rows.begin(),
                    race.rows.begin() + static_cast<std::ptrdiff_t>(std::min(race.rows.size(), most_rows)));
    std::vector<Outcome> outcomes;
    for (const std::size_t row : rows)
      if (Rerun again = simulator.rerun(result.rows[row]); auto* const outcome = std::get_if<Outcome>(&again))
        outcomes.push_back(std::move(*outcome));
    if (outcomes.empty() || outcomes.size() < rows.size()) continue;
    std::vector<Outcome*> racers;
    for (Outcome& one : outcomes) racers.push_back(&one);
    add_doubts(racers, result.rule);
    for (std::size_t i = 0; i < rows.size(); ++i) result.rows[rows[i]].doubted_s = outcomes[i].result.doubted_s;
    const Scenario& scenario = outcomes.front().scenario;
    race.nodes = nodes_of(scenario.cluster.network, scenario.workers);
    rank_again(result, race);
  }
}

}  // namespace allreplay
