// Builds transformers from the few numbers that define them, with Hugging Face's names and shapes of tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/inputs/estimate/computation.hpp"

namespace allreplay {

enum class Family : std::uint8_t { Gpt2, Bert, Llama, Vit, Opt, GptNeox, Falcon };

/// The place of the normalisations of LLaMA's relatives: before each branch of a block, behind it (OLMo 2), or both
/// (Gemma 2 and 3).
enum class Norms : std::uint8_t { Before, After, Both };

/// A mixture of experts: of `count` experts, each token is sent to `top_k`.
struct Experts {
  std::int64_t count = 0;  ///< in each block but the first `dense_layers`; 0: no mixture
  std::int64_t top_k = 0, ffn = 0;
  std::int64_t shared_ffn = 0;    ///< inner width of all shared experts, which every token is sent to
  std::int64_t dense_layers = 0;  ///< of inner width Transformer::ffn
  bool shared_gate = false;       ///< shared experts' output is weighted
  bool router_bias = false, bias = false;
};

/// Multi-head latent attention: keys and values, and perhaps queries, are computed from compressed ones.
struct LatentAttention {
  std::int64_t kv_rank = 0;     ///< 0: ordinary attention
  std::int64_t query_rank = 0;  ///< 0: queries are not compressed
  std::int64_t rope = 0;        ///< of a head's width, the part with rotary positions
};

struct Transformer {
  std::string name, description, source;
  std::vector<std::string> left_out;  ///< of a config.json: defaults that were used, "vocab_size 32000"
  Family family = Family::Llama;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, ffn = 0;
  std::int64_t value_size = 0;  ///< width of a head of values; elsewhere head_size
  std::int64_t vocab = 0;
  std::int64_t positions = 0;  ///< trained positions; a limit if they are learned (GPT-2, BERT)
  std::int64_t types = 2;      ///< BERT's number of token types
  bool mlm = false;            ///< BERT's pretraining: masked tokens and next sentences
  bool tied = false;           ///< input and output embedding are one tensor, counted once
  /// Biases of LLaMA's relatives (qkv_bias: also of ViT). All other families have biases in every layer.
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false;        ///< queries and keys of each head are normalised (Qwen3)
  bool qk_norm_whole = false;  ///< with qk_norm: those of all heads together (OLMo 2)
  bool fused = false;          ///< queries, keys and values are one product, gate and up another (Phi-3)
  bool shared_norm = false;    ///< attention and MLP side by side read one normalisation (Falcon)
  Norms norms = Norms::Before;
  bool sinks = false;  ///< each head has a logit of its own (gpt-oss)
  Experts experts;
  LatentAttention latent;
  std::int64_t image = 224, patch = 16, channels = 3, classes = 1000;  ///< ViT's

  std::int64_t tokens() const;  ///< the default length of a sample

  /// Sets the widths of heads that are not given. REQUIRES: sound.
  void complete();
};

/// The families' names in files: "gpt2", "bert", …
std::vector<std::string> families();
std::string_view name_of(Family family);
/// True if the family's products have biases unless a file says otherwise.
bool has_biases(Family family);
Family family_of(const std::string& word, const SourceLocation& place);

/// Throws InputError if the numbers are inconsistent, such as heads that do not divide the width, or too large.
/// `place_of` returns the place of a number by its key in files ("heads", "experts/top_k").
void require_sound(const Transformer& transformer, const std::function<SourceLocation(std::string_view)>& place_of);

/// Reads a file of models/transformers/, or a Hugging Face config.json (which has "model_type"). Throws InputError.
Transformer read_transformer(const Json& json);

/// The name of such a file's transformer: the file's, or for a config.json the folder's.
std::string name_of_transformer(const std::string& file);

/// The division of one transformer among several workers.
struct Split {
  std::int64_t tp = 1;             ///< as in Megatron-LM, heads, inner width and vocabulary are split in a tensor group
  std::int64_t cp = 1;             ///< tokens are split in a context group, which gathers keys and values
  bool sequence_parallel = false;  ///< between products, tokens are also split in the tensor group
  std::int64_t ep = 1;             ///< experts are split in a group of data-parallel workers
  double imbalance = 1;            ///< rows of the busiest worker's experts / the mean
  std::int64_t batch = 1;          ///< samples of the mini-batch, whose rows are rounded up together
};

/// The computation for samples of `tokens` tokens (ViT: those of its images); with a split, one worker's part
/// (docs/estimation.md). Throws InputError at `place` beyond learned positions, and at the split's option if uneven.
Computation build(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place,
                  const Split& split = {});

}  // namespace allreplay
