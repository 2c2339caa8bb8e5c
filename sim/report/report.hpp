// What people read: one run, several strategies side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/run.hpp"

namespace allreplay {

/// "googlenet_k80_b32 on k80-10gbe: 64 workers, ring, alpha-beta": what strategies are compared on.
std::string title(const Scenario& scenario, const Result& result);

/// The least of the outcomes' lower bounds, in seconds: no lossless schedule is faster. None where no outcome has one.
std::optional<double> lower_bound(const std::vector<Outcome>& outcomes);

/// "81.2 GB", or "95.0 GB, does not fit".
std::string memory_text(const Scenario& scenario, const Result& result);

std::string run_report(const Outcome& outcome);

/// REQUIRES: outcomes differ in their strategy only; at least one.
std::string compare_report(const std::vector<Outcome>& outcomes);

/// Any outcomes, a line each.
std::string sweep_report(const std::vector<Outcome>& outcomes);

/// "" for measured and imported profiles; otherwise what readers have to be told about these times.
std::string caveat(const Profile& profile);

}  // namespace allreplay
