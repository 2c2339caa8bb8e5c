// Mixtures of experts, block by block, and latent attention: counts derived by hand.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/estimate/transformer.hpp"

using namespace allreplay;

namespace {

// Width 8, 2 heads of 4, 4 experts of inner width 6, 2 of them for a token.
constexpr auto small_mixture = R"({"family": "llama", "layers": 2, "hidden": 8, "heads": 2, "ffn": 12, "vocab": 10,
    "positions": 16, "experts": {"count": 4, "top_k": 2, "ffn": 6}})";

Transformer mixture(const std::string& text) { return read_transformer(Json::parse(text, "config.json")); }

Computation built_part(const std::string& text, std::int64_t tokens, const Split& split = {}) {
  return build(mixture(text), tokens, {"command line", "--seq"}, split);
}

Transformer shipped(const std::string& name) {
  return read_transformer(Json::read(Files(), Files().find_data("models/transformers", name, "transformer")));
}

const ComputationLayer& layer(const Computation& work, const std::string& name) {
  const auto found = std::find_if(work.layers.begin(), work.layers.end(),
                                  [&](const ComputationLayer& one) { return one.model.name == name; });
  REQUIRE(found != work.layers.end());
  return *found;
}

std::string with(std::string text, const std::string& old, const std::string& now) {
  return text.replace(text.find(old), old.size(), now);
}

// "forward all-to-all ep 256" of each collective.
std::vector<std::string> collectives_of(const ComputationLayer& layer) {
  std::vector<std::string> all;
  for (const GroupCollective& one : layer.collectives)
    all.push_back(fmt::format("{} {} {} {:g}", one.backward ? "backward" : "forward", to_string(one.op),
                              name_of(layer_collective_groups, one.group), one.elements));
  return all;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a mixture's block: shared experts, router, experts, combine") {
  const std::string shared =
      with(small_mixture, "\"ffn\": 6}", "\"ffn\": 6, \"shared_ffn\": 10, \"shared_gate\": true}");
  const Computation work = built_part(shared, 16);
  Lines names;
  for (const ComputationLayer& one : work.layers)
    if (one.block == 1 && one.model.name.find(".mlp.") != std::string::npos)
      names.push_back(one.model.name.substr(std::string("model.layers.1.mlp.").size()));
  CHECK(names == Lines{"shared_experts.gate_proj", "shared_experts.up_proj", "shared_experts.down_proj",
                       "shared_expert_gate", "router", "experts", "combine"});
  for (const ComputationLayer& one : work.layers)
    CHECK(one.expert == (one.model.name.find(".experts") != std::string::npos));
  // Router 8·4; experts 4·3·8·6; shared 3·8·10 and a gate of 8; attention 4·8²; two norms; table and head 10·8; norm.
  CHECK(work.parameters() == 2 * (32 + 576 + 240 + 8 + 256 + 16) + 160 + 8);
  // A token meets 2 of the 4 experts.
  CHECK(work.model_parameters == work.parameters());
  CHECK(work.active_parameters == work.parameters() - 2 * 288);
  // 6 per active parameter, and 6·L·s·H·(q + v) = 6·2·16·2·8, for each of 16 tokens.
  CHECK(work.model_flops == 16. * (6. * static_cast<double>(work.active_parameters) + 6 * 2 * 16 * 2 * 8));
  CHECK(std::none_of(work.layers.begin(), work.layers.end(),
                     [](const ComputationLayer& one) { return !one.collectives.empty(); }));
}

TEST_CASE("experts of a group: the worker's own, and three exchanges of rows in the order of the passes") {
  // 16 tokens, m = 32 rows of width 8.
  const Computation work = built_part(small_mixture, 16, {.ep = 2});
  const std::string mlp = "model.layers.0.mlp.";
  CHECK(collectives_of(layer(work, mlp + "router")) == Lines{"forward all-to-all ep 256"});
  CHECK(collectives_of(layer(work, mlp + "experts")) ==
        Lines{"forward all-to-all ep 256", "backward all-to-all ep 256"});
  CHECK(collectives_of(layer(work, mlp + "combine")) == Lines{"backward all-to-all ep 256"});
  CHECK(layer(work, mlp + "combine").model.tensors.empty());
  std::int64_t elements = 0;
  for (const ModelTensor& tensor : layer(work, mlp + "experts").model.tensors) elements += tensor.elements;
  CHECK(elements == 2 * 3 * 8 * 6);  // 2 of the 4 experts
  // As many rows as without a group, of fewer experts; and the whole model counts.
  const auto& ops = layer(work, mlp + "experts").operators;
  REQUIRE(std::holds_alternative<GroupedProduct>(ops.front()));
  CHECK(std::get<GroupedProduct>(ops.front()).rows == 32);
  CHECK(std::get<GroupedProduct>(ops.front()).groups == 2);
  CHECK(work.model_flops == built_part(small_mixture, 16).model_flops);
  CHECK(work.active_parameters == built_part(small_mixture, 16).active_parameters);
  // Kept: n·h + n·K at the router; m·h of input, 3·m·f inside, m·h of output.
  CHECK(layer(work, mlp + "router").kept.elements == 16 * 8 + 16 * 4);
  CHECK(layer(work, mlp + "experts").kept.elements == 32 * 8 + 3 * 32 * 6 + 32 * 8);
  CHECK(layer(work, mlp + "combine").kept.elements == 0);
}

TEST_CASE("rows of the busiest worker are those of its mini-batch, rounded up") {
  // 1.03·16·2 = 32.96 rows of a sample: 33; of three samples 98.88: 99.
  const auto rows = [](std::int64_t batch) {
    const Computation work = built_part(small_mixture, 16, {.ep = 2, .imbalance = 1.03, .batch = batch});
    return static_cast<double>(batch) * layer(work, "model.layers.0.mlp.router").collectives.front().elements / 8;
  };
  CHECK(rows(1) == 33);
  CHECK(rows(3) == Approx(99).epsilon(1e-12));
  CHECK(rows(4) == Approx(132).epsilon(1e-12));  // 131.84
}

TEST_CASE("a tensor group cuts each expert, and with sequence parallelism shares its rows") {
  const std::string mlp = "model.layers.0.mlp.";
  const Computation plain = built_part(small_mixture, 16, {.tp = 2, .ep = 2});
  CHECK(collectives_of(layer(plain, mlp + "experts")) == Lines{"backward all-reduce tp 256",
                                                               "forward all-reduce tp 256", "forward all-to-all ep 256",
                                                               "backward all-to-all ep 256"});
  CHECK(layer(plain, mlp + "experts").model.tensors[0].elements == 2 * 8 * 3);
  // 8 tokens a worker and 16 rows, of which it computes those of both workers, half as wide.
  const Computation cut = built_part(small_mixture, 16, {.tp = 2, .sequence_parallel = true, .ep = 2});
  CHECK(collectives_of(layer(cut, mlp + "router")) == Lines{"forward all-to-all ep 128"});
  CHECK(collectives_of(layer(cut, mlp + "experts")) ==
        Lines{"forward all-gather tp 256", "backward reduce-scatter tp 256", "forward reduce-scatter tp 256",
              "backward all-gather tp 256", "forward all-to-all ep 128", "backward all-to-all ep 128"});
  CHECK(std::get<GroupedProduct>(layer(cut, mlp + "experts").operators.front()).rows == 32);
  CHECK(layer(cut, mlp + "router").kept.elements == 8 * 8 + 8 * 4);
  CHECK(layer(cut, mlp + "experts").kept.elements == 16 * 8 + 3 * 32 * 3 + 16 * 8);
}

TEST_CASE("full recomputation repeats dispatch and combine, and the profile says which layers are experts") {
  const auto made = [](Recompute rule) {
    return estimate({built_part(small_mixture, 16, {.ep = 2}), read_device(Files(), "h100"), "bf16", 1, rule}).profile;
  };
  const auto exchanges = [](const Profile& profile, bool backward) {
    std::ptrdiff_t count = 0;
    for (const Layer& one : profile.layers)
      count += std::count_if(one.collectives.begin(), one.collectives.end(), [&](const LayerCollective& collective) {
        return collective.op == CollectiveOp::AllToAll && collective.backward == backward && collective.bytes == 512;
      });
    return count;
  };
  for (const auto& [rule, backward] :
       {std::pair(Recompute::None, 4), {Recompute::Selective, 4}, {Recompute::Full, 8}}) {
    CHECK(exchanges(made(rule), false) == 4);  // two in each of two blocks
    CHECK(exchanges(made(rule), true) == backward);
  }
  const Profile profile = made(Recompute::None);
  CHECK(profile.degrees == ProfileDegrees{1, 1, 2});
  CHECK(std::count_if(profile.layers.begin(), profile.layers.end(), [](const Layer& one) { return one.expert; }) == 2);
}

TEST_CASE("products of several experts are one kernel, whose tiles fill the device together") {
  const Rates rates = rates_of(read_device(Files(), "h100"), "bf16", {"", ""});
  ComputationLayer one, many;
  // 132 tiles of 128 x 128 are a wave: 11 x 12 of one product, or 11 x 6 of each of two.
  one.operators = {Product{11 * 128, 4096, 12 * 128, 11 * 128 * 4096.}};
  many.operators = {GroupedProduct{2 * 11 * 128, 4096, 6 * 128, 2}};
  CHECK(layer_seconds(many, rates, 1).forward.total() ==
        Approx(layer_seconds(one, rates, 1).forward.total()).epsilon(1e-9));
}

TEST_CASE("latent attention: heads of keys and of values have widths of their own") {
  const std::string latent = with(small_mixture, "\"experts\"",
                                  R"("latent_attention": {"q_lora_rank": 5, "kv_lora_rank": 7, "qk_nope_head_dim": 4,
      "qk_rope_head_dim": 2, "v_head_dim": 3}, "experts")");
  const Computation work = built_part(latent, 16);
  // 8·5 + 5 + 5·2·6; 8·(7 + 2) + 7 + 7·2·(4 + 3); 2·3·8.
  std::int64_t elements = 0;
  for (const ComputationLayer& one : work.layers)
    if (one.block == 0 && one.model.name.find("self_attn") != std::string::npos)
      for (const ModelTensor& tensor : one.model.tensors) elements += tensor.elements;
  CHECK(elements == 40 + 5 + 60 + 72 + 7 + 98 + 48);
  CHECK(work.model_flops == 16. * (6. * static_cast<double>(work.active_parameters) + 6 * 2 * 16 * 2 * (6 + 3)));
  // Kept: queries and keys 2·6 wide, values and output 2·3; in fp32 a sum for each of two heads.
  const ComputationLayer& pairs = layer(work, "model.layers.0.self_attn");
  CHECK(pairs.kept.elements == 16 * (12 + 12 + 6 + 6));
  CHECK(pairs.kept.bytes == 4 * 16 * 2);
  // A context group gathers keys and values: 16·(12 + 6).
  CHECK(layer(built_part(latent, 16, {.cp = 2}), "model.layers.0.self_attn").collectives.front().elements == 16 * 18);
  const auto* attention = std::get_if<Attention>(&pairs.operators.back());
  REQUIRE(attention);
  CHECK((attention->head_size == 6 && attention->value_size == 3));
}

TEST_CASE("attention with equal widths takes 2 and 5 products of a head's width, as before") {
  ComputationLayer equal, named, wider;
  equal.operators = {Attention{4096, 32, 32, 128, true}};
  named.operators = {Attention{4096, 32, 32, 128, true, 1, 128}};
  wider.operators = {Attention{4096, 32, 32, 192, true, 1, 128}};
  const Rates rates = rates_of(read_device(Files(), "h100"), "bf16", {"", ""});
  const auto seconds = [&](const ComputationLayer& one, bool backward) {
    const LayerSeconds found = layer_seconds(one, rates, 1);
    return (backward ? found.backward : found.forward).attention;
  };
  CHECK(seconds(equal, false) == seconds(named, false));
  CHECK(seconds(equal, true) == seconds(named, true));
  // Forward 192 + 128 for 2·128, backward 3·192 + 2·128 for 5·128.
  CHECK(seconds(wider, false) == Approx(seconds(equal, false) * 320 / 256).epsilon(1e-9));
  CHECK(seconds(wider, true) == Approx(seconds(equal, true) * 832 / 640).epsilon(1e-9));
}

TEST_CASE("Hugging Face's configurations of mixtures, and of Qwen3") {
  const auto parameters = [](const std::string& text) { return built_part(text, 128).parameters(); };
  // Without numbers, the defaults of the classes: Mixtral 8x7B, DeepSeek-V3 and gpt-oss-120b.
  CHECK(parameters(R"({"model_type": "mixtral"})") == 46'702'792'704);
  CHECK(parameters(R"({"model_type": "deepseek_v3"})") == 671'026'419'200);
  CHECK(parameters(R"({"model_type": "gpt_oss"})") == 116'829'156'672);
  CHECK(parameters(R"({"model_type": "qwen3_moe", "num_hidden_layers": 48, "head_dim": 128, "mlp_only_layers": []})") ==
        30'532'122'624);
  // Qwen1.5-MoE-A2.7B, 14,315,784,192: 2·V·h + h + L·(4h² + 3h (biases) + 2h + K·h + K·3hf + 3hg + h (gate)),
  // V = 151936, h = 2048, L = 24, K = 60, f = 1408, g = 5632.
  CHECK(parameters(R"({"model_type": "qwen2_moe"})") == 14'315'784'192);
  // Qwen3-8B, 8,190,735,360: 2·V·h + h + L·(2h·4096 + 2h·1024 + 2·128 (norms of heads) + 3hf + 2h), h = 4096.
  CHECK(parameters(R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8})") == 8'190'735'360);
  // The first of its layers are dense, of the other inner width.
  const Transformer t = mixture(R"({"model_type": "qwen3_moe", "mlp_only_layers": [0, 1]})");
  CHECK(t.experts.dense_layers == 2);
  CHECK(mixture(R"({"model_type": "deepseek_v3", "q_lora_rank": null})").latent.query_rank == 0);
}

TEST_CASE("DeepSeek-V3's tokens leave out 256 - 8 experts in each of 58 layers") {
  const Transformer t = shipped("deepseek-v3");
  const Computation work = build(t, 128, {"", ""});
  CHECK(work.active_parameters == 671'026'419'200 - 58LL * 248 * 3 * 7168 * 2048);
}

TEST_CASE("impossible mixtures are refused at their description, and degrees at their options") {
  const auto refused = [](const std::string& text) { return error_place([&] { mixture(text); }); };
  CHECK(refused(with(small_mixture, "\"top_k\": 2", "\"top_k\": 5")) == "config.json: /experts/top_k");
  CHECK(refused(with(small_mixture, "\"ffn\": 6", "\"ffn\": 6, \"dense_layers\": 2")) ==
        "config.json: /experts/dense_layers");
  CHECK(refused(with(small_mixture, "llama", "gpt2")) == "config.json: /experts/count");
  CHECK(refused(R"({"model_type": "qwen3_moe", "decoder_sparse_step": 2})") == "config.json: /decoder_sparse_step");
  CHECK(refused(R"({"model_type": "qwen3_moe", "mlp_only_layers": [3]})") == "config.json: /mlp_only_layers/0");
  const auto why = [](const Split& split) { return error_place([&] { built_part(small_mixture, 16, split); }); };
  CHECK(why({.ep = 3}) == "command line: --ep");
  CHECK(error_place([] { build(shipped("llama3-8b"), 128, {"", ""}, {.ep = 2}); }) == "command line: --ep");
}
