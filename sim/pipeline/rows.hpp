// Rows of actions read from a file, and whether they are a schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/pipeline/action.hpp"

namespace allreplay {

/// PyTorch's files: a row a line, cells are actions or empty. Throws InputError with row and cell.
ActionRows parse_rows(const std::string& text, const std::string& file);

/// Where an action stands.
struct ActionPlace {
  std::uint32_t rank = 0, index = 0;
  auto operator<=>(const ActionPlace&) const = default;
};

/// What rows are of, once they have been checked.
struct RowIndex {
  std::int64_t micro_batches = 0;          ///< M
  std::vector<std::uint32_t> rank_of;      ///< by chunk
  std::vector<ActionPlace> forwards;       ///< by chunk and micro-batch
  std::vector<ActionPlace> hand_backs;     ///< likewise: of B or I
  std::vector<ActionPlace> gradients;      ///< likewise: of B or W
  std::vector<ActionPlace> forward_sends;  ///< likewise: the action after which activations are sent
  std::vector<ActionPlace> backward_sends;

  std::uint32_t chunks() const { return static_cast<std::uint32_t>(rank_of.size()); }
  std::size_t at(std::uint32_t chunk, std::uint32_t micro_batch) const {
    return chunk * static_cast<std::size_t>(micro_batches) + micro_batch;
  }
  /// Between which ranks the chunk's activations go to the next chunk.
  bool crosses(std::uint32_t chunk) const { return rank_of[chunk] != rank_of[chunk + 1]; }
  /// V; none where ranks hold unequal numbers of chunks.
  std::optional<std::int64_t> chunks_per_rank(std::int64_t ranks) const;
};

/// Each chunk lives on one rank; each of its micro-batches has one F there, and one B or one I and one W behind it;
/// sends, where rows say any, stand behind what they send; no tasks wait for each other in a circle. Throws InputError
/// at `place`, naming the action, the chunk or the number of rows.
RowIndex index_of(const ActionRows& rows, std::int64_t ranks, const SourceLocation& place);

/// What FSDP asks of the words for parameters, where rows say any: a chunk computes what is gathered, is not gathered
/// twice, and reduces once, behind its last gradient pass. Throws InputError at `place`.
void require_parameter_words(const ActionRows& rows, const RowIndex& index, const SourceLocation& place);

/// Whether any row has an action of that kind.
bool has(const ActionRows& rows, Activity kind);

}  // namespace allreplay
