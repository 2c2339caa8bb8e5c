// What is to be said of a PyTorch trace: where its time went, and what its communication was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/interchange/importers/importer.hpp"
#include "sim/interchange/importers/kineto_layers.hpp"

namespace allreplay::kineto {

/// The steps that a profile is the mean of.
struct WholeSteps {
  std::vector<Id> ids;  ///< rising; at least one
  std::optional<SlowdownEstimate::Result> slowdown;

  /// Nanoseconds, without what communication slowed computing down by.
  double time(const PassTime& pass) const {
    const double alone = slowdown && slowdown->factor > 1 ? 1 / slowdown->factor : 1;
    return static_cast<double>(pass.all) - static_cast<double>(pass.beside) * (1 - alone);
  }

  /// `nanoseconds`: of an iteration.
  template <class Nanoseconds>
  double mean_us(const Attribution& known, Nanoseconds nanoseconds) const {
    double sum = 0;
    for (const Id step : ids) sum += static_cast<double>(nanoseconds(known.iterations[step]));
    return sum / static_cast<double>(ids.size()) / 1000;
  }
};

std::vector<std::string> notes_on_time(const Attribution& known, const WholeSteps& steps);

/// The collectives of a job of several ranks, and notes on them. Throws InputError at `file` where a size is none.
void add_communication(const Attribution& known, const WholeSteps& steps, const SourceLocation& file,
                       Imported& imported);

/// Marks a profile whose backward passes compute forward passes again.
void note_recomputation(const Attribution& known, Imported& imported);

/// Makes the profile's update that of all parameters, if the job's ranks share them, or leaves it out. REQUIRES:
/// add_communication().
void make_update_whole(const Attribution& known, const WholeSteps& steps, Imported& imported);

/// "32x3x224x224;64x3x7x7;" -> {32, 3, 224, 224}; empty where the trace says no shape.
std::vector<std::int64_t> first_shape(const std::string& dims);

/// Throws InputError at `file` where it is no number of parameters.
std::int64_t elements_of(const std::vector<std::int64_t>& shape, const SourceLocation& file);

}  // namespace allreplay::kineto
