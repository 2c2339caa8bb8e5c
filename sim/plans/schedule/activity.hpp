// The activities of a training step: works of programs, tasks of replays, bars of pictures and actions of pipeline
// schedules are all of one enumeration. A table has their names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace allreplay {

enum class Activity : std::uint8_t {
  // Works of a program, on a compute stream:
  Backward,        ///< the whole backward pass of a layer, or of a chunk
  BackwardInput,   ///< the part of it that computes the gradient of its input
  BackwardWeight,  ///< the part that computes the gradients of the weights
  Forward,
  Update,        ///< the optimizer step, of a layer or of everything
  HostStep,      ///< the host's part of a step, after the update, in which the GPU waits (with_host_step())
  CopyOut,       ///< copies a gathered block from the gather's buffer to where the layers read it
  CopyOutAgain,  ///< the same for the backward pass
  CopyIn,        ///< copies a block's gradients to the buffer of a reduction
  Dequantise,    ///< converts a block that arrived quantised; also as part of a reduction (Transfer::computes)
  NewtonSchulz,  ///< Muon's update of the matrices in a block; also on its owner (Transfer::computes)
  OuterUpdate,   ///< the outer optimizer's step of the fragment in a block
  Mark,          ///< takes no time: an instant from which ticks are counted
  // Tasks of a codec, on a compute stream or on a stream of its own:
  Encode,
  Decode,
  Codec,     ///< in pictures: encoding and decoding in one task
  Quantise,  ///< before a transfer, in its lane (Transfer::computes)
  // Transfers. Tasks are all of kind Transfer; pictures distinguish the operations if the plan shards:
  Transfer,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Send,
  Exchange,  ///< tokens to their experts or back: in a lane of its own, or in pictures the part of a pass that it takes
  // Tasks of a replay that only wait:
  LeadIn,   ///< the delay of a class of workers after the earliest one
  Tick,     ///< the wait of a transfer for its lane's tick
  Arrival,  ///< a class is ready for a transfer (Unrolled::per_rank_start)
  Origin,   ///< sets the origin of a clock's ticks
  // Actions of a pipeline schedule, in addition to passes:
  SendForward,  ///< sends a chunk's activations to the next chunk
  ReceiveForward,
  SendBackward,  ///< sends the gradient of a chunk's input to the previous chunk
  ReceiveBackward,
  Unshard,     ///< FSDP: gathers a chunk's parameters
  Reshard,     ///< FSDP: frees them
  ReduceGrad,  ///< FSDP: reduces the chunk's gradients
  // Only in pictures:
  LayerCollective,  ///< the part of a pass that collectives inside its layer take, other than token exchange
};

struct ActivityRow {
  Activity value;
  std::string_view name;         ///< in plan files and in Python
  std::string_view title = "";   ///< in pictures and traces; "": the name
  std::string_view action = "";  ///< in rows of schedules; "": it is not an action
};

inline constexpr ActivityRow activity_rows[] = {
    {Activity::Backward, "backward", "", "B"},
    {Activity::BackwardInput, "backward-input", "input gradient", "I"},
    {Activity::BackwardWeight, "backward-weight", "weight gradient", "W"},
    {Activity::Forward, "forward", "", "F"},
    {Activity::Update, "update"},
    {Activity::HostStep, "host-step", "host"},
    {Activity::CopyOut, "copy-out", "copy"},
    {Activity::CopyOutAgain, "copy-out-again", "copy"},
    {Activity::CopyIn, "copy-in", "copy"},
    {Activity::Dequantise, "dequantise"},
    {Activity::NewtonSchulz, "newton-schulz", "Newton-Schulz"},
    {Activity::OuterUpdate, "outer-update", "outer update"},
    {Activity::Mark, "mark"},
    {Activity::Encode, "encode"},
    {Activity::Decode, "decode"},
    {Activity::Codec, "codec", "encode and decode"},
    {Activity::Quantise, "quantise"},
    {Activity::Transfer, "transfer", "collective"},
    {Activity::AllReduce, "all-reduce"},
    {Activity::ReduceScatter, "reduce-scatter"},
    {Activity::AllGather, "all-gather"},
    {Activity::AllToAll, "all-to-all"},
    {Activity::Send, "send"},
    {Activity::Exchange, "exchange", "token exchange"},
    {Activity::LeadIn, "lead-in"},
    {Activity::Tick, "tick"},
    {Activity::Arrival, "arrival"},
    {Activity::Origin, "origin"},
    {Activity::SendForward, "send-forward", "", "SEND_F"},
    {Activity::ReceiveForward, "receive-forward", "", "RECV_F"},
    {Activity::SendBackward, "send-backward", "", "SEND_B"},
    {Activity::ReceiveBackward, "receive-backward", "", "RECV_B"},
    {Activity::Unshard, "unshard", "", "UNSHARD"},
    {Activity::Reshard, "reshard", "", "RESHARD"},
    {Activity::ReduceGrad, "reduce-grad", "", "REDUCE_GRAD"},
    {Activity::LayerCollective, "layer-collective", "tp or cp collective"},
};

/// The rows have the order of the enumeration.
constexpr const ActivityRow& row_of(Activity activity) { return activity_rows[static_cast<std::size_t>(activity)]; }
static_assert(std::ranges::all_of(activity_rows,
                                  [](const ActivityRow& row) { return row_of(row.value).value == row.value; }));

inline std::string to_string(Activity activity) { return std::string(row_of(activity).name); }
inline std::string title_of(Activity activity) {
  const ActivityRow& row = row_of(activity);
  return std::string(row.title.empty() ? row.name : row.title);
}

constexpr bool is_work(Activity activity) { return activity <= Activity::Mark; }
constexpr bool is_pass(Activity activity) { return activity <= Activity::Forward; }
constexpr bool is_copy(Activity activity) { return Activity::CopyOut <= activity && activity <= Activity::CopyIn; }
constexpr bool is_inside_layer(Activity activity) {
  return activity == Activity::Exchange || activity == Activity::LayerCollective;
}
constexpr bool is_codec(Activity activity) { return Activity::Encode <= activity && activity <= Activity::Codec; }
/// True if it runs on a stream of a worker: not a wait, and not a transfer.
constexpr bool is_on_stream(Activity activity) { return activity <= Activity::Codec && activity != Activity::Mark; }

}  // namespace allreplay
