// Who wins among several outcomes, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/experiment/ranking.hpp"
#include "sim/report/scenario_labels.hpp"

namespace allreplay {

/// Outcomes that compete, ranked: of one number of workers, and by one fidelity, which is nothing that anybody can
/// choose to run. By rising number of workers, then as the fidelities come.
std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// Outcomes that are ranked apart from others.
struct OutcomeGroup {
  std::string title;                ///< "" if there is only one
  std::vector<std::size_t> places;  ///< of the outcomes
};
std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule, const OutcomeGroup& group);

/// All in one group; or, `by_offer`, what maintained frameworks run, and the rest: research code, plans, searches, if
/// there are both.
std::vector<OutcomeGroup> groups_of(const std::vector<Outcome>& outcomes, const WinningRule& rule, bool by_offer);

/// Whether iterations of a race have other numbers of samples, so that samples per second compare them.
bool differ_in_samples(const Ranking& race, const std::vector<Outcome>& outcomes);

/// A line for each race of several: "Run mg-wfbp on h100 with ring: 123.4 ms (1.05x its lower bound), the fastest.
/// Next: dear on h100 with ring, 138.2 ms, 1.12 times as long."; where a tie is won, the fastest of it; and, among
/// several clusters, what the others take at best.
std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// The same for each of several groups, after its title.
std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                    const std::vector<OutcomeGroup>& groups);

}  // namespace allreplay
