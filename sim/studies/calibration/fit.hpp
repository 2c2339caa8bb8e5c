// Fits measured times by least squares of relative errors, robust to outliers: one line a + b·M, or several lines and a
// table of their ends if the library switches protocols with the size.
#pragma once

#include <span>
#include <vector>

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/measurement_log.hpp"

namespace allreplay {

/// The median; of two values in the middle, their mean. REQUIRES: at least one value.
double median(std::vector<double> values);

/// T(M) = a + b·M with a, b >= 0.
struct LineFit {
  double a = 0, b = 0;                  ///< seconds, seconds per byte
  double a_error = 0, b_error = 0;      ///< standard errors; 0 if held
  bool a_held = false, b_held = false;  ///< held at zero, since the best line would go below it
};

/// Minimises Σ ρ((t − T)/T / s) over a, b >= 0 with Huber's ρ (1.345), s the scale of the relative errors (1.4826 times
/// their median), by iteratively reweighted least squares from a Theil-Sen line. The errors are relative to T, not t,
/// so that noise of mean zero does not bias the line. REQUIRES: two sizes or more.
LineFit fit_line(std::span<const Measurement> points);

/// One line of a table, for a range of sizes. Here a may be negative.
struct Piece {
  Bytes from = 0, to = 0;
  std::size_t sizes = 0;
  double a = 0, b = 0;
};

struct TableFit {
  std::vector<Piece> pieces;     ///< if one, a single line fits all sizes
  std::vector<CostPoint> table;  ///< the pieces' ends; times never decrease
  double noise = 0;              ///< relative standard deviation of a time, estimated from its neighbours; at least 1 %
};

/// Cuts the sizes (with the median time of each) into pieces that span a doubling of the size or more, each a line with
/// b >= 0, so that Σ min(((t − T)/(T·noise))², 25) + 26·pieces is least. A time that is more than five standard
/// deviations off costs no more than 25, and a piece a little more, so that no single outlier makes one (by the
/// Bayesian information criterion, Schwarz 1978, a piece's three numbers would cost 3·ln(sizes), less for up to 5,800
/// sizes). Exact, by dynamic programming; of more than 400 sizes, 400 are used. REQUIRES: two sizes or more.
TableFit fit_table(std::span<const Measurement> points);

}  // namespace allreplay
