// The errors of predictions on published measurements, and the ones nearest to a scenario: rows of
// docs/generated/validation.md and hybrids.md. tests/tools/test_known_errors.py compares them with the pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/named.hpp"
#include "sim/base/core/units.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// Quantiles of the magnitudes of errors, relative to measurements.
struct ErrorQuantiles {
  std::size_t points = 0;
  double median = 0, p90 = 0;
};

/// The quotient of a measured and a predicted time, the larger over the smaller, at this error of a time or of a speed.
double quotient_at(double error, bool of_times);

/// The origin of layer times.
enum class TimesFrom : std::uint8_t { DataSheets, Speed, Layers };
inline constexpr Word<TimesFrom> times_from[] = {{TimesFrom::DataSheets, "layer times from data sheets"},
                                                 {TimesFrom::Speed, "layer times from one measured speed"},
                                                 {TimesFrom::Layers, "measured layer times"}};

enum class ModelSplit : std::uint8_t { Replicated, Sharded, Hybrid, Experts };
inline constexpr Word<ModelSplit> model_splits[] = {{ModelSplit::Replicated, "replicated parameters"},
                                                    {ModelSplit::Sharded, "sharded parameters"},
                                                    {ModelSplit::Hybrid, "pipelines or tensor groups"},
                                                    {ModelSplit::Experts, "groups of experts"}};

enum class Reach : std::uint8_t { OneNode, Fast, TenGigabit, Gigabit };
inline constexpr Word<Reach> network_reaches[] = {{Reach::OneNode, "one node"},
                                                  {Reach::Fast, "ports above 10 Gbit/s"},
                                                  {Reach::TenGigabit, "ports of 10 Gbit/s"},
                                                  {Reach::Gigabit, "ports of 1 Gbit/s"}};

/// The properties that the measurements behind a row share.
struct CommonSetting {
  ModelSplit split;
  TimesFrom times;
  Reach reach;
  std::string_view device;  ///< such as "A100"; "": several
};

/// A row of docs/generated/validation.md, or, below a heading, of hybrids.md.
struct KnownError {
  std::string_view data;  ///< the row's name, or the heading above the row
  CommonSetting setting;
  bool of_times;  ///< errors of times, not of speeds
  ErrorQuantiles all;
  std::optional<ErrorQuantiles> matters = {};  ///< of the points that ignoring communication misses by more than 5 %
  std::string_view row = {};                   ///< the row's name below the heading
  bool narrow = false;                         ///< FP8 or FP4

  std::string_view page() const { return row.empty() ? "validation" : "hybrids"; }
};
std::span<const KnownError> known_errors();

/// The row nearest to a scenario.
struct NearestError {
  const KnownError* known = nullptr;
  bool matters = false;              ///< communication takes more than 5 %, and the row has such points
  std::vector<std::string> differs;  ///< the scenario's properties that the row's measurements do not have

  const ErrorQuantiles& quantiles() const { return matters ? *known->matters : known->all; }
  double median_quotient() const { return quotient_at(quantiles().median, known->of_times); }
  double p90_quotient() const { return quotient_at(quantiles().p90, known->of_times); }
};

/// Compares, in this order: how the model is split, precision, origin of the layer times, network, device.
NearestError nearest_error(const Outcome& outcome);
/// The same before a simulation, without `matters`.
NearestError nearest_error(const Scenario& scenario);

/// The errors of the time of an all-reduce of NCCL, by size: a row of a table of validation.md.
struct CollectiveErrors {
  std::string_view row;
  std::size_t points = 0;
  std::array<ErrorQuantiles, 4> by_size;  ///< as collective_sizes; their own points are not counted
};
/// The sizes at which the columns of that table begin.
inline constexpr std::array<Bytes, 4> collective_sizes = {0, 64 << 10, 1 << 20, 16 << 20};
std::span<const CollectiveErrors> collective_errors();

/// The row nearest to a network: that of data sheets if there are several nodes and none of the corrections that were
/// found on Alps.
const CollectiveErrors& nearest_collective_errors(const Network& network, std::int64_t workers);

// Predictions that ignore schedules, with which every prediction is compared.

/// Iteration times, in seconds.
struct NullModels {
  double no_communication = 0;  ///< of computation alone
  double no_overlap = 0;        ///< of computation followed by communication
};

inline NullModels null_models(const Metrics& metrics) {
  const double computing = metrics.iteration_s - metrics.straggler_s - metrics.exposed_comm_s;
  return {computing, computing + metrics.comm_busy_s};
}

/// Ignoring communication must miss a point by more than this part, or the point does not test a schedule.
inline constexpr double communication_matters = 0.05;

}  // namespace allreplay
