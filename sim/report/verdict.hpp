// Who wins among several outcomes, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/ranking.hpp"
#include "sim/report/scenario_labels.hpp"

namespace allreplay {

/// Outcomes that compete, ranked: of one number of workers, and by one fidelity, which is nothing that anybody can
/// choose to run. By rising number of workers, then as the fidelities come.
std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// A line for each race of several: "Fastest: mg-wfbp on h100 with ring, 123.4 ms, 1.05x its lower bound. Next: dear on
/// h100 with ring, 138.2 ms, 1.12x that."; who ties with it, and, among several clusters, what the others take at best.
std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule);

}  // namespace allreplay
