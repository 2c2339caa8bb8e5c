// What a rank of a pipeline does, in order: rows of actions, as PyTorch's schedules have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/schedule/activity.hpp"

namespace allreplay {

/// Whether it hands a gradient on to the chunk before; and whether it makes those of weights.
inline bool hands_back(Activity kind) { return kind == Activity::Backward || kind == Activity::BackwardInput; }
inline bool makes_gradients(Activity kind) { return kind == Activity::Backward || kind == Activity::BackwardWeight; }
/// Whether it is of one micro-batch, and not of a chunk's parameters.
inline bool of_micro_batch(Activity kind) { return kind < Activity::Unshard; }

struct Action {
  Activity kind = Activity::Forward;
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;
  bool joined = false;  ///< written in one cell with the action before it (OVERLAP_F_B)
  bool operator==(const Action&) const = default;
};

using ActionRow = std::vector<Action>;
/// By rank.
using ActionRows = std::vector<ActionRow>;

/// "2F0", "1UNSHARD".
std::string to_string(const Action& action);

/// Comma-separated, without blanks, a line a rank: what PyTorch's golden files hold.
std::string write_rows(const ActionRows& rows);

}  // namespace allreplay
