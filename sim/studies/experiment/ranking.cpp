#include "sim/studies/experiment/ranking.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "sim/plans/schedule/offer.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"

namespace allreplay {

std::optional<double> free_share(const std::optional<Bytes>& limit, double bytes) {
  return limit ? std::optional(1 - bytes / static_cast<double>(*limit)) : std::nullopt;
}

bool leaves_room(const std::optional<double>& free, const WinningRule& rule) { return !free || *free >= rule.headroom; }

namespace {

// By contender: the time with less bandwidth between nodes if it is beyond the tie of the least there, else 0. All are
// 0 unless the times of all ties are known.
std::vector<double> losses_in_doubt(const std::vector<Contender>& contenders, const std::vector<bool>& ties,
                                    const WinningRule& rule) {
  std::vector<double> losses(contenders.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (!ties[i]) continue;
    if (!contenders[i].doubted_s) return losses;
    least = std::min(least, *contenders[i].doubted_s);
  }
  for (std::size_t i = 0; i < contenders.size(); ++i)
    if (ties[i] && *contenders[i].doubted_s > least * (1 + rule.tie)) losses[i] = *contenders[i].doubted_s;
  return losses;
}

}  // namespace

Ranking rank(const std::vector<Contender>& contenders, const WinningRule& rule) {
  const auto fits_well = [&](const Contender& one) { return one.fits && leaves_room(one.free, rule); };
  const bool any = std::any_of(contenders.begin(), contenders.end(), fits_well);
  const auto competes = [&](const Contender& one) { return any ? fits_well(one) : one.fits; };
  double least = std::numeric_limits<double>::infinity();
  for (const Contender& one : contenders)
    if (competes(one)) least = std::min(least, one.iteration_s);
  const auto ties = [&](const Contender& one) { return competes(one) && one.iteration_s <= least * (1 + rule.tie); };
  const auto effort = [](const Contender& one) {
    return std::tuple(!one.runs_now, one.is_crowded(), one.is_crowded() ? one.memory_bytes : 0, one.offered,
                      one.changed, one.stage);
  };
  const auto cost = [](const Contender& one) { return std::tuple(one.iteration_s, one.collectives, one.memory_bytes); };
  const auto standing = [&](const Contender& one) { return std::tuple(!one.fits, !competes(one), cost(one)); };
  std::vector<bool> tied;
  for (const Contender& one : contenders) tied.push_back(ties(one));
  const std::vector<double> losses = losses_in_doubt(contenders, tied, rule);
  Ranking ranking;
  ranking.order.resize(contenders.size());
  std::iota(ranking.order.begin(), ranking.order.end(), std::size_t{0});
  std::stable_sort(ranking.order.begin(), ranking.order.end(), [&](std::size_t first, std::size_t second) {
    const Contender &a = contenders[first], &b = contenders[second];
    if (ties(a) != ties(b)) return ties(a);
    if (losses[first] != losses[second]) return losses[first] < losses[second];
    if (ties(a) && effort(a) != effort(b)) return effort(a) < effort(b);
    return standing(a) < standing(b);
  });
  ranking.tied = static_cast<std::size_t>(std::count_if(contenders.begin(), contenders.end(), ties));
  return ranking;
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

Ranking rank(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  std::vector<Contender> contenders;
  for (const Outcome& one : outcomes) contenders.push_back(contender_of(one, rule));
  return rank(contenders, rule);
}

}  // namespace allreplay
