// The actions of a pipeline's ranks. A row lists a rank's actions in order, as in PyTorch's schedule files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plans/schedule/activity.hpp"

namespace allreplay {

/// True if the action computes the gradient that the previous chunk needs.
inline bool returns_gradient(Activity kind) { return kind == Activity::Backward || kind == Activity::BackwardInput; }
/// True if the action computes the gradients of weights.
inline bool makes_gradients(Activity kind) { return kind == Activity::Backward || kind == Activity::BackwardWeight; }
/// True if the action belongs to one micro-batch; the others concern a chunk's parameters.
inline bool is_micro_batch_action(Activity kind) { return kind < Activity::Unshard; }

struct Action {
  Activity kind = Activity::Forward;
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;
  bool joined = false;  ///< shares a cell with the previous action (OVERLAP_F_B)
  bool operator==(const Action&) const = default;
};

using ActionRow = std::vector<Action>;
/// One row per rank.
using ActionRows = std::vector<ActionRow>;

/// Returns the notation of schedule files, such as "2F0" or "1UNSHARD".
std::string to_string(const Action& action);

/// Writes one line per rank, comma-separated without blanks, like PyTorch's golden files.
std::string write_rows(const ActionRows& rows);

}  // namespace allreplay
