// An algorithm in MSCCL's XML (microsoft/msccl-tools, msccl/language/ir.py) as it was written: GPUs, threadblocks,
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/core/error.hpp"
#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

/// A step receives what another GPU sent, or reads its own source; adds its source; stores the result; sends it.
struct MscclStepKind {
  std::string_view name;
  bool receives, reduces, stores, sends;

  /// True if the step has a source: a step that receives has one only if it reduces.
  bool reads_source() const { return receives ? reduces : stores || sends; }
};

struct MscclStep {
  const MscclStepKind* kind = nullptr;
  std::int64_t source = 0, target = 0;            ///< the first of `count` cells of this GPU
  std::int64_t count = 1;                         ///< chunks
  std::int64_t other_block = -1, other_step = 0;  ///< starts after this step of another threadblock; -1: none
  SourceLocation place;
};

struct MscclBlock {
  std::int64_t to = -1, from = -1;  ///< GPUs; -1: none
  std::int64_t channel = 0;
  std::vector<MscclStep> steps;
};

/// Each GPU's buffers are cells of one chunk. In place, input and output share cells.
struct MscclProgram {
  std::string name;
  CollectiveOp operation = CollectiveOp::AllReduce;
  Rank ranks = 0;
  std::int64_t chunks = 1;  ///< of the larger of input and output
  std::int64_t cells = 0;   ///< of each GPU: output first, then input, then scratch
  bool in_place = true;
  std::vector<std::vector<MscclBlock>> blocks;  ///< by GPU
  SourceLocation place;

  std::int64_t input_chunks() const { return operation == CollectiveOp::AllGather ? chunks / ranks : chunks; }
  std::int64_t output_chunks() const { return operation == CollectiveOp::ReduceScatter ? chunks / ranks : chunks; }
  /// The cell of a chunk of the GPU's input, or of its output.
  std::int64_t input_cell(Rank rank, std::int64_t chunk) const {
    if (!in_place) return chunks + chunk;
    return operation == CollectiveOp::AllGather ? rank * input_chunks() + chunk : chunk;
  }
  std::int64_t output_cell(Rank rank, std::int64_t chunk) const {
    return in_place && operation == CollectiveOp::ReduceScatter ? rank * output_chunks() + chunk : chunk;
  }
};

/// Throws InputError, with the line.
MscclProgram read_msccl_program(std::string_view text, const std::string& file);

}  // namespace allreplay
