// Fine-tuning: layers that are not trained, and the adapters of LoRA (E. Hu et al., arXiv 2106.09685).
#pragma once

#include <span>
#include <string>

#include "sim/base/core/error.hpp"
#include "sim/inputs/estimate/computation.hpp"

namespace allreplay {

/// Freezes the layers that a pattern names: a unit ("embeddings", "head"), blocks from 0 ("blocks:0-15"), or layers by
/// name, with * for any text ("*norm*"). Throws InputError at `place` if a pattern names no layer, or nothing remains.
void freeze(Computation& work, std::span<const std::string> patterns, const SourceLocation& place);

/// Freezes all layers, and adds an adapter of this rank in parallel to each product that a target names, as PEFT does:
/// tensors of rank x inputs and outputs x rank. A target is the end of a layer's name ("q_proj"), an abbreviation of it
/// ("q", "gate"), or "all-linear": every product of blocks. Without targets, queries and values get adapters, or the
/// products that contain them. Throws InputError at `rank_place` if the rank is above a product's sides or nothing has
/// blocks, at `targets_place` if a target names no product.
void add_adapters(Computation& work, std::int64_t rank, std::span<const std::string> targets,
                  const SourceLocation& rank_place, const SourceLocation& targets_place);

}  // namespace allreplay
