#include "sim/inputs/estimate/latent_attention.hpp"

namespace allreplay {

void add_latent_attention(LayerBuilder& builder, const std::string& name) {
  using Cut = LayerBuilder::Cut;
  const Transformer& t = builder.model();
  const LatentAttention& latent = t.latent;
  // Down-projections are whole on every worker of a tensor group (Megatron-Core, multi_latent_attention.py).
  if (latent.query_rank > 0) {
    builder.dense(name + ".q_a_proj", t.hidden, latent.query_rank, {.bias = t.qkv_bias});
    builder.rms_norm(name + ".q_a_layernorm", latent.query_rank, 1, builder.spread());
    builder.dense(name + ".q_b_proj", latent.query_rank, t.heads * t.head_size, {.cut = Cut::Outputs, .bias = false});
  } else {
    builder.dense(name + ".q_proj", t.hidden, t.heads * t.head_size, {.cut = Cut::Outputs, .bias = false});
  }
  // Keys' rotary part is one for all heads, and is not normalised.
  builder.dense(name + ".kv_a_proj_with_mqa", t.hidden, latent.kv_rank + latent.rope,
                {.bias = t.qkv_bias, .input_kept = true});
  builder.rms_norm(name + ".kv_a_layernorm", latent.kv_rank, 1, builder.spread());
  builder.dense(name + ".kv_b_proj", latent.kv_rank, t.heads * (t.head_size - latent.rope + t.value_size),
                {.cut = Cut::Outputs, .bias = false});
  ComputationLayer& pairs = builder.attention(name, true, true);
  builder.share_input(pairs, static_cast<double>(builder.tokens() * latent.rope));
  builder.residual(builder.dense(name + ".o_proj", t.heads * t.value_size, t.hidden,
                                 {.cut = Cut::Inputs, .bias = t.output_bias, .input_kept = true}));
}

}  // namespace allreplay
