#include "sim/studies/experiment/doubt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

namespace {

double bytes_sent(const Plan& plan) {
  double bytes = 0;
  for (const Transfer& transfer : plan.transfers) bytes += transfer.bytes;
  return bytes;
}

// Results that came from another process have no plan.
const Plan& plan_behind(Outcome& outcome) {
  if (outcome.result.plan.transfers.empty()) outcome.result.plan = plan_of(outcome.scenario);
  return outcome.result.plan;
}

bool differ_in_kind(Outcome& a, Outcome& b) {
  constexpr double negligible = 0.01;  // padding and cuts of blocks differ by less
  const std::optional<CodecCosts>&codec = a.scenario.codec, &there_codec = b.scenario.codec;  // plans do not have them
  if ((codec ? codec->name : "") != (there_codec ? there_codec->name : "")) return true;
  const Plan &one = plan_behind(a), &other = plan_behind(b);
  if (one.sharding.zero != other.sharding.zero || one.sharding.shard_group != other.sharding.shard_group) return true;
  const double sent = bytes_sent(one), there = bytes_sent(other);
  return std::abs(sent - there) > negligible * std::max(sent, there);
}

void replay_in_doubt(Outcome& outcome, double share, const std::function<void()>& after_each) {
  Scenario scenario = outcome.scenario;
  scenario.parts = false;
  scenario.after_iteration = {};
  const SourceLocation place{"--doubt", ""};
  change_bandwidth(scenario.cluster.network, Level::Outside, {.factor = share}, place);
  std::vector<double> each;
  for (const Scenario& one : each_seed(scenario)) {
    each.push_back(simulate(one, plan_behind(outcome)).metrics.iteration_s);
    if (after_each) after_each();
  }
  outcome.result.doubted_s = summary_of(each).mean;
}

void replay_in_doubt(std::vector<Outcome*> some, double share, const Watch& watch) {
  std::erase_if(some, [](const Outcome* one) { return one->result.doubted_s.has_value(); });
  std::size_t replays = 0;
  for (const Outcome* one : some) replays += replays_of(one->scenario);
  const std::function<void()> advance = watched(watch, replays);
  for (Outcome* one : some) replay_in_doubt(*one, share, advance);
}

}  // namespace

Contender contender_by_iteration(const Outcome& outcome, const WinningRule& rule) {
  Contender contender = contender_of(outcome, rule);
  contender.iteration_s = outcome.result.metrics.iteration_s;
  contender.doubted_s = outcome.result.doubted_s;
  return contender;
}

void add_doubts(const std::vector<Outcome*>& race, const WinningRule& rule, bool same_samples, const Watch& watch) {
  if (!rule.doubt || race.size() < 2) return;
  const Scenario& scenario = race.front()->scenario;
  if (nodes_of(scenario.cluster.network, scenario.workers) < 2) return;
  const auto ranking = [&] {
    std::vector<Contender> contenders;
    for (const Outcome* one : race)
      contenders.push_back(same_samples ? contender_by_iteration(*one, rule) : contender_of(*one, rule));
    return rank(contenders, rule);
  };
  const Ranking before = ranking();
  std::vector<Outcome*> tied;
  for (std::size_t i = 0; before.tied > 1 && i < before.tied; ++i) tied.push_back(race[before.order[i]]);
  replay_in_doubt(tied, *rule.doubt, watch);
  const Ranking now = ranking();
  if (now.tied == 0) return;
  Outcome& winner = *race[now.order.front()];
  const auto other = std::find_if(now.order.begin() + 1, now.order.end(), [&](std::size_t one) {
    return contender_of(*race[one], rule).fits && differ_in_kind(winner, *race[one]);
  });
  if (other == now.order.end()) return;
  replay_in_doubt({&winner, race[*other]}, *rule.doubt, watch);
}

}  // namespace allreplay
