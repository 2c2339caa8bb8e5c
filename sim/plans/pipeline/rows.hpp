// Reads rows of actions from files and checks that they form a valid schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/plans/pipeline/action.hpp"

namespace allreplay {

/// Parses PyTorch's format: a line per rank; a cell is an action or empty. Throws InputError with row and cell.
ActionRows parse_rows(const std::string& text, const std::string& file);

/// The position of an action: its rank, and its index in the rank's row.
struct ActionPlace {
  std::uint32_t rank = 0, index = 0;
  auto operator<=>(const ActionPlace&) const = default;
};

/// The positions of all actions in rows that have been checked. at() gives the index into the lists.
struct RowIndex {
  std::int64_t micro_batches = 0;           ///< M
  std::vector<std::uint32_t> rank_of;       ///< by chunk
  std::vector<ActionPlace> forwards;        ///< by chunk and micro-batch: F
  std::vector<ActionPlace> hand_backs;      ///< by chunk and micro-batch: B or I
  std::vector<ActionPlace> gradients;       ///< by chunk and micro-batch: B or W
  std::vector<ActionPlace> forward_sends;   ///< the same: the action after which activations are sent
  std::vector<ActionPlace> backward_sends;  ///< the same for the gradient of the chunk's input

  std::uint32_t chunks() const { return static_cast<std::uint32_t>(rank_of.size()); }
  std::size_t at(std::uint32_t chunk, std::uint32_t micro_batch) const {
    return chunk * static_cast<std::size_t>(micro_batches) + micro_batch;
  }
  /// True if the next chunk is on another rank. REQUIRES: chunk + 1 < chunks().
  bool crosses(std::uint32_t chunk) const { return rank_of[chunk] != rank_of[chunk + 1]; }
  /// V; none if ranks hold different numbers of chunks.
  std::optional<std::int64_t> chunks_per_rank(std::int64_t ranks) const;
};

/// Checks rows and indexes them. Each chunk is on one rank; each of its micro-batches has one F there, followed by one
/// B, or by one I and one W; if the rows contain sends, each follows the action whose result it sends; no actions wait
/// for each other in a cycle. Throws InputError at `place`, naming the action, the chunk or the number of rows.
RowIndex index_of(const ActionRows& rows, std::int64_t ranks, const SourceLocation& place);

/// Checks UNSHARD, RESHARD and REDUCE_GRAD, if the rows contain any: a chunk computes only while its parameters are
/// gathered, is not gathered twice, and is reduced once, after its last gradient pass. Throws InputError at `place`.
void require_parameter_words(const ActionRows& rows, const RowIndex& index, const SourceLocation& place);

/// True if any row has an action of this kind.
bool has(const ActionRows& rows, Activity kind);

}  // namespace allreplay
