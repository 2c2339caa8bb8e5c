#include "sim/output/report/verdict.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

namespace {

OutcomeGroup group_of_all(const std::vector<Outcome>& outcomes) {
  OutcomeGroup all{"", std::vector<std::size_t>(outcomes.size())};
  std::iota(all.places.begin(), all.places.end(), std::size_t{0});
  return all;
}

}  // namespace

std::vector<OutcomeGroup> groups_of(const std::vector<Outcome>& outcomes, const WinningRule& rule, bool by_offer) {
  if (!by_offer) return {group_of_all(outcomes)};
  OutcomeGroup maintained{"maintained frameworks", {}}, others{"research, plans and searches", {}};
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    (contender_of(outcomes[i], rule).offered <= Offered::Replaced ? maintained : others).places.push_back(i);
  if (maintained.places.empty() || others.places.empty()) return {group_of_all(outcomes)};
  return {std::move(maintained), std::move(others)};
}

std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule, const OutcomeGroup& group) {
  std::vector<std::vector<std::size_t>> fields;
  const auto competes = [&](std::size_t a, std::size_t b) {
    return outcomes[a].scenario.workers == outcomes[b].scenario.workers &&
           outcomes[a].result.fidelity == outcomes[b].result.fidelity;
  };
  for (const std::size_t i : group.places) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return competes(one.front(), i); });
    (field == fields.end() ? fields.emplace_back() : *field).push_back(i);
  }
  std::stable_sort(fields.begin(), fields.end(), [&](const auto& a, const auto& b) {
    return outcomes[a.front()].scenario.workers < outcomes[b.front()].scenario.workers;
  });
  std::vector<Ranking> all;
  for (const std::vector<std::size_t>& field : fields) {
    std::vector<Contender> contenders;
    for (const std::size_t one : field) contenders.push_back(contender_of(outcomes[one], rule));
    all.push_back(rank(contenders, rule));
    for (std::size_t& place : all.back().order) place = field[place];
  }
  return all;
}

bool samples_differ(const Ranking& race, const std::vector<Outcome>& outcomes) {
  return std::any_of(race.order.begin(), race.order.end(), [&](std::size_t one) {
    return batches_of_iteration(outcomes[one]) != batches_of_iteration(outcomes[race.order.front()]);
  });
}

namespace {

JsonValue pace_of(const Racer& racer, std::string_view key, bool per_sample) {
  JsonValue json{{std::string(key), racer.name}};
  if (!per_sample)
    json["iteration_s"] = racer.iteration_s;
  else if (racer.samples_per_s)
    json["samples_per_s"] = *racer.samples_per_s;
  else
    json["batches_per_s"] = racer.batches_per_s;
  return json;
}

}  // namespace

Racer racer_of(const Outcome& outcome, std::string name) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  return {.name = std::move(name),
          .iteration_s = m.iteration_s,
          .batches_per_s = static_cast<double>(batches_of_iteration(outcome)) / m.iteration_s,
          .samples_per_s = m.samples_per_s,
          .lower_bound_s = m.lower_bound_s,
          .equal_work_s = seconds_of_equal_work(outcome),
          .fits = fits(scenario, result),
          .doubted_s = result.doubted_s,
          .strategy = scenario.strategy->name,
          .is_replaced = scenario.strategy->offer.how == Offered::Replaced,
          .error = nearest_error(outcome).quantiles().p90};
}

std::optional<Doubt> doubt_on(const Scenario& scenario, const WinningRule& rule) {
  if (!rule.doubt) return std::nullopt;
  return Doubt{*rule.doubt, nodes_of(scenario.cluster.network, scenario.workers), rule.tie};
}

namespace {

// Adds the racer that is faster than the winner, beyond the tie, only with less bandwidth between nodes; none: nothing.
void add_doubt(const std::vector<Racer>& ranked, const Doubt& doubt, JsonValue& json) {
  const auto equal_work_s = [](const Racer& one) { return *one.doubted_s * one.equal_work_s / one.iteration_s; };
  const Racer& winner = ranked.front();
  if (!winner.doubted_s) return;
  const Racer* first = &winner;
  for (const Racer& one : ranked)
    if (one.fits && one.doubted_s && one.equal_work_s * (1 + doubt.tie) >= winner.equal_work_s &&
        equal_work_s(one) < equal_work_s(*first))
      first = &one;
  const double times = equal_work_s(winner) / equal_work_s(*first);
  if (times <= 1 + doubt.tie) return;
  json["doubt"] = {{"name", first->name},
                   {"times", times},
                   {"iteration_s", *first->doubted_s},
                   {"winner_iteration_s", *winner.doubted_s},
                   {"bandwidth_share", doubt.part},
                   {"nodes", doubt.nodes}};
}

// True if rank() put one of the ties behind the others because with less bandwidth between nodes it is beyond the tie.
bool is_set_back(const Racer& one, const std::vector<Racer>& ranked, std::size_t tied, double tie) {
  const auto there_s = [](const Racer& racer) { return *racer.doubted_s * racer.equal_work_s / racer.iteration_s; };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tied; ++i) {
    if (!ranked[i].doubted_s) return false;
    least = std::min(least, there_s(ranked[i]));
  }
  return there_s(one) > least * (1 + tie);
}

// Adds the successor of a winner that its framework has replaced, if validation cannot tell the two apart.
void add_successor(const std::vector<Racer>& ranked, JsonValue& json) {
  const Racer& winner = ranked.front();
  if (!winner.is_replaced) return;
  const auto found =
      std::ranges::find_if(ranked, [](const Racer& one) { return one.strategy == replacement && one.fits; });
  if (found == ranked.end()) return;
  const double times = found->equal_work_s / winner.equal_work_s;
  if (times - 1 < winner.error) json["successor"] = {{"name", found->name}, {"times", times}, {"error", winner.error}};
}

}  // namespace

JsonValue verdict_of(const std::vector<Racer>& ranked, std::size_t tied, bool per_sample,
                     const std::optional<Doubt>& doubt) {
  if (tied == 0) return {{"nothing_fits", true}};
  const Racer& winner = ranked.front();
  JsonValue json = pace_of(winner, "winner", per_sample);
  if (winner.lower_bound_s) json["above_bound_share"] = winner.iteration_s / *winner.lower_bound_s - 1;
  const Racer* fastest = &*std::ranges::min_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(tied),
                                                    {}, &Racer::equal_work_s);
  if (fastest->name == winner.name) fastest = &winner;
  auto ties = JsonValue::array();
  for (std::size_t i = 1; i < tied; ++i)
    if (ranked[i].name != winner.name && ranked[i].name != fastest->name) ties.push_back(ranked[i].name);
  const auto set_back = [&](const Racer& one) { return doubt && is_set_back(one, ranked, tied, doubt->tie); };
  if (fastest != &winner) json[set_back(*fastest) ? "fragile" : "fastest"] = pace_of(*fastest, "name", per_sample);
  if (!ties.empty()) json["ties"] = std::move(ties);
  auto behind = JsonValue::array();
  for (std::size_t i = 1; i < tied; ++i)
    if (&ranked[i] != fastest && set_back(ranked[i])) behind.push_back(ranked[i].name);
  if (!behind.empty()) json["set_back"] = std::move(behind);
  if (json.contains("fragile") || json.contains("set_back")) json["tie_bandwidth_share"] = doubt->part;
  for (std::size_t i = tied; i < ranked.size() && ranked[i].fits; ++i) {
    // Beyond the tie only racers that leave too little memory free are faster.
    const double times = ranked[i].equal_work_s / winner.equal_work_s;
    const char* key = times < 1 ? "crowded" : "next";
    if (json.contains(key)) continue;
    json[key] = pace_of(ranked[i], "name", per_sample);
    json[key]["times"] = times;
  }
  if (doubt) add_doubt(ranked, *doubt, json);
  add_successor(ranked, json);
  return json;
}

JsonValue verdicts_of(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                      const std::vector<OutcomeGroup>& groups) {
  const ScenarioLabels names = labels_of(outcomes);
  auto verdicts = JsonValue::array();
  for (const OutcomeGroup& group : groups)
    for (const Ranking& race : races(outcomes, rule, group)) {
      if (groups.size() == 1 && race.order.size() == 1) continue;
      JsonValue verdict = JsonValue::object();
      if (groups.size() > 1) verdict["group"] = group.title;
      for (const char* name : {"workers", "fidelity"})
        if (names.differs_by(name)) verdict[name] = names.name(race.order.front(), name);
      std::vector<Racer> ranked;
      for (const std::size_t one : race.order)
        ranked.push_back(racer_of(outcomes[one], names.label(one, {"workers", "fidelity"})));
      verdict.update(verdict_of(ranked, race.tied, samples_differ(race, outcomes),
                                doubt_on(outcomes[race.order.front()].scenario, rule)));
      verdicts.push_back(std::move(verdict));
    }
  return verdicts;
}

const View& verdict_view() {
  static const View view{{
      ViewList{.items = "races", .text = winner_text, .most = 8},
      ViewList{.items = "races",
               .text = "Nothing fits into memory[ on {workers} workers][ in {fidelity}][ (of {group})].[ By number of "
                       "workers: {by_workers:runs}.]",
               .when = "nothing_fits",
               .most = 8},
  }};
  return view;
}

}  // namespace allreplay
