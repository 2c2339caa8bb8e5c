// What takes time in a training step, or is said of it: works of programs, tasks of replays, bars of pictures and
// actions of pipeline schedules. One row says all names of one.
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
  BackwardInput,   ///< the part of it that makes the gradient of the input
  BackwardWeight,  ///< the part that makes the gradients of the weights
  Forward,
  Update,        ///< the optimizer's, of a layer or of everything
  CopyOut,       ///< a block, from where a gather has put it to where the layers read it
  CopyOutAgain,  ///< likewise, for the backward pass
  CopyIn,        ///< a block's gradients, to where a reduction reads them
  Mark,          ///< no work: an instant that ticks are counted from
  // A codec's, on a compute stream or next to it:
  Encode,
  Decode,
  Codec,  ///< a picture's: encoding and decoding in one
  // Transfers; pictures tell those of plans that shard, and sends between ranks, from others:
  Transfer,
  AllReduce,
  ReduceScatter,
  AllGather,
  Send,
  // Tasks of a replay that only wait:
  LeadIn,   ///< how far a class of workers starts behind the first
  Tick,     ///< until a transfer's lane may look for what is ready
  Arrival,  ///< a class is ready for a transfer, where classes start separately
  Origin,   ///< of a clock's ticks
  // Actions of a pipeline schedule, in addition to passes:
  SendForward,  ///< a chunk's activations to the next chunk
  ReceiveForward,
  SendBackward,  ///< their gradient to the chunk before
  ReceiveBackward,
  Unshard,     ///< FSDP gathers a chunk's parameters
  Reshard,     ///< frees them
  ReduceGrad,  ///< reduces its gradients
};

struct ActivityRow {
  Activity value;
  std::string_view name;         ///< in plan files and in Python
  std::string_view title = "";   ///< in pictures and traces; "": the name
  std::string_view action = "";  ///< in rows of schedules; "": it is no action
};

inline constexpr ActivityRow activity_rows[] = {
    {Activity::Backward, "backward", "", "B"},
    {Activity::BackwardInput, "backward-input", "input gradient", "I"},
    {Activity::BackwardWeight, "backward-weight", "weight gradient", "W"},
    {Activity::Forward, "forward", "", "F"},
    {Activity::Update, "update"},
    {Activity::CopyOut, "copy-out", "copy"},
    {Activity::CopyOutAgain, "copy-out-again", "copy"},
    {Activity::CopyIn, "copy-in", "copy"},
    {Activity::Mark, "mark"},
    {Activity::Encode, "encode"},
    {Activity::Decode, "decode"},
    {Activity::Codec, "codec", "encode and decode"},
    {Activity::Transfer, "transfer", "collective"},
    {Activity::AllReduce, "all-reduce"},
    {Activity::ReduceScatter, "reduce-scatter"},
    {Activity::AllGather, "all-gather"},
    {Activity::Send, "send"},
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
};

/// The table has the order of the enumeration.
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
constexpr bool is_codec(Activity activity) { return Activity::Encode <= activity && activity <= Activity::Codec; }
/// True if a worker's streams do it: it is no wait, and no transfer.
constexpr bool is_on_stream(Activity activity) { return activity <= Activity::Codec && activity != Activity::Mark; }

}  // namespace allreplay
