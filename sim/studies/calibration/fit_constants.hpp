// Fits constants to measured rows.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/studies/calibration/fitted_constant.hpp"

namespace allreplay {

/// The constants that a file asks for, with their start values, and groups of their indices. Constants that share no
/// rows, not even through other constants, are fitted separately.
struct ConstantsToFit {
  std::vector<FittedConstant> constants;
  std::vector<std::vector<std::size_t>> groups;
};

/// REQUIRES: add_nodes(). Throws InputError.
ConstantsToFit constants_to_fit(const MeasuredFile& measured, Library& library);

/// Fits one group's constants and returns them in its order: least squares of the rows' relative errors, from several
/// starts. A constant that the rows do not determine keeps the files' value if they fit as well without it. A trial too
/// slow to simulate counts as slower than all others. Throws InputError, also if there are more constants than rows.
std::vector<FittedConstant> fit_group(const MeasuredFile& measured, const ConstantsToFit& all, std::size_t group,
                                      Library& library);

}  // namespace allreplay
