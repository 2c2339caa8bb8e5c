// What people read of several strategies side by side.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/scaling.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

/// Outcomes of one profile, at least one, with what they are compared by.
struct Comparison {
  std::vector<Outcome> outcomes;
  std::vector<ScalingReference> references;  ///< of each
  WinningRule rule;
  bool by_offer = false;  ///< what maintained frameworks run, and the rest, stand in tables of their own
};

/// Race by race, the winner first, and which that is in words.
std::string compare_report(const Comparison& comparison, const Screen& screen = {});

}  // namespace allreplay
