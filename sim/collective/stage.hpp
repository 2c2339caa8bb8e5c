// The legs of a block's way over the network: an all-reduce in one, or its two halves apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace allreplay {

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

/// Among whom: a family of equal groups of workers that act at once, each among itself.
enum class Axis : std::uint32_t {
  All,      ///< all N workers, in one group
  Shard,    ///< groups of G consecutive workers, who share out what is sharded; all N where nothing says G
  Replica,  ///< the N/G workers of equal place in those groups: each group sends its 1/G of the bytes
  // Of the legs of a parameter server's collectives, and of no plan:
  Node,     ///< the workers of each node
  Servers,  ///< all workers with servers on hosts of their own, or one of each node
};
inline constexpr std::size_t axis_count = 5;

inline std::string to_string(Axis axis) {
  switch (axis) {
    case Axis::All:
      return "all";
    case Axis::Shard:
      return "shard";
    case Axis::Replica:
      return "replica";
    case Axis::Node:
      return "node";
    case Axis::Servers:
      return "servers";
  }
  return "";
}

/// What is asked of a network. A task of the network says by Task::service which of these it is.
struct Call {
  Stage stage = Stage::AllReduce;
  Axis axis = Axis::All;

  Call(Stage of) : stage(of) {}  // NOLINT(*-explicit-*): among all workers, if nothing else is said
  Call(Stage of, Axis among) : stage(of), axis(among) {}
  bool operator==(const Call&) const = default;
};
inline constexpr std::size_t call_count = stage_count * axis_count;

inline std::uint32_t service_of(const Call& call) {
  return static_cast<std::uint32_t>(call.axis) * std::uint32_t{stage_count} + static_cast<std::uint32_t>(call.stage);
}
inline Call call_of(std::uint32_t service) {
  return {static_cast<Stage>(service % stage_count), static_cast<Axis>(service / stage_count)};
}

}  // namespace allreplay
