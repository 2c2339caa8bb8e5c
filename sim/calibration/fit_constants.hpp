// Constants that measured rows fit, and what they are for any row.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/calibration/measured_file.hpp"

namespace allreplay {

struct FittedConstant {
  Constant constant = Constant::Launch;
  bool inside = false;                                     ///< of alpha and beta: of the level inside a node
  std::vector<std::pair<std::string, std::string>> scope;  ///< columns and cells of the rows for which it holds
  /// Seconds, or seconds per byte; of interference by how much `compute` exceeds 1, of the spread its sigma.
  double value = 0;
  double least = 0;                        ///< the least that is fitted: where 0 is none, as of NCCL's bandwidths
  bool used = true;                        ///< false: the files' own is simulated, and `value` says nothing
  bool known = true;                       ///< false: the rows do not tell it (untold()), by itself or
  std::vector<std::size_t> not_told_from;  ///< from these, which may make up for it: places among the file's constants
  std::optional<double> other;             ///< a value elsewhere that the rows fit as well: then it is not known
  std::vector<std::size_t> rows;           ///< which fit it: their places in the file

  bool holds_for(const MeasuredPoint& point) const;
  /// Whether it ended at the most that is fitted, and the rows would have more; or at the least, if that is not 0.
  bool at_limit() const;
  /// As files have it: of interference `compute`.
  double in_files() const { return constant == Constant::Interference ? 1 + value : value; }
};

/// What is simulated for a measured point with some of the constants. Throws InputError.
Scenario scenario_of(const MeasuredPoint& point, const std::vector<FittedConstant>& fitted, Library& library);

/// How many scored rows a constant has a say in: those for which it holds, and which use what it is of.
std::size_t scored_rows(const FittedConstant& one, const MeasuredFile& measured, Library& library);

/// What is predicted for a point, in the unit of what was measured. The null models are what anybody could say: that
/// communication takes no time, and that none of it overlaps with computing.
struct Predicted {
  double value = 0, no_communication = 0, no_overlap = 0;  ///< of a collective alone: value only
  double efficiency = 0;
  std::string warning;  ///< about the cluster's costs; "" if none
};
/// REQUIRES: a batch size where a throughput was measured. Throws InputError.
Predicted predict(const Scenario& scenario, const MeasuredPoint& point, Quantity quantity);

/// Relative, above zero where `predicted` is too fast.
double error_of(double predicted, double measured, Quantity quantity);

/// The constants that a file asks for, as they start, and the places of those that have to be fitted together: rows and
/// constants that have nothing in common are fitted apart.
struct ConstantsToFit {
  std::vector<FittedConstant> constants;
  std::vector<std::vector<std::size_t>> groups;
};

/// Throws InputError.
ConstantsToFit constants_to_fit(const MeasuredFile& measured, Library& library);

/// One group's, in its order. Least squares of the relative errors of the rows that fit, from several starts; what they
/// do not tell is left to the files where they fit as well without it. A trial too slow to be
/// simulated counts as slower than all that are. Throws InputError, also where fewer rows than
/// constants belong together.
std::vector<FittedConstant> fit_group(const MeasuredFile& measured, const ConstantsToFit& all, std::size_t group,
                                      Library& library);

}  // namespace allreplay
