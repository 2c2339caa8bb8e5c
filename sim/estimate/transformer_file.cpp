// Reads descriptions of transformers: models/transformers/*.json, and Hugging Face's config.json.
#include <algorithm>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>

#include "sim/estimate/transformer.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most = 1'000'000'000;  // for every number; with existing models, products of three fit 64 bits

std::int64_t count(const Json& json) { return json.integer(1, most); }

// In Hugging Face's files, a key with the value null is the same as no key.
std::int64_t count_or(const Json& json, const char* key, std::int64_t default_value) {
  const auto value = json.find(key);
  return value && value->dump() != "null" ? count(*value) : default_value;
}

bool flag_or(const Json& json, const char* key, bool default_value) {
  const auto value = json.find(key);
  return value && value->dump() != "null" ? value->boolean() : default_value;
}

Transformer read_own(const Json& json) {
  json.allow_only({"description", "source",   "family", "layers",    "hidden",   "heads",  "kv_heads",
                   "head_size",   "ffn",      "vocab",  "positions", "types",    "tied",   "qkv_bias",
                   "output_bias", "mlp_bias", "image",  "patch",     "channels", "classes"});
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
  t.qkv_bias = flag_or(json, "qkv_bias", t.family != Family::Llama);
  t.output_bias = flag_or(json, "output_bias", t.family != Family::Llama);
  t.mlp_bias = flag_or(json, "mlp_bias", t.family != Family::Llama);
  t.image = count_or(json, "image", 224);
  t.patch = count_or(json, "patch", 16);
  t.channels = count_or(json, "channels", 3);
  t.classes = count_or(json, "classes", 1000);
  return t;
}

// --- Hugging Face: keys and defaults of each model_type's configuration class ----------------------------------------

// Returns the default of the configuration class for a missing key, and records it in `left_out`.
std::int64_t count_or_note(Transformer& t, const Json& json, const char* key, std::int64_t default_value) {
  const std::int64_t value = count_or(json, key, 0);
  if (value == 0) t.left_out.push_back(fmt::format("{} {}", key, default_value));
  return value == 0 ? default_value : value;
}

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
  const bool mistral = type == "mistral", qwen2 = type == "qwen2";
  Transformer t;
  t.family = Family::Llama;
  t.layers = count_or_note(t, json, "num_hidden_layers", 32);
  t.hidden = count_or_note(t, json, "hidden_size", 4096);
  t.heads = count_or_note(t, json, "num_attention_heads", 32);
  t.kv_heads = count_or(json, "num_key_value_heads", mistral ? 8 : qwen2 ? 32 : t.heads);
  t.head_size = count_or(json, "head_dim", 0);
  t.ffn = count_or_note(t, json, "intermediate_size", mistral ? 14336 : qwen2 ? 22016 : 11008);
  t.vocab = count_or_note(t, json, "vocab_size", qwen2 ? 151936 : 32000);
  t.positions = count_or_note(t, json, "max_position_embeddings", mistral ? 131072 : qwen2 ? 32768 : 2048);
  t.tied = flag_or(json, "tie_word_embeddings", false);
  t.qkv_bias = qwen2 || flag_or(json, "attention_bias", false);
  t.output_bias = !qwen2 && flag_or(json, "attention_bias", false);
  t.mlp_bias = flag_or(json, "mlp_bias", false);
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

constexpr auto known_types = "gpt2, bert, llama, mistral, qwen2, vit";

[[noreturn]] void refuse(const Json& json, const std::string& type) {
  std::string what = fmt::format("'{}' is not an architecture that can be estimated", type);
  for (const auto key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (const auto experts = json.find(key); experts && experts->is_number()) {
      const auto each = json.find("num_experts_per_tok");
      what = fmt::format("'{}' is a mixture of {} experts{}, which is not estimated", type, experts->dump(),
                         each ? fmt::format(", {} for each token", each->dump()) : "");
    }
  json.at("model_type").fail(what, known_types);
}

Transformer read_hugging_face(const Json& json) {
  const std::string type = json.at("model_type").text();
  Transformer t;
  if (json.find("num_local_experts") || json.find("num_experts") || json.find("n_routed_experts")) refuse(json, type);
  if (type == "gpt2")
    t = read_gpt2(json);
  else if (type == "bert")
    t = read_bert(json);
  else if (type == "llama" || type == "mistral" || type == "qwen2")
    t = read_llama(json, type);
  else if (type == "vit")
    t = read_vit(json);
  else
    refuse(json, type);
  t.source = fmt::format("Hugging Face configuration, model_type {}", type);
  return t;
}

}  // namespace

std::vector<std::string> families() { return {"gpt2", "bert", "llama", "vit"}; }

Family family_of(const std::string& word, const SourceLocation& place) {
  const auto words = families();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) throw InputError(place, fmt::format("unknown family '{}'", word), suggest(word, words));
  return static_cast<Family>(found - words.begin());
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
  if (t.family != Family::Llama && t.kv_heads != t.heads)
    throw InputError(place_of("kv_heads"), "only the family llama shares keys and values among heads",
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
  require_sound(t, [&](std::string_view name) { return own ? json.place() / name : json.place(); });
  if (t.head_size == 0) t.head_size = t.hidden / t.heads;
  return t;
}

}  // namespace allreplay
