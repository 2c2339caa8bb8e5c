#include "sim/studies/experiment/training_cost.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

TrainingCost training_cost(double amount, double per_s, std::int64_t workers, const GpuRates& rates) {
  TrainingCost cost;
  cost.seconds = amount / per_s;
  cost.gpu_hours = cost.seconds / 3600 * static_cast<double>(workers);
  if (rates.usd_per_hour) cost.usd = cost.gpu_hours * *rates.usd_per_hour;
  if (rates.watts) cost.kwh = cost.gpu_hours * *rates.watts / 1000 * rates.pue;
  return cost;
}

namespace {

double multiplier(char suffix) {
  switch (std::toupper(static_cast<unsigned char>(suffix))) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

double usd_per_hour(std::string_view text, const SourceLocation& place) {
  std::string_view number = trim(text);
  if (number.ends_with("/h")) number = trim(number.substr(0, number.size() - 2));
  constexpr const char* usable = "dollars per GPU-hour, such as 2.5/h, or CLUSTER=2.5/h,... for each cluster";
  double price = 0;
  try {
    price = parse_number(number, place);
  } catch (const InputError&) {
    throw InputError(place, fmt::format("'{}' is not a price", text), usable);
  }
  if (!(price > 0 && price <= 1e6)) throw InputError(place, fmt::format("'{}' is not a valid price", text), usable);
  return price;
}

// The price on the cluster, whose name may be followed by changes: "k80-10gbe (bandwidth x2)".
bool is_for(const GpuPrice& price, const std::string& cluster) {
  return price.cluster.empty() || cluster == price.cluster || cluster.starts_with(price.cluster + " (");
}

std::optional<double> price_on(const std::string& cluster, const std::vector<GpuPrice>& prices) {
  for (const GpuPrice& one : prices)
    if (is_for(one, cluster)) return one.usd_per_hour;
  return std::nullopt;
}

}  // namespace

double parse_amount(std::string_view text, std::string_view unit, const SourceLocation& place) {
  std::string_view number = trim(text);
  if (!unit.empty() && number.ends_with(unit)) number = trim(number.substr(0, number.size() - unit.size()));
  double times = 1;
  if (!number.empty() && multiplier(number.back()) > 1) {
    times = multiplier(number.back());
    number = trim(number.substr(0, number.size() - 1));
  }
  double amount = 0;
  try {
    amount = times * parse_number(number, place);
  } catch (const InputError&) {
    amount = 0;
  }
  if (!(amount > 0 && amount <= 1e18))
    throw InputError(place, fmt::format("'{}' is not a valid number", text),
                     "above 0, at most 1e18, with a suffix K, M, B or T, such as 15T");
  return amount;
}

std::vector<GpuPrice> parse_prices(std::string_view text, const SourceLocation& place) {
  if (text.find('=') == std::string_view::npos) return {{"", usd_per_hour(text, place)}};
  std::vector<GpuPrice> prices;
  for (const std::string_view one : split(text, ",")) {
    const std::size_t equals = one.rfind('=');
    if (equals == std::string_view::npos || trim(one.substr(0, equals)).empty())
      throw InputError(place, fmt::format("'{}' names no cluster", one), "CLUSTER=2.5/h,...");
    prices.push_back({std::string(trim(one.substr(0, equals))), usd_per_hour(one.substr(equals + 1), place)});
  }
  return prices;
}

void require_countable(const Training& training, std::span<const Scenario> scenarios) {
  if (!training.is_asked()) return;
  const SourceLocation place{"command line", training.in_tokens ? "--tokens" : "--samples"};
  std::vector<std::string> clusters;
  for (const Scenario& one : scenarios) {
    const Profile& profile = one.profile;
    if (!profile.batch_size)
      throw InputError(place, fmt::format("{} has no batch size", profile.name), "a profile with \"batch_size\"");
    if (training.in_tokens && !profile.tokens_per_sample)
      throw InputError(place, fmt::format("the samples of {} are not tokens", profile.name), "--samples N");
    clusters.push_back(one.cluster.name);
  }
  for (const GpuPrice& price : training.prices)
    if (std::none_of(clusters.begin(), clusters.end(), [&](const std::string& one) { return is_for(price, one); }))
      throw InputError({"command line", "--price"}, fmt::format("'{}' is none of the clusters", price.cluster),
                       suggest(price.cluster, clusters));
}

TrainingCost cost_of(const Training& training, const Outcome& outcome, double useful) {
  const auto& [scenario, result, wall_s] = outcome;
  const Profile& profile = scenario.profile;
  double per_s = useful * *result.metrics.samples_per_s;
  if (training.in_tokens) per_s *= static_cast<double>(*profile.tokens_per_sample);
  return training_cost(training.amount, per_s, scenario.workers,
                       {price_on(scenario.cluster.name, training.prices),
                        scenario.device ? scenario.device->watts : std::nullopt, training.pue});
}

void append_cost(Row& row, const TrainingCost& cost) {
  row.push_back({"training_s", cost.seconds});
  row.push_back({"gpu_hours", cost.gpu_hours});
  row.push_back({"cost_usd", cell_of(cost.usd)});
  row.push_back({"energy_kwh", cell_of(cost.kwh)});
}

void append_cost(Row& row, const Training& training, const Outcome& outcome) {
  if (training.is_asked()) append_cost(row, cost_of(training, outcome));
}

std::optional<Cheapest> cheapest(const std::vector<CostAndTime>& choices, const WinningRule& rule) {
  const auto ranked_by_value = [&](const CostAndTime& one, double CostAndTime::*ranked_by) {
    Contender contender = contender_of(*one.outcome, rule);
    contender.iteration_s = one.*ranked_by;
    contender.doubted_s.reset();
    return contender;
  };
  std::vector<Contender> by_cost, by_time;
  for (const CostAndTime& one : choices) by_cost.push_back(ranked_by_value(one, &CostAndTime::usd));
  const Ranking cheap = rank(by_cost, rule);
  for (std::size_t i = 0; i < cheap.tied; ++i)
    by_time.push_back(ranked_by_value(choices[cheap.order[i]], &CostAndTime::seconds));
  if (by_time.empty()) return std::nullopt;
  const auto tied = std::span(cheap.order).first(cheap.tied);
  const std::size_t least = *std::ranges::min_element(tied, {}, [&](std::size_t one) { return choices[one].usd; });
  return Cheapest{least, tied[rank(by_time, rule).order.front()]};
}

std::optional<Cheapest> cheapest(const Training& training, const std::vector<const Outcome*>& outcomes,
                                 const WinningRule& rule) {
  if (!training.is_asked()) return std::nullopt;
  std::vector<CostAndTime> choices;
  bool differ = false;
  const auto per_second = [](const CostAndTime& one) { return one.usd / one.seconds; };
  for (const Outcome* one : outcomes) {
    const TrainingCost cost = cost_of(training, *one);
    if (!cost.usd) return std::nullopt;
    choices.push_back({one, *cost.usd, cost.seconds});
    differ = differ || std::abs(per_second(choices.back()) / per_second(choices.front()) - 1) > 1e-9;
  }
  return differ ? cheapest(choices, rule) : std::nullopt;
}

}  // namespace allreplay
