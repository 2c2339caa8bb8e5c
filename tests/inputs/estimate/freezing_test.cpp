// Fine-tuning: what LoRA adds, and what autograd leaves out where layers are frozen.
#include "sim/inputs/estimate/freezing.hpp"

#include <map>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/estimate/transformer.hpp"

using namespace allreplay;

namespace {

const SourceLocation rank_place{"", "rank"}, targets_place{"", "targets"};

Computation work_of(const std::string& name, std::int64_t tokens) {
  Transformer t = read_transformer(Json::read(Files(), Files().find_data("models/transformers", name, "transformer")));
  t.name = name;
  return build(t, tokens, {"", ""});
}

Computation with_lora(const std::string& name, std::int64_t rank, const std::vector<std::string>& targets) {
  Computation work = work_of(name, 1024);
  add_adapters(work, rank, targets, rank_place, targets_place);
  return work;
}

// bf16 on an A100, one sample; layers by name.
std::map<std::string, Layer> layers_of(const Computation& work, Recompute recompute = Recompute::None) {
  EstimateRequest request;
  request.work = work;
  request.device = read_device(Files(), "a100-80gb");
  request.precision = "bf16";
  request.recompute = recompute;
  std::map<std::string, Layer> layers;
  for (const Layer& layer : estimate(request).profile.layers) layers.emplace(layer.name, layer);
  return layers;
}

}  // namespace

TEST_CASE("LoRA's parameters are those that PEFT counts") {
  // print_trainable_parameters() of LLaMA-2 7B with rank 8 on queries and values: 32 blocks of 2·8·(4096 + 4096).
  CHECK(with_lora("llama2-7b", 8, {"q", "v"}).trained_parameters() == 4'194'304);
  CHECK(with_lora("llama2-7b", 8, {}).trained_parameters() == 4'194'304);  // PEFT's default
  CHECK(with_lora("llama2-7b", 8, {"q_proj", "v_proj"}).parameters() == 6'738'415'616 + 4'194'304);
  // Llama 3 8B with rank 16 on all linear layers: 16·32·(q 8192 + k 5120 + v 5120 + o 8192 + gate, up, down 3·18432).
  CHECK(with_lora("llama3-8b", 16, {"all-linear"}).trained_parameters() == 41'943'040);
  CHECK(with_lora("llama3-8b", 16, {"q", "k", "v", "o", "gate", "up", "down"}).trained_parameters() == 41'943'040);
  // GPT-2 with rank 8 on c_attn: 12·8·(768 + 2304).
  CHECK(with_lora("gpt2", 8, {}).trained_parameters() == 294'912);
  CHECK(with_lora("gpt2", 8, {}).model_parameters == work_of("gpt2", 1024).model_parameters + 294'912);
}

TEST_CASE("a frozen product loses the gradient of its weight, or its backward pass") {
  const Rates small{.matrix = 8e9, .in_blocks = 8e9, .vector = 1e9, .bandwidth = 1e9, .element = 2, .sms = 4};
  ComputationLayer layer;
  layer.operators = {Product{256, 256, 256, 256.0 * 256, true}};  // three equal products
  const double once = layer_seconds(layer, small, 1).forward.total();
  layer.frozen = true;
  CHECK(layer_seconds(layer, small, 1).backward.total() == Approx(once));
  CHECK(layer_seconds(layer, small, 1).weights.total() == 0);
  layer.passes_on = false;
  CHECK(layer_seconds(layer, small, 1).backward.total() == 0);
  layer.frozen = false;
  CHECK(layer_seconds(layer, small, 1).backward.total() == Approx(once));
}

TEST_CASE("LoRA: the backward pass ends at the lowest adapter") {
  const auto layers = layers_of(with_lora("llama2-7b", 8, {"q", "v"})), full = layers_of(work_of("llama2-7b", 1024));
  const std::string first = "model.layers.0.", second = "model.layers.1.";
  CHECK(layers.at("model.embed_tokens").frozen);
  CHECK(layers.at("model.embed_tokens").backward == Time(0));
  // The input of the first block's queries, keys and values depends on nothing that is trained.
  for (const char* name : {"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"})
    CHECK(layers.at(first + name).backward == Time(0));
  for (const char* name : {"self_attn.q_proj.lora", "self_attn.v_proj.lora", "self_attn", "self_attn.o_proj"})
    CHECK(layers.at(first + name).backward > Time(0));
  CHECK_FALSE(layers.at(first + "self_attn.q_proj.lora").frozen);
  // From the second on, a frozen product computes the gradient of its input: a product as large as the forward one,
  // since the weight is square.
  CHECK(layers.at(second + "self_attn.k_proj").backward == layers.at(second + "self_attn.k_proj").forward);
  CHECK(layers.at(second + "self_attn.k_proj").backward < full.at(second + "self_attn.k_proj").backward);
  CHECK(layers.at(second + "self_attn.k_proj").backward_weight == Time(0));
  CHECK(layers.at(second + "self_attn.k_proj").forward == full.at(second + "self_attn.k_proj").forward);
  CHECK(layers.at("lm_head").backward < full.at("lm_head").backward);
}

TEST_CASE("a frozen product keeps its input only for an adapter") {
  const std::string name = "model.layers.1.";
  const Bytes inputs = 1024LL * 4096 * 2;  // bf16
  // Queries' layer keeps the input that queries, keys and values read; an adapter keeps its 1024 x 8 results.
  const auto kept = [&](const std::vector<std::string>& targets) {
    return layers_of(with_lora("llama2-7b", 8, targets));
  };
  const auto queries = kept({"v"}), outputs = kept({"o"}), gates = kept({"down"});
  CHECK(queries.at(name + "self_attn.q_proj").activation_bytes == inputs);
  CHECK(queries.at(name + "self_attn.v_proj.lora").activation_bytes == 1024 * 8 * 2);
  CHECK(outputs.at(name + "self_attn.q_proj").activation_bytes == 0);
  CHECK(queries.at(name + "mlp.down_proj").activation_bytes == 0);
  CHECK(gates.at(name + "mlp.down_proj").activation_bytes == 1024LL * 11008 * 2);
  // In the first block the layer has no backward pass, but the adapter reads its input all the same.
  CHECK(queries.at("model.layers.0.self_attn.q_proj").activation_bytes == inputs);
  CHECK(outputs.at("model.layers.0.self_attn.q_proj").activation_bytes == 0);
  CHECK(queries.at("model.layers.0.input_layernorm").activation_bytes == 0);
}

TEST_CASE("blocks without a backward pass are not recomputed, and keep nothing") {
  Computation work = work_of("llama2-7b", 1024);
  freeze(work, std::vector<std::string>{"embeddings", "blocks:0-30"}, {"", "freeze"});
  const auto layers = layers_of(work, Recompute::Full);
  CHECK(layers.at("model.layers.30.mlp.up_proj").backward == Time(0));
  CHECK(layers.at("model.layers.30.input_layernorm").activation_bytes == 0);
  CHECK(layers.at("model.layers.31.mlp.up_proj").backward > Time(0));
  CHECK(layers.at("model.layers.31.input_layernorm").activation_bytes >= 1024LL * 4096 * 2);
  // The forward products of 31 blocks remain of three: with m MACs of products and p of attention's pairs in a block,
  // and h in the head, 31·2(m + p) + 6(m + p) + 6h of 6·32(m + p) + 6h.
  const double t = 1024, block = t * (4 * 4096. * 4096 + 3 * 4096. * 11008) + t * t * 2 * 4096, head = t * 4096 * 32000;
  const double ratio = (31 * 2 * block + 6 * block + 6 * head) / (6 * 32 * block + 6 * head);
  CHECK(work.model_flops == Approx(work_of("llama2-7b", 1024).model_flops * ratio).epsilon(1e-12));
}

TEST_CASE("a tied head is frozen with the embedding") {
  Computation work = work_of("gpt2", 1024);
  freeze(work, std::vector<std::string>{"transformer.wte"}, {"", "freeze"});
  const auto layers = layers_of(work), full = layers_of(work_of("gpt2", 1024));
  CHECK(layers.at("lm_head").backward < full.at("lm_head").backward);
  CHECK_FALSE(layers.at("transformer.wpe").frozen);
  // Positions are trained, so everything behind them goes back.
  CHECK(layers.at("transformer.h.0.attn.c_attn").backward == full.at("transformer.h.0.attn.c_attn").backward);
}

TEST_CASE("the update and the patterns count only trained parameters") {
  Computation work = work_of("gpt2", 1024);
  freeze(work, std::vector<std::string>{"*.ln_*", "head"}, {"", "freeze"});
  std::int64_t norms = 0;
  for (const ComputationLayer& layer : work.layers)
    if (layer.frozen)
      for (const ModelTensor& tensor : layer.model.tensors) norms += tensor.elements;
  CHECK(norms == (2 * 12 + 1) * 2 * 768);  // with the last, in the head's unit
  CHECK(work.trained_parameters() == work.parameters() - norms);
}

TEST_CASE("freezing and adapters that are impossible are refused with the reason") {
  const auto frozen = [&](const std::vector<std::string>& patterns) {
    Computation work = work_of("gpt2", 1024);
    return error_place([&] { freeze(work, patterns, {"", "freeze"}); });
  };
  CHECK(frozen({"embedding"}) == "freeze");
  CHECK(frozen({"*"}) == "freeze");
  CHECK(frozen({"blocks:3-1"}) == "freeze");
  CHECK(frozen({"blocks:1-2-3"}) == "freeze");
  CHECK(frozen({"blocks:12-13"}) == "freeze");
  CHECK(frozen({"blocks:0"}).empty());
  const auto adapted = [&](const std::string& model, std::int64_t rank, const std::vector<std::string>& targets) {
    return error_place([&] { with_lora(model, rank, targets); });
  };
  CHECK(adapted("gpt2", 8, {"q"}) == "targets");
  CHECK(adapted("gpt2", 769, {}) == "rank");
  CHECK(adapted("gpt2", 768, {}).empty());
  CHECK(adapted("mixtral-8x7b", 8, {"all-linear"}) == "targets");
  CHECK(adapted("mixtral-8x7b", 8, {"q", "v"}).empty());
}
