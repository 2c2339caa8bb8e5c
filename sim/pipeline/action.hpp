// The actions of a pipeline's ranks. A row lists a rank's actions in order, as in PyTorch's schedule files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/named.hpp"

namespace allreplay {

enum class ActionKind : std::uint8_t {
  Forward,         ///< F: a chunk's forward pass for one micro-batch
  Backward,        ///< B: its whole backward pass
  BackwardInput,   ///< I: the part of the backward pass that computes the gradient of the chunk's input
  BackwardWeight,  ///< W: the part that computes the gradients of its weights
  SendForward,     ///< sends a chunk's activations to the next chunk
  ReceiveForward,
  SendBackward,  ///< sends the gradient of a chunk's input to the previous chunk
  ReceiveBackward,
  Unshard,     ///< FSDP: gathers a chunk's parameters
  Reshard,     ///< FSDP: frees them
  ReduceGrad,  ///< FSDP: reduces the chunk's gradients
};

/// The names in schedule files.
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
/// True if the action computes the gradient that the previous chunk needs.
inline bool hands_back(ActionKind kind) { return kind == ActionKind::Backward || kind == ActionKind::BackwardInput; }
/// True if the action computes the gradients of weights.
inline bool makes_gradients(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::BackwardWeight;
}
/// True if the action belongs to one micro-batch; the others concern a chunk's parameters.
inline bool of_micro_batch(ActionKind kind) { return kind < ActionKind::Unshard; }

struct Action {
  ActionKind kind = ActionKind::Forward;
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
