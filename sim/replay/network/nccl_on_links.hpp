// NCCL on a topology: its model chooses an algorithm for every size, whose messages then travel on the links.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/plans/collective/nccl.hpp"
#include "sim/replay/network/level_busy.hpp"

namespace allreplay {

/// The way in which a block of some size is sent.
struct NcclWay {
  std::uint32_t rounds = 0;           ///< the number of the fabric's collective that is sent
  double bytes = 0;                   ///< the bytes that travel per byte of the block
  double start_up = 0;                ///< of all its rounds, without other traffic; seconds
  double base = 0;                    ///< the part of it that passes once, at the beginning; seconds
  std::array<double, 2> start_ups{};  ///< the parts per message, inside a node and between nodes; seconds
};

class NcclOnLinks final : public SizePrice {
 public:
  /// The load of an algorithm on the links.
  struct Laid {
    std::string_view algorithm;
    std::uint32_t rounds = 0;  ///< the number of the fabric's collective
    double latency = 0;        ///< of the links along the longest path; seconds
    double busy = 0;           ///< the sum of each round's busiest link; seconds per byte; 0: uses no links
    LevelBusy levels;          ///< the same for each level
    LevelBusy on_rails;        ///< the same for each level of the network of rails that NCCL's model assumes
    double busiest = 0;        ///< the busiest link over all rounds; seconds per byte
  };

  /// REQUIRES: `laid` has all algorithms that the price may choose.
  NcclOnLinks(NcclPrice price, std::vector<Laid> laid) : price_(price), laid_(std::move(laid)) {}

  NcclWay way(double bytes) const;

  /// The latency of the model and of routes beyond it, plus the longer of the model's and the links' time for the
  /// bytes.
  Cost of(double bytes) const override;
  double least(double bytes) const override;
  /// A lower bound for any blocks of `bytes` in total: the larger of the least base and the busiest link's time.
  double least_combined(double bytes) const;
  /// The busiest link's time for `bytes`.
  double least_on_links(double bytes) const;

 private:
  const Laid& laid(const NcclChoice& choice) const;
  /// The time of the links, seconds per byte; 0 if the choice uses none.
  static double on_links(const NcclChoice& choice, const Laid& on);
  /// True if that exceeds the model's time, up to rounding.
  static bool links_bind(const NcclChoice& choice, const Laid& on) {
    return on_links(choice, on) > (1 + 1e-12) / choice.bandwidth;
  }
  /// The time of the bytes, seconds.
  static double moving(const NcclChoice& choice, const Laid& on, double bytes);
  /// The bytes that travel per byte of the block.
  static double travelling(const NcclChoice& choice, const Laid& on);

  NcclPrice price_;
  std::vector<Laid> laid_;
};

/// By call; null if its algorithm does not depend on the size.
using NcclCalls = std::vector<std::shared_ptr<const NcclOnLinks>>;

}  // namespace allreplay
