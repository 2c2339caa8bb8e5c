// The winners of outcomes in groups and races: each race's verdict as data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

/// Outcomes that are ranked separately from others.
struct OutcomeGroup {
  std::string title;                ///< "" if there is only one
  std::vector<std::size_t> places;  ///< of the outcomes
};

/// All in one group; or, `by_offer`, what maintained frameworks run, and the rest (research code, plans, searches), if
/// there are both.
std::vector<OutcomeGroup> groups_of(const std::vector<Outcome>& outcomes, const WinningRule& rule, bool by_offer);

/// The outcomes of a group that compete, ranked: those with one number of workers and one fidelity, since users cannot
/// choose between these. By rising number of workers, then in the order of the fidelities.
std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule, const OutcomeGroup& group);

/// True if iterations of a race have different numbers of samples, so that samples per second compare them.
bool samples_differ(const Ranking& race, const std::vector<Outcome>& outcomes);

/// One that takes part in a race.
struct Racer {
  std::string name;
  double iteration_s = 0;
  double batches_per_s = 0;  ///< micro-batches of all replicas
  std::optional<double> samples_per_s, lower_bound_s;
  double equal_work_s = 0;  ///< ranks it, see seconds_of_equal_work()
  bool fits = true;
  /// The iteration with less bandwidth between nodes, also of equal work; none: not replayed.
  std::optional<double> doubted_s = {}, doubted_equal_work_s = {};
};

Racer racer_of(const Outcome& outcome, std::string name);

/// The replay of racers with less bandwidth between nodes.
struct Doubt {
  double part = 0;         ///< of the bandwidth
  std::int64_t nodes = 0;  ///< filled by the workers
  double tie = 0;
};
/// None if the rule has no doubt.
std::optional<Doubt> doubt_on(const Scenario& scenario, const WinningRule& rule);

/// The verdict of a race: winner, its iteration_s (or samples_per_s if iterations differ in samples) and
/// above_bound_share; fastest, if that is another one within the tie; ties; next, the first outside of the tie, with
/// `times`, how many times as long it takes; doubt, if another one is faster beyond the tie with less bandwidth between
/// nodes. Only nothing_fits if nothing does. REQUIRES: ranked racers, `tied` of them within the tie.
JsonValue verdict_of(const std::vector<Racer>& ranked, std::size_t tied, bool per_sample,
                     const std::optional<Doubt>& doubt = {});

/// The verdicts of all races of the groups, with group, workers and fidelity where these differ.
JsonValue verdicts_of(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                      const std::vector<OutcomeGroup>& groups);

/// The sentence on a faster racer that leaves too little memory free, given the key of its JSON.
std::string crowded_text(std::string_view key);

/// The sentence on a doubt, given the key of its JSON.
std::string doubt_text(std::string_view key);

/// The sentences on an array "races" of verdicts.
const View& verdict_view();

}  // namespace allreplay
