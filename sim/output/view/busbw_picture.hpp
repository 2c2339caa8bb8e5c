// Draws the bus bandwidth of several collectives by message size, and where the fastest changes.
#pragma once

#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/report/collective_report.hpp"

namespace allreplay {

/// A size at which another collective becomes the fastest, between two priced ones.
struct Crossover {
  double bytes = 0, busbw_GBps = 0;
  std::size_t before = 0, after = 0;  ///< which collective is the fastest
};
std::vector<Crossover> crossovers_of(const std::vector<PricedCollective>& all);

/// REQUIRES: a collective and a size with a time.
Drawing busbw_picture(const std::vector<PricedCollective>& all, const std::string& title);

}  // namespace allreplay
