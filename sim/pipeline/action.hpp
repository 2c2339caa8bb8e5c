// What a rank of a pipeline does, in order: rows of actions, as PyTorch's schedules have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/named.hpp"

namespace allreplay {

enum class ActionKind : std::uint8_t {
  Forward,         ///< F: a chunk's forward pass of one micro-batch
  Backward,        ///< B: its backward pass, whole
  BackwardInput,   ///< I: the part that makes the gradient of its input
  BackwardWeight,  ///< W: the part that makes its weights' gradients
  SendForward,     ///< of a chunk's activations to the next
  ReceiveForward,
  SendBackward,  ///< of their gradient to the one before
  ReceiveBackward,
  Unshard,     ///< FSDP: gathers a chunk's parameters
  Reshard,     ///< frees them
  ReduceGrad,  ///< reduces its gradients
};

/// As files write them.
inline constexpr Word<ActionKind> action_kinds[] = {
    {ActionKind::Forward, "F"},
    {ActionKind::Backward, "B"},
    {ActionKind::BackwardInput, "I"},
    {ActionKind::BackwardWeight, "W"},
    {ActionKind::SendForward, "SEND_F"},
    {ActionKind::ReceiveForward, "RECV_F"},
    {ActionKind::SendBackward, "SEND_B"},
    {ActionKind::ReceiveBackward, "RECV_B"},
    {ActionKind::Unshard, "UNSHARD"},
    {ActionKind::Reshard, "RESHARD"},
    {ActionKind::ReduceGrad, "REDUCE_GRAD"},
};

inline bool computes(ActionKind kind) { return kind <= ActionKind::BackwardWeight; }
/// Whether it hands a gradient on to the chunk before; and whether it makes those of weights.
inline bool hands_back(ActionKind kind) { return kind == ActionKind::Backward || kind == ActionKind::BackwardInput; }
inline bool makes_gradients(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardWeight;
}
/// Whether it is of one micro-batch, and not of a chunk's parameters.
inline bool of_micro_batch(ActionKind kind) { return kind < ActionKind::Unshard; }

struct Action {
  ActionKind kind = ActionKind::Forward;
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
