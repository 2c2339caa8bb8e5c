// The layers of transformers as one worker of its groups has them: products, attention, normalisations, embeddings.
// Families (transformer.cpp, layer_norm_decoder.cpp) and experts (expert_mlp.cpp) are built from them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/inputs/estimate/transformer.hpp"

namespace allreplay {

class LayerBuilder {
 public:
  LayerBuilder(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place, const Split& split);

  const Transformer& model() const { return t_; }
  const Split& split() const { return split_; }
  /// The tokens of a sample that a worker of a context group has.
  std::int64_t tokens() const { return tokens_; }
  /// The tokens that a worker has between products: fewer with sequence parallelism.
  std::int64_t spread() const { return spread_; }

  /// Starts a unit.
  void begin(const std::string& group, std::int64_t block = -1);

  ComputationLayer& layer(const std::string& name, double macs, std::int64_t outputs);
  void tensor(ComputationLayer& layer, const std::string& name, std::vector<std::int64_t> shape) const;

  /// Each worker of a tensor group has some rows of the word embedding and looks up all tokens, with 0 for rows that it
  /// does not have; it has all rows of other embeddings.
  void embedding(const std::string& name, std::int64_t rows, bool words = false);

  /// LayerNorm (with bias) keeps mean and deviation of each token, RMSNorm (without) one number.
  void normalisation(const std::string& name, bool bias);
  /// An RMSNorm of `parts` vectors of `width` in each of `tokens` tokens, which share its weights.
  void rms_norm(const std::string& name, std::int64_t width, std::int64_t parts, std::int64_t tokens);

  /// The side of a product that a tensor group splits: its outputs, its inputs (which are already split), or neither.
  enum class Cut : std::uint8_t { None, Outputs, Inputs };
  struct Dense {
    Cut cut = Cut::None;
    bool bias = true;
    bool transposed = false;  ///< GPT-2 stores [inputs, outputs]
    bool input_kept = false;  ///< by another layer: only one of several readers keeps the input
    std::int64_t rows = 0;    ///< 0: one for each token
    bool first = false;
  };
  ComputationLayer& dense(const std::string& name, std::int64_t whole_inputs, std::int64_t whole_outputs, Dense how);

  /// Queries, keys and values as three products of the same input. The names follow `prefix`.
  void projections(const std::string& prefix, const std::array<const char*, 3>& names, std::int64_t queries,
                   std::int64_t keys, bool bias);
  /// The attention of all heads, between its products.
  ComputationLayer& attention(const std::string& name, bool causal, bool rotary);

  /// The MLP of LLaMA's relatives: silu(gate)·up, down, and the addition to the residual.
  ComputationLayer& gated_mlp(const std::string& name, std::int64_t ffn, bool input_kept = false);

  /// Ends a branch: dropout, if the family has it, and the addition to the residual.
  void residual(ComputationLayer& one) const;
  /// Adds a GELU, which keeps its input.
  void gelu(ComputationLayer& one, std::int64_t tokens, std::int64_t width) const;
  /// Adds silu(gate)·up of `inner` elements: forward reads two tensors and writes one; both and silu(gate) are kept.
  static void gate(ComputationLayer& one, double inner);
  /// Adds the cross-entropy of each token's logits.
  void loss(ComputationLayer& one) const;
  /// The output projection. If tied, it uses the embedding's tensor, and has none of its own.
  void head(const std::string& name);

  /// Sums the partial outputs of a tensor group: `elements` of all its workers' tokens. With sequence parallelism each
  /// worker gets only its own tokens.
  void sum_up(ComputationLayer& one, double elements) const;
  /// Gives all workers of a tensor group the same input; the gradients of the input are summed.
  void share_input(ComputationLayer& one, double elements) const;

  static double number(std::int64_t value) { return static_cast<double>(value); }

 protected:
  std::int64_t part_of_vocabulary(std::int64_t rows) const;
  std::int64_t counted(double value, double limit) const;

  const Transformer& t_;
  const Split& split_;
  std::int64_t whole_;   // tokens of a sample
  std::int64_t tokens_;  // of these, the tokens of a context group's worker
  std::int64_t spread_;  // of those, the tokens that it has between products
  const SourceLocation& place_;
  bool dropout_;
  Computation work_;
  std::string group_;
  std::int64_t block_ = -1;
};

/// Adds all layers of OPT, GPT-NeoX or Falcon: decoders with LayerNorm and an MLP without a gate.
void add_layer_norm_decoder(LayerBuilder& build);

/// Adds, in forward order, shared experts, router, experts and combine (docs/moe.md).
void add_expert_mlp(LayerBuilder& builder, const std::string& name);
/// The parameters that a token meets: all but those of the experts that it is not sent to. REQUIRES: no split.
std::int64_t active_parameters(const Transformer& transformer, const Computation& work);

}  // namespace allreplay
