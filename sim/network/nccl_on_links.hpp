// NCCL on a topology: at every size its own model chooses, and what it chose travels on the links.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collective/nccl.hpp"
#include "sim/network/level_busy.hpp"

namespace allreplay {

/// How a block of some size goes.
struct NcclWay {
  std::uint32_t rounds = 0;           ///< which of the fabric's
  double bytes = 0;                   ///< so many travel for each byte of the block
  double start_up = 0;                ///< of all its rounds, alone; seconds
  double base = 0;                    ///< of that once, before all; seconds
  std::array<double, 2> start_ups{};  ///< and of a message inside a node and between nodes; seconds
};

class NcclOnLinks final : public SizePrice {
 public:
  /// What an algorithm puts on links.
  struct Laid {
    std::string_view algorithm;
    std::uint32_t rounds = 0;  ///< which of the fabric's
    double latency = 0;        ///< of the links along the longest path; seconds
    double busy = 0;           ///< the busiest links of all rounds, summed; seconds per byte; 0: none
    LevelBusy levels;          ///< the same of each level, here,
    LevelBusy on_rails;        ///< and on the rails that NCCL believes in
    double busiest = 0;        ///< the busiest link here, over all rounds; seconds per byte
  };

  /// REQUIRES: all algorithms that the price may choose.
  NcclOnLinks(NcclPrice price, std::vector<Laid> laid) : price_(price), laid_(std::move(laid)) {}

  NcclWay way(double bytes) const;

  /// The model's latency, what routes take beyond it, and for the bytes the model's time, or that of the links here
  /// where it is longer.
  double seconds(double bytes) const override;
  double start_up(double bytes) const override;
  double least(double bytes) const override;
  /// Of bytes in any blocks, however they overlap, no less than the largest of a base and the busiest link's time.
  double least_together(double bytes) const;
  /// The busiest link's time alone.
  double least_on_links(double bytes) const;

 private:
  const Laid& laid(const NcclChoice& choice) const;
  /// Seconds a byte that the links here take; 0: the choice uses none.
  static double on_links(const NcclChoice& choice, const Laid& on);
  /// True if that is more than the model's time, but for rounding.
  static bool links_bind(const NcclChoice& choice, const Laid& on) {
    return on_links(choice, on) > (1 + 1e-12) / choice.bandwidth;
  }
  /// Seconds that the bytes take.
  static double moving(const NcclChoice& choice, const Laid& on, double bytes);
  /// Bytes that travel for each of the block.
  static double travelling(const NcclChoice& choice, const Laid& on);

  NcclPrice price_;
  std::vector<Laid> laid_;
};

/// By call; null: what its algorithm sends, whatever the size.
using NcclCalls = std::vector<std::shared_ptr<const NcclOnLinks>>;

}  // namespace allreplay
