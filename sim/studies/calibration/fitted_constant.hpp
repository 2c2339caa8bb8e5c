// Constants fitted to measured rows, and predictions of any row with them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/studies/calibration/measured_file.hpp"

namespace allreplay {

struct FittedConstant {
  Constant constant = Constant::Launch;
  bool inside = false;                                     ///< alpha and beta: those of the level inside a node
  std::vector<std::pair<std::string, std::string>> scope;  ///< columns and cells of the rows for which it holds
  /// Seconds, or seconds per byte; for interference `compute` − 1; for the spread its sigma.
  double value = 0;
  double least = 0;   ///< the smallest value of the fit; above 0 if 0 is impossible, as for NCCL's bandwidths
  bool used = true;   ///< false: simulations use the files' value, and `value` has no meaning
  bool known = true;  ///< false: the rows do not determine it (see undetermined_shares())
  std::vector<std::size_t> not_told_from;  ///< constants that can compensate for it, by index
  std::optional<double> other;             ///< another value that fits the rows as well; then it is not known
  std::vector<std::size_t> rows;           ///< the rows to which it is fitted, by index

  /// The number of nodes for which it is fitted, if it is fitted by nodes.
  std::optional<std::int64_t> nodes() const;
  /// True if the row's cells are those of the scope; a constant by nodes also affects rows of other numbers of nodes.
  bool holds_for(const MeasuredPoint& point) const;
  /// True if the fit ended at its upper bound, or at a lower bound above 0.
  bool at_limit() const;
  /// The value as files have it: for interference `compute`.
  double in_files() const { return constant == Constant::Interference ? 1 + value : value; }
};

/// Returns the scenario of a measured point with the fitted constants. Throws InputError.
Scenario scenario_of(const MeasuredPoint& point, const std::vector<FittedConstant>& fitted, Library& library);

/// Returns the number of scored rows that a constant affects: it applies to them, and they use the part that it
/// describes.
std::size_t scored_rows(const FittedConstant& one, const MeasuredFile& measured, Library& library);

/// The prediction for a point, in the unit of the measurement, and those of two null models: communication takes no
/// time, or none of it overlaps with computation.
struct Predicted {
  double value = 0, no_communication = 0, no_overlap = 0;  ///< for single collectives only `value`
  double efficiency = 0;
  std::string warning;  ///< about the cluster's costs; "" if none
};
/// REQUIRES: a batch size if a throughput was measured. Throws InputError.
Predicted predict(const Scenario& scenario, const MeasuredPoint& point, Quantity quantity);

/// The relative error, positive if `predicted` is too fast.
double error_of(double predicted, double measured, Quantity quantity);

/// Sets each row's number of nodes. Throws InputError.
void add_nodes(MeasuredFile& measured, Library& library);

/// Returns the scenario of a row's request; without strategy and profile if only a collective was measured.
Scenario resolved(const MeasuredPoint& point, const Request& request, Library& library);

/// True for alpha, beta and server.
bool is_link_constant(Constant constant);
/// The field of a network with such a constant.
std::optional<double>& link_constant(Network& network, Constant constant, bool inside);
/// Throws InputError if the network's file prices whole collectives, so that it has no such constant.
void require_levels(const Scenario& scenario, const MeasuredPoint& point, Constant constant);

/// The largest value that is plausible.
double most_of(Constant constant);

bool within_node(const Network& network, std::int64_t workers);

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
