// What a sweep found, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/html/sweep_result.hpp"

namespace allreplay {

struct Finding {
  std::string about;                   ///< profile, cluster, collective, fidelity
  std::vector<std::string> sentences;  ///< who is fastest; how fast; where efficiency falls below one half
};

struct Summary {
  std::string overview;              ///< how many rows, of what
  std::string warning;               ///< which profiles are reconstructed; "" if none is
  std::vector<std::string> verdict;  ///< what holds across the groups; empty if there is one
  std::vector<Finding> findings;     ///< one for each group
};

Summary summarize(const SweepResult& result);

}  // namespace allreplay
