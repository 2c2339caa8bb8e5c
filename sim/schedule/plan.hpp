// A plan: which transfers a training step makes, what each waits for and what waits for it, and how they queue.
// It has no clock: what happens when is the engine's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/stage.hpp"
#include "sim/core/admission.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"
#include "sim/schedule/draft.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// A task of the compute stream, by name.
enum class WorkKind : std::uint8_t { Backward, Forward };

struct Work {
  WorkKind kind = WorkKind::Backward;
  LayerId layer = 0;
  bool operator==(const Work&) const = default;
};

/// One collective over the bytes of a block.
struct Transfer {
  Stage op = Stage::AllReduce;
  std::uint32_t block = 0;    ///< of Plan::blocks
  std::uint32_t lane = 0;     ///< of Plan::lanes
  std::int64_t priority = 0;  ///< for Order::Priority: smaller goes first
  bool operator==(const Transfer&) const = default;
};

/// How the transfers of one communicator queue.
struct Lane {
  std::string name;
  Order order = Order::FirstReady;
  Window window;
  Time tick{0};  ///< if positive, transfers start only at multiples of it after the start of the program
  bool operator==(const Lane&) const = default;
};

/// A work or a transfer: its end where it comes before, its start where it comes after. Never a time.
struct Moment {
  enum class Of : std::uint8_t { Work, Transfer };
  Of of = Of::Work;
  std::uint32_t index = 0;  ///< of Plan::program, or of Plan::transfers
  bool operator==(const Moment&) const = default;
};
inline Moment work(std::size_t index) { return {Moment::Of::Work, static_cast<std::uint32_t>(index)}; }
inline Moment transfer(std::size_t index) { return {Moment::Of::Transfer, static_cast<std::uint32_t>(index)}; }

/// `after` starts once `before` has ended: on every worker, where one of them is a transfer.
struct Gate {
  Moment before, after;
  bool operator==(const Gate&) const = default;
};

struct Plan {
  std::string strategy;
  /// The order of work on the compute stream: one period, from an instant at which no transfer is in flight.
  std::vector<Work> program;
  std::vector<Block> blocks;
  std::vector<Transfer> transfers;
  std::vector<Gate> gates;
  std::vector<Lane> lanes;
  std::optional<Travel> travel;  ///< what expand() made the transfers of; none in plans that were made without it
};

/// B_L … B_1, F_1 … F_L. No block can be in flight at its start: F_L comes after all that waits for blocks.
std::vector<Work> one_iteration(const Profile& profile);

/// Writes out what a draft means, as transfers in one lane: an all-reduce a block, or a reduce-scatter and an
/// all-gather. Reduce-scatters come first, in the list and by priority, so that no all-gather delays one.
Plan expand(Draft draft, const Profile& profile);

/// The draft that expand() wrote out. REQUIRES: plan.travel.
Draft draft_of(Plan plan);

/// Whether any transfer is half of an all-reduce.
bool uses_halves(const Plan& plan);

/// "fc.weight, fc.bias", at most three of them.
std::string names_of(const Block& block, const Profile& profile);
/// "block 3 (fc.weight, fc.bias)": how people read a block.
std::string describe(const Plan& plan, std::size_t block, const Profile& profile);

std::string to_string(WorkKind kind);
std::string to_string(Order order);
std::string to_string(Barrier barrier);

}  // namespace allreplay
