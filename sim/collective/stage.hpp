// The legs of a block's way over the network: an all-reduce in one, or its two halves apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace allreplay {

/// A task of the network says by Task::service which of these it is.
enum class Stage : std::uint32_t { AllReduce, ReduceScatter, AllGather };
inline constexpr std::size_t stage_count = 3;

inline std::string to_string(Stage stage) {
  switch (stage) {
    case Stage::AllReduce:
      return "all-reduce";
    case Stage::ReduceScatter:
      return "reduce-scatter";
    case Stage::AllGather:
      return "all-gather";
  }
  return "";
}

}  // namespace allreplay
