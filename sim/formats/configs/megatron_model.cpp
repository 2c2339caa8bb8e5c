// The model that Megatron-LM's arguments describe, as a file of models/transformers/.
#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

[[noreturn]] void refuse_model(Entries& entries, std::string_view key, const std::string& what) {
  throw InputError({entries.file(), std::string(key)}, what, "--model NAME, or a config.json");
}

std::int64_t required_count(Entries& entries, std::string_view key) {
  const auto value = entries.count(key);
  if (!value)
    refuse_model(entries, key, "is not given, so that the file, read as Megatron-LM's arguments, describes no model");
  return *value;
}

std::string model_json_of(Entries& entries) {
  const bool gated = entries.flag("swiglu"), biased = !entries.flag("disable_bias_linear"),
             rotary =
                 entries.flag("use_rotary_position_embeddings") || entries.text("position_embedding_type") == "rope",
             grouped = entries.flag("group_query_attention");
  if (const auto experts = entries.count("num_experts", 0); experts && *experts > 0)
    refuse_model(entries, "num_experts", fmt::format("a mixture of {} experts is not read from arguments", *experts));
  if (gated != rotary || (!gated && !biased))
    refuse_model(entries,
                 gated    ? "swiglu"
                 : rotary ? "position_embedding_type"
                          : "disable_bias_linear",
                 "neither LLaMA's blocks (swiglu, rope) nor GPT-2's (biases, learned positions)");
  const std::int64_t hidden = required_count(entries, "hidden_size"),
                     heads = required_count(entries, "num_attention_heads");
  const auto count_of = [&](std::string_view key, std::string_view instead) {
    const auto value = entries.count(key);
    return value ? *value : required_count(entries, instead);
  };
  // arguments.py: a gated MLP keeps the number of parameters.
  const std::int64_t usual = gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
  JsonValue model{{"family", gated ? "llama" : "gpt2"},
                  {"source", "the arguments of Megatron-LM in " + entries.file()},
                  {"layers", required_count(entries, "num_layers")},
                  {"hidden", hidden},
                  {"heads", heads},
                  {"kv_heads", grouped ? entries.count("num_query_groups").value_or(1) : heads},
                  {"ffn", entries.count("ffn_hidden_size").value_or(usual)},
                  {"vocab", count_of("padded_vocab_size", "vocab_size")},
                  {"positions", count_of("max_position_embeddings", "seq_length")},
                  {"tied", !entries.flag("untie_embeddings_and_output_weights")}};
  if (const auto size = entries.count("kv_channels")) model["head_size"] = *size;
  if (gated) {
    model["qkv_bias"] = biased || entries.flag("add_qkv_bias");
    model["output_bias"] = model["mlp_bias"] = biased;
  }
  return model.dump(1);
}

}  // namespace

std::optional<std::string> model_in_arguments(const Files& files, const std::string& file) {
  if (file.ends_with(".json") || !files.is_file(file)) return std::nullopt;
  const std::string text = files.read(file, most_bytes_of_config);
  if (trim(text).starts_with('{')) return std::nullopt;
  Entries entries = entries_of_arguments(text, file);
  return model_json_of(entries);
}

}  // namespace allreplay
