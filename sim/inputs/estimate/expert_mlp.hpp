// The MLP of a block that is a mixture of experts.
#pragma once

#include <string>

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

/// Adds, in forward order, shared experts, router, experts and combine (docs/moe.md).
void add_expert_mlp(LayerBuilder& builder, const std::string& name);

/// The parameters that a token meets: all but those of the experts that it is not sent to. REQUIRES: no split.
std::int64_t active_parameters(const Transformer& transformer, const Computation& work);

/// Throws InputError if a group of experts or of tensors does not divide them.
void require_divides_experts(const Transformer& transformer, const Split& split);

}  // namespace allreplay
