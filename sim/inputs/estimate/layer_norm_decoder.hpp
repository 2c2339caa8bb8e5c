// Decoders with LayerNorm and an MLP without a gate: OPT, GPT-NeoX and Falcon.
#pragma once

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

/// Adds all layers of such a model. REQUIRES: the model belongs to one of these families.
void add_layer_norm_decoder(LayerBuilder& build);

}  // namespace allreplay
