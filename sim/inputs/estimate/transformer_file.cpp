// Reads descriptions of transformers: models/transformers/*.json.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/estimate/hugging_face.hpp"
#include "sim/inputs/estimate/transformer.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most = 1'000'000'000;  // for every number; with existing models, products of three fit 64 bits

std::int64_t count(const Json& json) { return json.integer(1, most); }

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

}  // namespace

std::int64_t count_or(const Json& json, const char* key, std::int64_t default_value) {
  const auto value = json.find(key);
  return value && value->dump() != "null" ? count(*value) : default_value;
}

bool flag_or(const Json& json, const char* key, bool default_value) {
  const auto value = json.find(key);
  return value && value->dump() != "null" ? value->boolean() : default_value;
}

std::vector<std::string> families() { return names_of(family_words); }

std::string_view name_of(Family family) { return name_of(family_words, family); }

bool has_biases(Family family) { return family != Family::Llama && family != Family::Falcon; }

Family family_of(const std::string& word, const SourceLocation& place) {
  return find_by_name(family_words, word, place, "unknown family '{}'").value;
}

namespace {

// " (hidden_size is missing: 4096 is the default)", if one of the keys of a config.json is left out; else "".
std::string said_by_defaults(const Transformer& t, std::initializer_list<std::string_view> keys) {
  for (const std::string& one : t.left_out)
    for (const std::string_view key : keys)
      if (one.starts_with(key) && one.substr(key.size()).starts_with(' '))
        return fmt::format(" ({} is missing: {} is the default)", key, one.substr(key.size() + 1));
  return "";
}

}  // namespace

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
    throw InputError(place_of("heads"),
                     fmt::format("{} heads do not divide a width of {}{}", t.heads, t.hidden,
                                 said_by_defaults(t, {"hidden_size", "n_embd", "num_attention_heads", "n_head"})),
                     "a number of heads that does");
  if (t.kv_heads > t.heads || t.heads % t.kv_heads != 0)
    throw InputError(place_of("kv_heads"),
                     fmt::format("{} heads of keys and values for {} of queries{}", t.kv_heads, t.heads,
                                 said_by_defaults(t, {"num_attention_heads", "num_key_value_heads"})),
                     "a divisor of the heads");
  if (t.family != Family::Llama && t.family != Family::Falcon && t.kv_heads != t.heads)
    throw InputError(place_of("kv_heads"), "only the families llama and falcon share keys and values among heads",
                     "as many as heads");
  if (t.family != Family::Llama && t.experts.count > 0)
    throw InputError(place_of("experts/count"), "only the family llama has experts", "no experts, or llama");
  if (t.experts.count > 0 && (t.experts.top_k < 1 || t.experts.top_k > t.experts.count))
    throw InputError(place_of("experts/top_k"),
                     fmt::format("{} experts for a token, of {}{}", t.experts.top_k, t.experts.count,
                                 said_by_defaults(t, {"num_experts", "num_local_experts", "n_routed_experts",
                                                      "num_experts_per_tok"})),
                     fmt::format("1 to {}", t.experts.count));
  if (t.experts.count > 0 && t.experts.dense_layers >= t.layers)
    throw InputError(place_of("experts/dense_layers"),
                     fmt::format("{} of {} layers have no experts{}", t.experts.dense_layers, t.layers,
                                 said_by_defaults(t, {"num_hidden_layers"})),
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
  Transformer t = own ? read_own(json) : transformer_of_config(json);
  require_sound(t, [&](std::string_view name) {
    if (!own) return place_in_config(json, name);
    const std::size_t inside = name.find('/');
    return inside == std::string_view::npos ? json.place() / name
                                            : json.place() / name.substr(0, inside) / name.substr(inside + 1);
  });
  t.complete();
  return t;
}

}  // namespace allreplay
