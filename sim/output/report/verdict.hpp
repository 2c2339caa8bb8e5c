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
  std::optional<double> doubted_s = {};  ///< the iteration with less bandwidth between nodes; none: not replayed
  std::string_view strategy = {};
  bool is_replaced = false;  ///< its framework has a successor (Offered::Replaced)
  double error = 0;          ///< of 9 in 10 of the nearest predictions that were measured
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
/// above_bound_share; fastest, if that is another one within the tie; ties; fragile (instead of fastest) and set_back,
/// ties that rank() put last since they no longer tie with the share tie_bandwidth_share of the bandwidth between
/// nodes; next, the first outside of the tie, with `times`, how many times as long it takes; doubt, if another one is
/// faster beyond the tie with less bandwidth between nodes; successor, if the winner's framework has replaced it by one
/// that is slower by less than the error of predictions. Only nothing_fits if nothing does. REQUIRES: ranked racers,
/// `tied` of them within the tie.
JsonValue verdict_of(const std::vector<Racer>& ranked, std::size_t tied, bool per_sample,
                     const std::optional<Doubt>& doubt = {});

/// The verdicts of all races of the groups, with group, workers and fidelity where these differ.
JsonValue verdicts_of(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                      const std::vector<OutcomeGroup>& groups);

/// The sentences on a verdict that has a winner.
inline constexpr const char* winner_text =
    "Run {winner}[ on {workers} workers][ in {fidelity}][ (of {group})]: [{iteration_s}][{samples_per_s} "
    "samples/s][{batches_per_s} micro-batches/s][, {saves_share} less than untuned][ ({above_bound_share} above its "
    "lower bound)][; {fastest/name} is faster, but less simple to run or short of memory][; {fragile/name} is faster, "
    "but not with "
    "{tie_bandwidth_share:portion} of the bandwidth between nodes (--doubt)][. Within the tie: {ties}][. With "
    "{tie_bandwidth_share:portion} of the bandwidth between nodes (--doubt) no longer: {set_back}][. "
    "{crowded/name} takes {crowded/times:portion} of that time, but leaves less memory free than --headroom asks "
    "for][. "
    "Next: {next/name}, {next/times:longer}].[ If collectives among {doubt/nodes} nodes reach "
    "{doubt/bandwidth_share:portion} of this bandwidth, {doubt/name} is {doubt/times:2} times as fast "
    "({doubt/iteration_s} instead of {doubt/winner_iteration_s}).][ PyTorch calls FSDP1 deprecated: "
    "{successor/name} takes {successor/times:longer}, within the error of predictions ({successor/error:percent} in 9 "
    "of 10).][ By number of workers: {by_workers:runs}.]";

/// The sentences on an array "races" of verdicts.
const View& verdict_view();

}  // namespace allreplay
