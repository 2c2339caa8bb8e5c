#include "sim/studies/experiment/over_seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

std::vector<std::uint64_t> parse_seeds(std::string_view text, const SourceLocation& place) {
  constexpr std::size_t most = 10'000;
  const auto seed_in = [&](std::string_view one) {
    if (one.empty() || one.find_first_not_of("0123456789") != std::string_view::npos)
      throw InputError(place, fmt::format("'{}' is no seed", one), "whole numbers and ranges: 1:20, or 3,5,10:12");
    return parse_integer(one, 0, std::numeric_limits<std::int64_t>::max() - 1, place);
  };
  std::vector<std::uint64_t> seeds;
  std::set<std::int64_t> known;
  for (const std::string_view some : split(text, ",")) {
    const std::size_t colon = some.find(':');
    const std::int64_t from = seed_in(some.substr(0, colon)),
                       to = colon == std::string_view::npos ? from : seed_in(some.substr(colon + 1));
    if (from > to) throw InputError(place, fmt::format("'{}' is reversed", some), fmt::format("{}:{}", to, from));
    for (std::int64_t seed = from; seed <= to; ++seed) {
      if (!known.insert(seed).second)
        throw InputError(place, fmt::format("seed {} is given twice", seed), "each seed once");
      if (seeds.size() == most) throw InputError(place, fmt::format("more than {} seeds", most), "fewer, such as 1:20");
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  }
  return seeds;
}

namespace {

bool hashes_routes(const Scenario& scenario) {
  const auto& topology = scenario.cluster.network.topology;
  return topology && topology->routing.kind == Routing::Kind::Ecmp && collective_of(scenario).detailed();
}

Scenario with_seed(Scenario scenario, std::uint64_t seed) {
  auto& [slow, jitter, spread] = scenario.stragglers;
  if (jitter) jitter->seed = seed;
  if (spread && !scenario.options.parallel.pipeline()) spread->seed = seed;  // pipelines simulate the expected case
  if (auto& topology = scenario.cluster.network.topology) topology->routing.seed = seed;
  return scenario;
}

constexpr double Metrics::*means[] = {
    &Metrics::iteration_s,    &Metrics::forward_s, &Metrics::backward_s,  &Metrics::update_s,    &Metrics::host_step_s,
    &Metrics::host_s,         &Metrics::copy_s,    &Metrics::straggler_s, &Metrics::comm_busy_s, &Metrics::codec_s,
    &Metrics::exposed_comm_s, &Metrics::speedup,   &Metrics::efficiency};
constexpr std::optional<double> Metrics::*means_if_known[] = {&Metrics::samples_per_s, &Metrics::period_s,
                                                              &Metrics::newton_schulz_s, &Metrics::lower_bound_s};
constexpr double ParallelResult::*means_of_pipelines[] = {&ParallelResult::bubble_s, &ParallelResult::exposed_dp_s,
                                                          &ParallelResult::exposed_p2p_s, &ParallelResult::layer_comm_s,
                                                          &ParallelResult::exposed_ep_s};

// Calls use(mine, other) for each number that is averaged.
template <class Use>
void for_each_mean(Result& mine, const Result& other, const Use& use) {
  for (const auto member : means) use(mine.metrics.*member, other.metrics.*member);
  for (const auto member : means_if_known)
    if (mine.metrics.*member && other.metrics.*member) use(*(mine.metrics.*member), *(other.metrics.*member));
  if (mine.parallel && other.parallel)
    for (const auto member : means_of_pipelines) use((*mine.parallel).*member, (*other.parallel).*member);
}

}  // namespace

bool is_random(const Scenario& scenario) {
  const auto& [slow, jitter, spread] = scenario.stragglers;
  return (jitter && jitter->sigma > 0) || (spread && spread->sigma > 0 && !scenario.options.parallel.pipeline()) ||
         hashes_routes(scenario);
}

std::size_t replays_of(const Scenario& scenario) {
  return scenario.seeds.empty() || !is_random(scenario) ? 1 : scenario.seeds.size();
}

std::vector<Scenario> each_seed(const Scenario& scenario) {
  if (scenario.seeds.empty()) return {scenario};
  std::vector<Scenario> all;
  for (std::size_t i = 0; i < replays_of(scenario); ++i) all.push_back(with_seed(scenario, scenario.seeds[i]));
  return all;
}

void MeanOverSeeds::add(Result result) {
  iterations_.push_back(result.metrics.iteration_s);
  if (!all_) {
    all_ = std::move(result);
    return;
  }
  for_each_mean(*all_, result, [](double& sum, double value) { sum += value; });
  all_->metrics.events += result.metrics.events;
  all_->metrics.network_events += result.metrics.network_events;
  if (result.memory.peak > all_->memory.peak) all_->memory = std::move(result.memory);
}

Result MeanOverSeeds::take(std::size_t seeds) && {
  const auto count = static_cast<double>(iterations_.size());
  for_each_mean(*all_, *all_, [&](double& sum, double) { sum /= count; });
  if (iterations_.size() == 1) iterations_.resize(seeds, iterations_.front());  // nothing is random
  all_->by_seed = std::move(iterations_);
  return *std::move(all_);
}

CollectivePricing price_over_seeds(const Scenario& scenario, const std::vector<Bytes>& sizes,
                                   const std::function<void()>& after_each) {
  std::vector<CollectivePricing> each;
  for (const Scenario& one : each_seed(scenario)) each.push_back(price_collective(one, sizes, after_each));
  CollectivePricing all = each.front();
  for (std::size_t i = 0; i < all.rows.size() && !scenario.seeds.empty(); ++i) {
    CollectiveRow& row = all.rows[i];
    row.events = 0;
    row.wall_s = 0;
    for (const CollectivePricing& one : each) {
      row.by_seed.push_back(one.rows[i].time_s);
      row.events += one.rows[i].events;
      row.wall_s += one.rows[i].wall_s;
    }
    if (each.size() == 1) row.by_seed.resize(scenario.seeds.size(), row.time_s);
    const double mean = summary_of(row.by_seed).mean;
    if (mean > 0)
      for (double* rate : {&row.algbw_GBps, &row.busbw_GBps}) *rate *= row.time_s / mean;
    row.time_s = mean;
  }
  return all;
}

std::optional<Summary> paired_difference(const std::vector<double>& by_seed, const std::vector<double>& other) {
  if (by_seed.size() != other.size() || by_seed.size() < 2) return std::nullopt;
  constexpr double femtosecond = 1e-15;  // below it there is only rounding
  std::vector<double> differences;
  for (std::size_t i = 0; i < by_seed.size(); ++i)
    differences.push_back(std::round((by_seed[i] - other[i]) / femtosecond) * femtosecond);
  return summary_of(differences);
}

}  // namespace allreplay
