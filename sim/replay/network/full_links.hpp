// Finds the full links on which bytes of several jobs move simultaneously, in the fidelity `fluid`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/replay/network/meetings.hpp"
#include "sim/replay/network/round_load.hpp"

namespace allreplay {

/// Rounds of the same shape that move simultaneously: they load the links identically.
struct AlikeRounds {
  std::uint32_t shape = 0;
  std::uint32_t count = 0;
  double speed = 0;  ///< of each round, as a fraction of full speed
};

class FullLinks {
 public:
  /// REQUIRES: `shapes` keeps whole shapes; `meetings` outlives this.
  FullLinks(std::span<const std::shared_ptr<const RoundLoads>> collectives, std::span<const std::uint32_t> job_of_call,
            const Shapes& shapes, Meetings& meetings);

  /// The meeting of these rounds.
  Meetings::Id meeting_of(std::span<const AlikeRounds> together);

 private:
  // Links that all shapes use equally are full simultaneously: only one of them is computed.
  struct AlikeLinks {
    std::vector<LinkId> links;
    std::vector<std::uint32_t> shapes;  // those of jobs, in the order of the jobs
  };

  Meetings* meetings_;
  std::vector<std::uint32_t> job_of_shape_;  // `nobody` for background flows
  std::vector<Shape> uses_;                  // by shape: of alike_, by index
  std::vector<AlikeLinks> alike_;
  // For meeting_of():
  std::vector<char> moves_;   // by shape
  std::vector<double> used_;  // by index of alike_
  std::vector<std::uint32_t> jobs_;
  std::vector<Meetings::Place> places_;
};

}  // namespace allreplay
