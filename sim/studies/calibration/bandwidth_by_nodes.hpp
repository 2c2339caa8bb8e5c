// Fits the bandwidth between nodes separately for each number of nodes, since shared networks slow down as jobs grow.
#pragma once

#include <span>

#include "sim/studies/calibration/level_fit.hpp"

namespace allreplay {

/// If the logs have several numbers of nodes, fits `network.beta_of_nodes` to them, one number at a time, and keeps all
/// other constants. Changes the fit only if that reduces the sum of squares by a tenth. Numbers of nodes at which the
/// bandwidth has no effect keep the common one.
void fit_bandwidth_by_nodes(LevelFit& fit, std::span<const Calibration> logs);

}  // namespace allreplay
