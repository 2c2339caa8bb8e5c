// Which of several outcomes is the fastest, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/report/scenario_labels.hpp"

namespace allreplay {

/// Outcomes that compete: of one number of workers, and by one fidelity, which is nothing that anybody can choose to
/// run. ProgramIndex in the list of outcomes; what is to be preferred first.
using Race = std::vector<std::size_t>;

/// By rising number of workers, then as the fidelities come.
std::vector<Race> races(const std::vector<Outcome>& outcomes);

/// Those of a race that fit and take the least time, as it is printed; none where none fits, or one runs alone.
std::vector<std::size_t> winners(const Race& race, const std::vector<Outcome>& outcomes);

/// Where an outcome stands, and whether it is a winner.
struct Standing {
  std::size_t place = 0;
  bool first = false;
};

/// All outcomes: by rising number of workers, there what is to be preferred first.
std::vector<Standing> in_order(const std::vector<Outcome>& outcomes);

/// A line for each race: "Fastest: mg-wfbp on h100 with ring, 123.4 ms, 1.05x its lower bound. Next: dear on h100 with
/// ring, 138.2 ms, 1.12x that." and, among several clusters, what the others take at best.
std::string verdict(const std::vector<Outcome>& outcomes);

}  // namespace allreplay
