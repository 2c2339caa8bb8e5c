// Parameters of public models whose blocks differ from LLaMA's, from their config.json, each derived here by hand.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/inputs/estimate/transformer.hpp"

using namespace allreplay;

namespace {

Transformer decoder(const std::string& text) { return read_transformer(Json::parse(text, "config.json")); }

std::int64_t decoder_parameters(const std::string& text, const Split& split = {}) {
  return build(decoder(text), 128, {"x", ""}, split).parameters();
}

std::string refused_decoder(const std::string& text) {
  return error_place([&] { decoder(text); });
}

}  // namespace

// V embeddings of width h, tied; per block of L: queries h·H·d, keys and values 2·h·K·d, output H·d·h, MLP 3·h·f,
// norms.
TEST_CASE("gemma2 and gemma3_text have four norms for each block") {
  // gemma-2-2b: 256000·2304 + 26·(2304·2048 + 2·2304·1024 + 2048·2304 + 3·2304·9216 + 4·2304) + 2304.
  CHECK(decoder_parameters(
            R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
"num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
"max_position_embeddings": 8192})") == 2'614'341'888);
  // gemma-2-9b: 256000·3584 + 42·(3584·4096 + 2·3584·2048 + 4096·3584 + 3·3584·14336 + 4·3584) + 3584.
  CHECK(decoder_parameters(
            R"({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
"num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
"max_position_embeddings": 8192})") == 9'241'705'984);
  // gemma-3-1b: 262144·1152 + 26·(2·1152·1024 + 2·1152·256 + 3·1152·6912 + 4·1152 + 2·256) + 1152.
  CHECK(decoder_parameters(R"({"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26,
"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144,
"max_position_embeddings": 32768})") == 999'885'952);
}

// phi-3-mini: 2·32064·3072 + 32·(3072·9216 + 3072² + 3·3072·8192 + 2·3072) + 3072; six tensors for each block.
TEST_CASE("phi3 has fused products") {
  const Transformer phi = decoder(R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32,
"num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064,
"max_position_embeddings": 4096})");
  const Computation work = build(phi, 128, {"x", ""});
  CHECK(work.parameters() == 3'821'079'552);
  std::size_t tensors = 0;
  for (const ComputationLayer& layer : work.layers) tensors += layer.model.tensors.size();
  CHECK(tensors == 1 + 32 * 6 + 2);
}

// OLMo-2-1124-7B: 2·100352·4096 + 32·(4·4096² + 3·4096·11008 + 2·4096 + 2·4096) + 4096: norms behind both branches, and
// of all queries and all keys. A tensor group splits these.
TEST_CASE("olmo2 normalises the output of its branches") {
  const std::string olmo = R"({"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 32,
"num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352,
"max_position_embeddings": 4096})";
  CHECK(decoder_parameters(olmo) == 7'298'617'344);
  // Half of all but the three norms of width 4096 that each worker has: 32·2 and the last.
  CHECK(decoder_parameters(olmo, {.tp = 2}) == (7'298'617'344 - 65 * 4096) / 2 + 65 * 4096);
}

TEST_CASE("opt, gpt_neox and falcon have LayerNorm and an MLP without a gate") {
  // opt-125m: 50272·768 + 2050·768 + 12·(4·(768² + 768) + 2·768·3072 + 3072 + 768 + 4·768) + 2·768.
  CHECK(decoder_parameters(
            R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
"ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768})") == 125'239'296);
  // pythia-6.9b: 2·50432·4096 + 32·(4096·12288 + 12288 + 4096² + 4096 + 2·4096·16384 + 16384 + 4096 + 4·4096) + 2·4096.
  CHECK(decoder_parameters(R"({"model_type": "gpt_neox", "hidden_size": 4096, "num_hidden_layers": 32,
"num_attention_heads": 32, "intermediate_size": 16384, "vocab_size": 50432, "max_position_embeddings": 2048,
"tie_word_embeddings": false})") == 6'857'302'016);
  // falcon-7b: 65024·4544 + 32·(4544·73·64 + 4544² + 8·4544² + 2·4544) + 2·4544: one head of keys and values, one norm.
  CHECK(decoder_parameters(R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
"num_attention_heads": 71, "vocab_size": 65024, "multi_query": true, "parallel_attn": true, "bias": false})") ==
        6'921'720'704);
  // falcon-40b: 65024·8192 + 60·(8192·(128 + 16)·64 + 8192² + 8·8192² + 4·8192) + 2·8192.
  CHECK(decoder_parameters(R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
"num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true, "vocab_size": 65024})") ==
        41'303'293'952);
  // falcon-rw-1b: 50304·2048 + 24·(2048·6144 + 6144 + 2048² + 2048 + 8·2048² + 8192 + 2048 + 4·2048) + 2·2048.
  CHECK(decoder_parameters(R"({"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24,
"num_attention_heads": 32, "vocab_size": 50304, "multi_query": false, "parallel_attn": false, "bias": true})") ==
        1'311'625'216);
}

TEST_CASE("related models with another structure are refused by name") {
  CHECK(refused_decoder(R"({"model_type": "gemma3", "text_config": {}})") == "config.json: /model_type");
  CHECK(refused_decoder(
            R"({"model_type": "opt", "hidden_size": 1024, "num_attention_heads": 16, "word_embed_proj_dim": 512})") ==
        "config.json: /word_embed_proj_dim");
  CHECK(refused_decoder(R"({"model_type": "opt", "do_layer_norm_before": false})") ==
        "config.json: /do_layer_norm_before");
}

// 40 heads do not divide Mixtral's default width of 4096, which the file does not say.
TEST_CASE("a default that makes a config.json wrong is named by its key") {
  const std::string start = R"({"model_type": "mixtral", "num_attention_heads": 40, "num_key_value_heads": 8)";
  const auto wrong = [](const std::string& text) -> std::string {
    try {
      decoder(text);
    } catch (const InputError& error) {
      return error.wrong();
    }
    return "";
  };
  CHECK(wrong(start + "}").find("hidden_size") != std::string::npos);
  CHECK(wrong(start + R"(, "hidden_size": 4096})").find("hidden_size") == std::string::npos);
  CHECK(refused_decoder(start + R"(, "hidden_size": 4096})") == "config.json: /num_attention_heads");
}
