// Transformers from the few numbers that define them, as Hugging Face Transformers names and shapes their tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/estimate/computation.hpp"

namespace allreplay {

enum class Family : std::uint8_t { Gpt2, Bert, Llama, Vit };

struct Transformer {
  std::string name, description, source;
  std::vector<std::string> left_out;  ///< of a config.json, whose class has defaults: "vocab_size 32000"
  Family family = Family::Llama;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;  ///< that have been trained; a limit where they are learned (GPT-2, BERT)
  std::int64_t types = 2;      ///< BERT's kinds of tokens
  bool mlm = false;            ///< BERT is trained to fill masked tokens and to tell the next sentence
  bool tied = false;           ///< input and output embedding are one tensor, counted once
  bool qkv_bias = false, output_bias = false,
       mlp_bias = false;  ///< LLaMA's relatives; the others have biases everywhere
  std::int64_t image = 224, patch = 16, channels = 3, classes = 1000;  ///< ViT's

  std::int64_t tokens() const;  ///< of a sample unless told otherwise
};

/// The words of `families()` are "gpt2", "bert", "llama", "vit".
std::vector<std::string> families();
Family family_of(const std::string& word, const SourceLocation& place);

/// Throws InputError where the numbers do not go together: heads that do not divide, and the like. `place_of`: of the
/// number with this name of the file's ("heads").
void require_sound(const Transformer& transformer, const std::function<SourceLocation(std::string_view)>& place_of);

/// A file of models/transformers/, or a Hugging Face config.json (by its "model_type"). Throws InputError.
Transformer read_transformer(const Json& json);

/// What such a file's transformer is called: as the file, or, where that is a config.json, as its folder.
std::string name_of_transformer(const std::string& file);

/// How several workers hold one transformer together.
struct Split {
  std::int64_t tp = 1;             ///< Megatron-LM's: heads, inner width and vocabulary are cut among a tensor group
  std::int64_t cp = 1;             ///< tokens are cut among a context group, which gathers keys and values
  bool sequence_parallel = false;  ///< between products the tensor group cuts the tokens, too
};

/// Samples of `tokens` tokens (ViT: those of its images); of a split, what one worker does (docs/estimation.md). Throws
/// InputError at `place` beyond learned positions, and at the option of the split that does not divide.
Computation build(const Transformer& transformer, std::int64_t tokens, const SourceLocation& place,
                  const Split& split = {});

}  // namespace allreplay
