// Reads descriptions of transformers: models/transformers/*.json, and Hugging Face's config.json.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/estimate/config_keys.hpp"
#include "sim/inputs/estimate/transformer.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most = 1'000'000'000;  // for every number; with existing models, products of three fit 64 bits

std::int64_t count(const Json& json) { return json.integer(1, most); }

bool is_null(const Json& json) { return json.dump() == "null"; }

constexpr Word<Family> family_words[] = {
    {Family::Gpt2, "gpt2"}, {Family::Bert, "bert"},        {Family::Llama, "llama"},  {Family::Vit, "vit"},
    {Family::Opt, "opt"},   {Family::GptNeox, "gpt_neox"}, {Family::Falcon, "falcon"}};
constexpr Word<Norms> norm_places[] = {{Norms::Before, "before"}, {Norms::After, "after"}, {Norms::Both, "both"}};

Experts read_experts(const Json& json) {
  json.allow_only({"count", "top_k", "ffn", "shared_ffn", "shared_gate", "dense_layers", "router_bias", "bias"});
  Experts experts{.count = count(json.at("count")), .top_k = count(json.at("top_k")), .ffn = count(json.at("ffn"))};
  experts.shared_ffn = count_or(json, "shared_ffn", 0);
  experts.dense_layers = count_or(json, "dense_layers", 0);
  experts.shared_gate = flag_or(json, "shared_gate", false);
  experts.router_bias = flag_or(json, "router_bias", false);
  experts.bias = flag_or(json, "bias", false);
  return experts;
}

// Heads' widths, with the names of DeepSeek's configurations.
void read_latent(const Json& json, Transformer& t) {
  t.latent = {.kv_rank = count(json.at("kv_lora_rank")),
              .query_rank = count_or(json, "q_lora_rank", 0),
              .rope = count(json.at("qk_rope_head_dim"))};
  t.head_size = count(json.at("qk_nope_head_dim")) + t.latent.rope;
  t.value_size = count(json.at("v_head_dim"));
}

Transformer read_own(const Json& json) {
  json.allow_only({"description", "source",    "family",        "layers",     "hidden",    "heads",
                   "kv_heads",    "head_size", "ffn",           "vocab",      "positions", "types",
                   "tied",        "qkv_bias",  "output_bias",   "mlp_bias",   "image",     "patch",
                   "channels",    "classes",   "qk_norm",       "sinks",      "experts",   "latent_attention",
                   "norms",       "fused",     "qk_norm_whole", "shared_norm"});
  Transformer t;
  t.family = family_of(json.at("family").text(), json.at("family").place());
  const bool vit = t.family == Family::Vit;
  if (const auto text = json.find("description")) t.description = text->text();
  if (const auto text = json.find("source")) t.source = text->text();
  t.layers = count(json.at("layers"));
  t.hidden = count(json.at("hidden"));
  t.heads = count(json.at("heads"));
  t.kv_heads = count_or(json, "kv_heads", t.heads);
  t.head_size = count_or(json, "head_size", 0);
  t.ffn = count(json.at("ffn"));
  if (!vit) t.vocab = count(json.at("vocab"));
  if (!vit) t.positions = count(json.at("positions"));
  t.types = count_or(json, "types", 2);
  t.tied = flag_or(json, "tied", t.family == Family::Gpt2);
  t.qkv_bias = flag_or(json, "qkv_bias", has_biases(t.family));
  t.output_bias = flag_or(json, "output_bias", has_biases(t.family));
  t.mlp_bias = flag_or(json, "mlp_bias", has_biases(t.family));
  t.qk_norm = flag_or(json, "qk_norm", false);
  t.sinks = flag_or(json, "sinks", false);
  t.qk_norm_whole = flag_or(json, "qk_norm_whole", false);
  t.fused = flag_or(json, "fused", false);
  t.shared_norm = flag_or(json, "shared_norm", false);
  if (const auto norms = json.find("norms"))
    t.norms = choose_by_name(norm_places, norms->text(), norms->place(), "unknown '{}'").value;
  if (const auto experts = json.find("experts")) t.experts = read_experts(*experts);
  if (const auto latent = json.find("latent_attention")) read_latent(*latent, t);
  t.image = count_or(json, "image", 224);
  t.patch = count_or(json, "patch", 16);
  t.channels = count_or(json, "channels", 3);
  t.classes = count_or(json, "classes", 1000);
  return t;
}

// --- Hugging Face: keys and defaults of each model_type's configuration class ----------------------------------------

Transformer read_gpt2(const Json& json) {
  Transformer t;
  t.family = Family::Gpt2;
  t.layers = count_or_note(t, json, "n_layer", 12);
  t.hidden = count_or_note(t, json, "n_embd", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "n_head", 12);
  t.ffn = count_or(json, "n_inner", 4 * t.hidden);
  t.vocab = count_or_note(t, json, "vocab_size", 50257);
  t.positions = count_or_note(t, json, "n_positions", 1024);
  t.tied = flag_or(json, "tie_word_embeddings", true);
  return t;
}

Transformer read_bert(const Json& json) {
  Transformer t;
  t.family = Family::Bert;
  t.layers = count_or_note(t, json, "num_hidden_layers", 12);
  t.hidden = count_or_note(t, json, "hidden_size", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "num_attention_heads", 12);
  t.ffn = count_or_note(t, json, "intermediate_size", 3072);
  t.vocab = count_or_note(t, json, "vocab_size", 30522);
  t.positions = count_or_note(t, json, "max_position_embeddings", 512);
  t.types = count_or(json, "type_vocab_size", 2);
  return t;
}

// LLaMA and its relatives differ in their defaults, and in which projections have a bias.
Transformer read_llama(const Json& json, const std::string& type) {
  for (const auto key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (const auto experts = json.find(key); experts && experts->is_number())
      experts->fail(fmt::format("'{}' has no experts that can be estimated", type),
                    "mixtral, qwen2_moe, qwen3_moe, deepseek_v3 or gpt_oss");
  const bool mistral = type == "mistral", qwen3 = type == "qwen3", qwen2 = type == "qwen2" || qwen3;
  Transformer t;
  t.family = Family::Llama;
  t.layers = count_or_note(t, json, "num_hidden_layers", 32);
  t.hidden = count_or_note(t, json, "hidden_size", 4096);
  t.heads = count_or_note(t, json, "num_attention_heads", 32);
  t.kv_heads = count_or(json, "num_key_value_heads", mistral ? 8 : qwen2 ? 32 : t.heads);
  t.head_size = count_or(json, "head_dim", qwen3 ? 128 : 0);
  t.ffn = count_or_note(t, json, "intermediate_size", mistral ? 14336 : qwen2 ? 22016 : 11008);
  t.vocab = count_or_note(t, json, "vocab_size", qwen2 ? 151936 : 32000);
  t.positions = count_or_note(t, json, "max_position_embeddings", mistral ? 131072 : qwen2 ? 32768 : 2048);
  t.tied = flag_or(json, "tie_word_embeddings", false);
  t.qkv_bias = type == "qwen2" || flag_or(json, "attention_bias", false);
  t.output_bias = type != "qwen2" && flag_or(json, "attention_bias", false);
  t.qk_norm = qwen3;
  t.mlp_bias = flag_or(json, "mlp_bias", false);
  return t;
}

// The layers without experts: those before the first with them. Other patterns are refused.
std::int64_t dense_layers(const Transformer& t, const Json& json) {
  if (count_or(json, "decoder_sparse_step", 1) != 1)
    json.at("decoder_sparse_step").fail("blocks with and without experts alternate, which is not estimated", "1");
  if (count_or(json, "moe_layer_freq", 1) != 1)
    json.at("moe_layer_freq").fail("blocks with and without experts alternate, which is not estimated", "1");
  std::int64_t first = 0;
  if (const auto dense = json.find("first_k_dense_replace")) first = dense->integer(0, most);
  const auto list = json.find("mlp_only_layers");
  if (!list || is_null(*list)) return first;
  for (const Json& one : list->items())
    if (one.integer(0, most) != first++)
      one.fail("a block without experts behind one with them, which is not estimated",
               fmt::format("the first of the {} layers", t.layers));
  return first;
}

// Defaults of the configuration classes of Hugging Face Transformers.
Transformer read_mixture_of_experts(const Json& json, const std::string& type) {
  struct Defaults {
    std::int64_t layers, hidden, heads, kv_heads, head_size, ffn, vocab, positions, experts, top_k, expert_ffn;
  };
  static const std::map<std::string, Defaults, std::less<>> classes{
      {"mixtral", {32, 4096, 32, 8, 0, 14336, 32000, 131072, 8, 2, 14336}},
      {"qwen2_moe", {24, 2048, 16, 16, 0, 5632, 151936, 32768, 60, 4, 1408}},
      {"qwen3_moe", {24, 2048, 32, 4, 0, 6144, 151936, 32768, 128, 8, 768}},
      {"deepseek_v3", {61, 7168, 128, 128, 0, 18432, 129280, 4096, 256, 8, 2048}},
      {"gpt_oss", {36, 2880, 64, 8, 64, 2880, 201088, 131072, 128, 4, 2880}}};
  const Defaults& usual = classes.find(type)->second;
  const bool deepseek = type == "deepseek_v3", gpt_oss = type == "gpt_oss", qwen2 = type == "qwen2_moe";
  Transformer t;
  t.layers = count_or_note(t, json, "num_hidden_layers", usual.layers);
  t.hidden = count_or_note(t, json, "hidden_size", usual.hidden);
  t.heads = count_or_note(t, json, "num_attention_heads", usual.heads);
  t.kv_heads = count_or_note(t, json, "num_key_value_heads", usual.kv_heads);
  t.head_size = count_or(json, "head_dim", usual.head_size);
  t.ffn = count_or_note(t, json, "intermediate_size", usual.ffn);
  t.vocab = count_or_note(t, json, "vocab_size", usual.vocab);
  t.positions = count_or_note(t, json, "max_position_embeddings", usual.positions);
  t.tied = flag_or(json, "tie_word_embeddings", false);
  t.qkv_bias = flag_or(json, qwen2 ? "qkv_bias" : "attention_bias", qwen2 || gpt_oss);
  t.output_bias = !qwen2 && t.qkv_bias;
  t.qk_norm = type == "qwen3_moe";
  t.sinks = gpt_oss;
  const bool own_count = json.find("num_experts").has_value();
  const char* experts = deepseek                          ? "n_routed_experts"
                        : qwen2 || t.qk_norm || own_count ? "num_experts"
                                                          : "num_local_experts";
  t.experts.count = count_or_note(t, json, experts, usual.experts);
  t.experts.top_k = count_or_note(t, json, "num_experts_per_tok", usual.top_k);
  t.experts.ffn =
      usual.ffn == usual.expert_ffn ? t.ffn : count_or_note(t, json, "moe_intermediate_size", usual.expert_ffn);
  t.experts.dense_layers = dense_layers(t, json);
  t.experts.router_bias = deepseek || gpt_oss;
  t.experts.bias = gpt_oss;
  if (qwen2) t.experts.shared_ffn = count_or_note(t, json, "shared_expert_intermediate_size", 5632);
  t.experts.shared_gate = qwen2;
  if (!deepseek) return t;
  if (!json.find("first_k_dense_replace")) t.experts.dense_layers = 3;
  t.experts.shared_ffn = t.experts.ffn * count_or_note(t, json, "n_shared_experts", 1);
  t.latent.kv_rank = count_or_note(t, json, "kv_lora_rank", 512);
  const auto query_rank = json.find("q_lora_rank");  // null: queries are not compressed
  t.latent.query_rank = query_rank && is_null(*query_rank) ? 0 : count_or_note(t, json, "q_lora_rank", 1536);
  t.latent.rope = count_or_note(t, json, "qk_rope_head_dim", 64);
  t.head_size = t.latent.rope + count_or_note(t, json, "qk_nope_head_dim", 128);
  t.value_size = count_or_note(t, json, "v_head_dim", 128);
  return t;
}

Transformer read_vit(const Json& json) {
  Transformer t;
  t.family = Family::Vit;
  t.layers = count_or_note(t, json, "num_hidden_layers", 12);
  t.hidden = count_or_note(t, json, "hidden_size", 768);
  t.heads = t.kv_heads = count_or_note(t, json, "num_attention_heads", 12);
  t.ffn = count_or_note(t, json, "intermediate_size", 3072);
  t.image = count_or_note(t, json, "image_size", 224);
  t.patch = count_or_note(t, json, "patch_size", 16);
  t.channels = count_or(json, "num_channels", 3);
  t.qkv_bias = flag_or(json, "qkv_bias", true);
  t.classes = count_or(json, "num_labels", 2);  // the library's default
  if (const auto labels = json.find("id2label"); labels && labels->is_object())
    t.classes = static_cast<std::int64_t>(std::max<std::size_t>(1, labels->members().size()));
  return t;
}

constexpr auto known_types =
    "gpt2, bert, llama, mistral, qwen2, qwen3, mixtral, qwen2_moe, qwen3_moe, deepseek_v3, gpt_oss, vit, ";

Transformer read_hugging_face(const Json& json) {
  const std::string type = json.at("model_type").text();
  Transformer t;
  if (type == "gpt2")
    t = read_gpt2(json);
  else if (type == "bert")
    t = read_bert(json);
  else if (type == "llama" || type == "mistral" || type == "qwen2" || type == "qwen3")
    t = read_llama(json, type);
  else if (type == "mixtral" || type == "qwen2_moe" || type == "qwen3_moe" || type == "deepseek_v3" ||
           type == "gpt_oss")
    t = read_mixture_of_experts(json, type);
  else if (type == "vit")
    t = read_vit(json);
  else if (auto other = read_other_decoder(json, type))
    t = std::move(*other);
  else
    json.at("model_type")
        .fail(fmt::format("'{}' is not an architecture that can be estimated", type), known_types + other_decoders());
  t.source = fmt::format("Hugging Face configuration, model_type {}", type);
  return t;
}

}  // namespace

std::int64_t count_or(const Json& json, const char* key, std::int64_t default_value) {
  const auto value = json.find(key);
  return value && !is_null(*value) ? count(*value) : default_value;
}

bool flag_or(const Json& json, const char* key, bool default_value) {
  const auto value = json.find(key);
  return value && !is_null(*value) ? value->boolean() : default_value;
}

std::int64_t count_or_note(Transformer& t, const Json& json, const char* key, std::int64_t default_value) {
  const std::int64_t value = count_or(json, key, 0);
  if (value == 0) t.left_out.push_back(fmt::format("{} {}", key, default_value));
  return value == 0 ? default_value : value;
}

std::vector<std::string> families() { return names_of(family_words); }

std::string_view name_of(Family family) { return name_of(family_words, family); }

bool has_biases(Family family) { return family != Family::Llama && family != Family::Falcon; }

Family family_of(const std::string& word, const SourceLocation& place) {
  return find_by_name(family_words, word, place, "unknown family '{}'").value;
}

void require_sound(const Transformer& t, const std::function<SourceLocation(std::string_view)>& place_of) {
  // Larger numbers have no use, and would fill the memory or overflow the counts of operations.
  for (const auto& [name, value, most_of_it] : {std::tuple("layers", t.layers, 10'000),
                                                {"hidden", t.hidden, 1'000'000},
                                                {"heads", t.heads, 100'000},
                                                {"head_size", t.head_size, 100'000},
                                                {"ffn", t.ffn, 10'000'000},
                                                {"vocab", t.vocab, 100'000'000},
                                                {"positions", t.positions, 100'000'000},
                                                {"value_size", t.value_size, 100'000},
                                                {"experts/count", t.experts.count, 100'000},
                                                {"experts/ffn", t.experts.ffn, 10'000'000},
                                                {"experts/shared_ffn", t.experts.shared_ffn, 10'000'000},
                                                {"image", t.image, 100'000},
                                                {"classes", t.classes, 100'000'000}})
    if (value > most_of_it)
      throw InputError(place_of(name), fmt::format("{} of {} is larger than any transformer's", name, value),
                       fmt::format("at most {}", most_of_it));
  if (t.head_size * t.heads != t.hidden && t.hidden % t.heads != 0 && t.head_size == 0)
    throw InputError(place_of("heads"), fmt::format("{} heads do not divide a width of {}", t.heads, t.hidden),
                     "a number of heads that does");
  if (t.kv_heads > t.heads || t.heads % t.kv_heads != 0)
    throw InputError(place_of("kv_heads"),
                     fmt::format("{} heads of keys and values for {} of queries", t.kv_heads, t.heads),
                     "a divisor of the heads");
  if (t.family != Family::Llama && t.family != Family::Falcon && t.kv_heads != t.heads)
    throw InputError(place_of("kv_heads"), "only the families llama and falcon share keys and values among heads",
                     "as many as heads");
  if (t.family != Family::Llama && t.experts.count > 0)
    throw InputError(place_of("experts/count"), "only the family llama has experts", "no experts, or llama");
  if (t.experts.count > 0 && (t.experts.top_k < 1 || t.experts.top_k > t.experts.count))
    throw InputError(place_of("experts/top_k"),
                     fmt::format("{} experts for a token, of {}", t.experts.top_k, t.experts.count),
                     fmt::format("1 to {}", t.experts.count));
  if (t.experts.count > 0 && t.experts.dense_layers >= t.layers)
    throw InputError(place_of("experts/dense_layers"),
                     fmt::format("{} of {} layers have no experts", t.experts.dense_layers, t.layers),
                     fmt::format("at most {}", t.layers - 1));
  if (t.latent.kv_rank > 0 && (t.family != Family::Llama || t.kv_heads != t.heads))
    throw InputError(place_of("kv_heads"),
                     "latent attention has as many heads of keys and values as of queries, and is of the family llama",
                     "as many as heads");
  if (t.family == Family::Vit && t.image % t.patch != 0)
    throw InputError(place_of("patch"), fmt::format("patches of {} do not divide an image of {}", t.patch, t.image),
                     "a size that does");
}

std::string name_of_transformer(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.stem() != "config") return path.stem().string();
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  return folder.empty() ? "config" : folder;
}

Transformer read_transformer(const Json& json) {
  const bool own = json.find("family").has_value();
  Transformer t = own ? read_own(json) : read_hugging_face(json);
  require_sound(t, [&](std::string_view name) {
    if (!own) return json.place();
    const std::size_t inside = name.find('/');
    return inside == std::string_view::npos ? json.place() / name
                                            : json.place() / name.substr(0, inside) / name.substr(inside + 1);
  });
  t.complete();
  return t;
}

}  // namespace allreplay
