// The time, GPU-hours, money and energy of a whole training.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/results/outcome.hpp"

namespace allreplay {

struct TrainingCost {
  double seconds = 0;
  double gpu_hours = 0;
  std::optional<double> usd;  ///< none without a price
  std::optional<double> kwh;  ///< none if the device's power is unknown
};

/// The price and the power of one worker's GPU.
struct GpuRates {
  std::optional<double> usd_per_hour, watts;
  double pue = 1;  ///< power usage effectiveness: energy of the data centre over that of its GPUs
};

/// Returns what `amount` tokens (or samples) cost at `per_s` tokens (or samples) per second of all workers.
/// REQUIRES: per_s > 0.
TrainingCost training_cost(double amount, double per_s, std::int64_t workers, const GpuRates& rates);

/// The price of a GPU-hour on a cluster.
struct GpuPrice {
  std::string cluster;  ///< "": every cluster
  double usd_per_hour = 0;
};

/// The training that a user asks about.
struct Training {
  double amount = 0;      ///< tokens or samples; 0: nothing was asked
  bool in_tokens = true;  ///< else in samples
  std::vector<GpuPrice> prices;
  double pue = 1;

  bool is_asked() const { return amount > 0; }
};

/// Parses "15T", "15 Ttok" (`unit` is "tok"), "90M", "1.4e9": a number above 0 with a suffix K, M, B or T. Throws
/// InputError.
double parse_amount(std::string_view text, std::string_view unit, const SourceLocation& place);

/// Parses "2.5/h" or "2.5", for every cluster, or "a=2.5/h,b=1.2/h". Throws InputError.
std::vector<GpuPrice> parse_prices(std::string_view text, const SourceLocation& place);

/// Throws InputError if a profile does not say how many tokens or samples an iteration has, or if a price is that of
/// none of the clusters.
void require_countable(const Training& training, std::span<const Scenario> scenarios);

/// Returns the cost of the outcome's training if the part `useful` of its throughput is left. REQUIRES: is_asked(),
/// require_countable().
TrainingCost cost_of(const Training& training, const Outcome& outcome, double useful = 1);

/// Appends training_s, gpu_hours, cost_usd and energy_kwh if a training is asked about.
void append_cost(Row& row, const TrainingCost& cost);
void append_cost(Row& row, const Training& training, const Outcome& outcome);

/// An outcome, with its cost and its duration.
struct CostAndTime {
  const Outcome* outcome = nullptr;
  double usd = 0, seconds = 0;
};

/// Indices of choices: the least cost, and, within the tie of it, what to take rather: of those within the tie of the
/// shortest time the first by rank(). Often the same.
struct Cheapest {
  std::size_t least = 0, rather = 0;
};

/// Returns nothing if nothing fits.
std::optional<Cheapest> cheapest(const std::vector<CostAndTime>& choices, const WinningRule& rule);

/// The same of trainings. Nothing without prices, or if all outcomes have as many GPUs at the same price, so that the
/// fastest is the cheapest.
std::optional<Cheapest> cheapest(const Training& training, const std::vector<const Outcome*>& outcomes,
                                 const WinningRule& rule);

}  // namespace allreplay
