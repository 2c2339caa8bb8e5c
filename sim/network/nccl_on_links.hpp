// NCCL on a topology: at every size its own model chooses, and what it chose travels on the links.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collective/nccl.hpp"

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
    /// The busiest links of all rounds, seconds per byte: here, and on the rails that NCCL believes in. 0: none.
    double busy = 0, busy_on_rails = 0;
    double busiest = 0;  ///< the busiest link here, over all rounds; seconds per byte

    double slower() const { return busy > 0 ? busy / busy_on_rails : 1; }
  };

  /// REQUIRES: all algorithms that the price may choose.
  NcclOnLinks(NcclPrice price, std::vector<Laid> laid) : price_(price), laid_(std::move(laid)) {}

  NcclWay way(double bytes) const;

  /// The model's latency and the links', and the model's time of the bytes as often as the links here are slower.
  double seconds(double bytes) const override;
  double start_up(double bytes) const override;
  double least(double bytes) const override;
  /// Of bytes in any blocks, however they overlap, no less than the largest of a base and the busiest link's time.
  double least_together(double bytes) const;
  /// The busiest link's time alone.
  double least_on_links(double bytes) const;

 private:
  const Laid& laid(const NcclChoice& choice) const;

  NcclPrice price_;
  std::vector<Laid> laid_;
};

/// By call; null: what its algorithm sends, whatever the size.
using NcclCalls = std::vector<std::shared_ptr<const NcclOnLinks>>;

}  // namespace allreplay
