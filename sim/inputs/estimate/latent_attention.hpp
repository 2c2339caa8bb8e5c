// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1).
#pragma once

#include <string>

#include "sim/inputs/estimate/layer_builder.hpp"

namespace allreplay {

/// Adds the products before attention, with the normalisations of the compressed vectors, attention, and the product
/// after it.
void add_latent_attention(LayerBuilder& builder, const std::string& name);

}  // namespace allreplay
