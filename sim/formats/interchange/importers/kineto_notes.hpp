// Notes on an imported PyTorch trace: how its time is attributed, and what its communication was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/kineto_layers.hpp"

namespace allreplay::kineto {

/// The steps over which a profile is averaged.
struct WholeSteps {
  std::vector<Id> ids;  ///< ascending; at least one
  std::optional<SlowdownEstimate::Result> slowdown;

  /// Returns the time in nanoseconds, without the slow-down by simultaneous communication.
  double time(const PassTime& pass) const {
    const double alone = slowdown && slowdown->factor > 1 ? 1 / slowdown->factor : 1;
    return static_cast<double>(pass.all) - static_cast<double>(pass.overlapped) * (1 - alone);
  }

  /// Returns the mean over the steps of `nanoseconds`, in microseconds.
  template <class Nanoseconds>
  double mean_us(const Attribution& known, Nanoseconds nanoseconds) const {
    double sum = 0;
    for (const Id step : ids) sum += static_cast<double>(nanoseconds(known.iterations[step]));
    return sum / static_cast<double>(ids.size()) / 1000;
  }
};

std::vector<std::string> notes_on_time(const Attribution& known, const WholeSteps& steps);

/// Returns notes on parts of the trace that are damaged, unknown or ambiguous. Throws InputError at `file` if most of
/// the backward pass belongs to no known forward operator. `states_precision`: the user gave one.
std::vector<std::string> notes_on_damage(const Attribution& known, const WholeSteps& steps, bool states_precision,
                                         const SourceLocation& file);

/// Adds the collectives of a job of several ranks, and notes on them. Throws InputError at `file` for an invalid size.
void add_communication(const Attribution& known, const WholeSteps& steps, const SourceLocation& file,
                       Imported& imported);

/// Marks a profile whose backward passes recompute forward passes.
void note_recomputation(const Attribution& known, Imported& imported);

/// If the optimizer's state is sharded, scales the profile's update to all parameters, or removes it if the number of
/// shards is unknown. REQUIRES: add_communication() was called.
void make_update_whole(const Attribution& known, const WholeSteps& steps, Imported& imported);

/// Returns {32, 3, 224, 224} for "32x3x224x224;64x3x7x7;"; empty if the trace has no shape, or an invalid one.
std::vector<std::int64_t> first_shape(const std::string& dims);

/// Returns the product of the extents. Throws InputError at `file` if it is not a valid number of parameters.
std::int64_t elements_of(const std::vector<std::int64_t>& shape, const SourceLocation& file);

}  // namespace allreplay::kineto
