// Published parameter counts, and counts derived by hand.
#include "sim/inputs/estimate/transformer.hpp"

#include <set>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"

using namespace allreplay;

namespace {

Transformer preset(const std::string& name) {
  Transformer t = read_transformer(Json::read(Files(), Files().find_data("models/transformers", name, "transformer")));
  t.name = name;
  return t;
}

Computation built(const std::string& name, std::int64_t tokens = 0) {
  const Transformer t = preset(name);
  return build(t, tokens > 0 ? tokens : t.tokens(), {"command line", "--seq"});
}

Transformer of(const std::string& text) { return read_transformer(Json::parse(text, "config.json")); }

std::int64_t parameters(const std::string& text) {
  const Transformer t = of(text);
  return build(t, 128, {"x", ""}).parameters();
}

std::string refused(const std::string& text) {
  return error_place([&] { of(text); });
}

}  // namespace

TEST_CASE("presets have the published parameters, to the last one") {
  // GPT-2: V·h + 1024·h + L·(12h² + 13h) + 2h, V = 50257, the output embedding tied. BERT: (30522 + 512 + 2)·h + 2h +
  // L·(12h² + 13h) + h² + h (pooler). LLaMA: 2·V·h + L·(2h² + 2·h·kv + 3·h·f + 2h) + h. ViT: 3p²h + h + h + (196 + 1)·h
  // (ViT-H/14: 256 + 1) + L·(12h² + 13h) + 2h + 1000·h + 1000. Sums: model cards and torchvision's documentation.
  const std::vector<std::pair<std::string, std::int64_t>> published{
      {"gpt2", 124'439'808},
      {"gpt2-medium", 354'823'168},
      {"gpt2-large", 774'030'080},
      {"gpt2-xl", 1'557'611'200},
      {"bert-base", 109'482'240},
      {"bert-large", 335'141'888},
      {"llama2-7b", 6'738'415'616},
      {"llama2-13b", 13'015'864'320},
      {"llama2-70b", 68'976'648'192},
      {"llama3-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496},
      {"llama3-405b", 405'853'388'800},
      {"vit-b", 86'567'656},
      {"vit-l", 304'326'632},
      {"vit-h", 632'045'800},
      // Mixtures: 2·V·h + h + L·(attention + 2h + h·K + 3·K·h·f); attention 2·h·a + 2·h·kv, a the width of all heads;
      // Qwen3 and norms of a head's width for queries and keys.
      {"mixtral-8x7b", 46'702'792'704},      // V 32000, h = a = 4096, kv 1024, L 32, K 8, f 14336
      {"mixtral-8x22b", 140'620'634'112},    // V 32000, h = a = 6144, kv 1024, L 56, K 8, f 16384
      {"qwen3-30b-a3b", 30'532'122'624},     // V 151936, h 2048, a 4096, kv 512, L 48, K 128, f 768, 2·128
      {"qwen3-235b-a22b", 235'093'634'560},  // V 151936, h 4096, a 8192, kv 512, L 94, K 128, f 1536, 2·128
      // V 201088, h = f = 2880, a 4096, kv 512, and biases: a + 2·kv + h of attention, K of the router, K·(2f + h) of
      // experts, and 64 sinks; L 24, K 32, and L 36, K 128.
      {"gpt-oss-20b", 20'914'757'184},
      {"gpt-oss-120b", 116'829'156'672},
      // V 129280, h 7168, L 61; attention h·1536 + 1536 + 1536·128·192 + h·576 + 512 + 512·128·256 + 128·128·h; 3
      // layers of 3·h·18432, 58 of h·256 + 256 + 257·3·h·2048 (an expert is shared).
      {"deepseek-v3", 671'026'419'200}};
  CHECK(published.size() == Files().list_data("models/transformers").size());
  for (const auto& [name, count] : published) {
    INFO(name);
    CHECK(built(name).parameters() == count);
  }
}

TEST_CASE("built transformers are those of models/, layer by layer") {
  const std::vector<std::pair<std::string, std::pair<std::string, std::int64_t>>> twins{
      {"gpt2", {"gpt2", 1024}}, {"bert-base", {"bert_base", 384}}, {"bert-large", {"bert_large", 384}}};
  for (const auto& [name, twin] : twins) {
    INFO(name);
    const Model ours = built(name, twin.second).model();
    const Model theirs = read_model(Json::read(Files(), Files().find_data("models", twin.first + ".json", "model")));
    REQUIRE(ours.layers.size() == theirs.layers.size());
    for (std::size_t i = 0; i < ours.layers.size(); ++i) {
      CHECK(ours.layers[i].name == theirs.layers[i].name);
      CHECK(ours.layers[i].forward_macs == theirs.layers[i].forward_macs);
      CHECK(ours.layers[i].activation_bytes == theirs.layers[i].activation_bytes);
      REQUIRE(ours.layers[i].tensors.size() == theirs.layers[i].tensors.size());
      for (std::size_t j = 0; j < ours.layers[i].tensors.size(); ++j) {
        CHECK(ours.layers[i].tensors[j].name == theirs.layers[i].tensors[j].name);
        CHECK(ours.layers[i].tensors[j].shape == theirs.layers[i].tensors[j].shape);
      }
    }
  }
}

TEST_CASE("rotary embeddings pass over all queries and keys, reading and writing each") {
  // Llama 3 8B: 32 heads of 128, and keys of 8; of 64 tokens 64·(4096 + 1024) elements.
  const double elements = 64. * (4096 + 1024);
  int attentions = 0;
  for (const ComputationLayer& layer : built("llama3-8b", 64).layers) {
    if (layer.operators.size() < 2 || !std::holds_alternative<Attention>(layer.operators[1])) continue;
    const auto* rotary = std::get_if<Pass>(&layer.operators[0]);
    REQUIRE(rotary);
    CHECK(rotary->forward == 2 * elements);
    CHECK(rotary->backward == 2 * elements);
    ++attentions;
  }
  CHECK(attentions == 32);
}

TEST_CASE("embeddings read a row and write it, and their gradient is as large as the table, once") {
  const ComputationLayer words = built("gpt2").layers[0];  // 1024 tokens, 50257 rows of 768
  const auto* look_up = std::get_if<Pass>(&words.operators[0]);
  REQUIRE(look_up);
  CHECK(look_up->forward == 2 * 1024. * 768);
  CHECK(look_up->backward == 1024. * 768);
  CHECK(look_up->backward_once == 50257. * 768);
  // Positions are added to patches: two read, one written; backward its gradient is read, and the table's written.
  const ComputationLayer places = built("vit-b").layers[1];  // 196 patches and the class
  CHECK(places.model.name == "vit.embeddings");
  const auto* add = std::get_if<Pass>(&places.operators[0]);
  REQUIRE(add);
  CHECK(add->forward == 3 * 197. * 768);
  CHECK(add->backward == 2 * 197. * 768);
}

TEST_CASE("units: a block each, consecutive, with embeddings before and the head after") {
  for (const std::string name : {"gpt2", "bert-base", "llama3-8b", "vit-b"}) {
    INFO(name);
    const Transformer t = preset(name);
    std::vector<std::string> units;
    for (const ComputationLayer& layer : built(name).layers)
      if (units.empty() || units.back() != layer.group) units.push_back(layer.group);
    REQUIRE(units.size() == static_cast<std::size_t>(t.layers + 2));
    CHECK(units.front() == "embeddings");
    CHECK(units.back() == "head");
    CHECK(std::set<std::string>(units.begin(), units.end()).size() == units.size());
  }
}

TEST_CASE("model FLOPs of a token are 6P + 12·layers·hidden·sequence") {
  const Computation llama = built("llama3-8b", 8192);
  CHECK(llama.model_flops == Approx(8192 * (6 * 8'030'261'248.0 + 12 * 32 * 4096.0 * 8192)).epsilon(1e-12));
}

TEST_CASE("a block of GPT-2 keeps 34·sequence·hidden bytes in 16 bits, plus those of fused attention") {
  // Korthikanti et al. 2022 (arXiv 2205.05198), section 4.1: 34·s·b·h without attention's scores; here also 4 bytes per
  // token and head of the softmax, and 8 of each of two normalisations.
  const Computation gpt2 = built("gpt2");
  double bytes = 0;
  for (const ComputationLayer& layer : gpt2.layers)
    if (layer.block == 3) bytes += 2 * layer.kept.elements + layer.kept.bytes;
  CHECK(bytes == 1024.0 * (34 * 768 + 4 * 12 + 2 * 8));
}

TEST_CASE("Hugging Face's configurations") {
  // Qwen2-0.5B: tied embeddings, biases of q, k and v: 494,032,768, as its model card's safetensors count.
  CHECK(parameters(R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
      "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true,
      "architectures": ["Qwen2ForCausalLM"], "rope_theta": 1e6})") == 494'032'768);
  // Mistral-7B v0.1: 7,241,732,096.
  CHECK(
      parameters(R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "head_dim": null})") == 7'241'732'096);
  CHECK(parameters(R"({"model_type": "gpt2", "n_inner": null})") == 124'439'808);
  CHECK(parameters(R"({"model_type": "bert"})") == 109'482'240);
  // LLaMA with the defaults of its class, LLaMA-7B: 6,738,415,616.
  CHECK(parameters(R"({"model_type": "llama"})") == 6'738'415'616);
  const Transformer vit = of(R"({"model_type": "vit", "id2label": {"0": "a", "1": "b", "2": "c"}})");
  CHECK(vit.classes == 3);
  CHECK(vit.tokens() == 197);
}

TEST_CASE("impossible transformers are refused in one line") {
  CHECK(refused(R"({"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 9})") ==
        "config.json: /num_experts_per_tok");
  CHECK(refused(R"({"model_type": "t5"})") == "config.json: /model_type");
  CHECK(refused(R"({"model_type": "llama", "num_attention_heads": 33})") == "config.json: /num_attention_heads");
  CHECK(refused(R"({"model_type": "llama", "num_key_value_heads": 5})") == "config.json: /num_key_value_heads");
  CHECK(refused(R"({"model_type": "vit", "patch_size": 15})") == "config.json: /patch_size");
  CHECK(
      refused(R"({"family": "llama", "layers": 2, "hidden": 64, "heads": 3, "ffn": 8, "vocab": 9, "positions": 4})") ==
      "config.json: /heads");
  for (const auto& [key, most] : {std::pair("layers", 10'000), {"hidden", 1'000'000}, {"ffn", 10'000'000}}) {
    const auto with = [&, name = key](std::int64_t value) {
      return fmt::format(
          R"({{"family": "gpt2", "heads": 4, "vocab": 9, "positions": 4, "layers": {}, "hidden": {}, "ffn": {}}})",
          name == std::string("layers") ? value : 2, name == std::string("hidden") ? value : 64,
          name == std::string("ffn") ? value : 8);
    };
    CHECK_NOTHROW(of(with(most).c_str()));
    CHECK(refused(with(most + 4).c_str()) == "config.json: /" + std::string(key));
  }
  CHECK(error_place([] { built("gpt2", 2048); }) == "command line: --seq");
  CHECK(error_place([] { built("vit-b", 100); }) == "command line: --seq");
}

TEST_CASE("a file's own description is kept in the model built from it") {
  Transformer t = preset("gpt2");
  t.description = "a description";
  t.source = "a source";
  const Computation work = build(t, 128, {"x", ""});
  CHECK(work.name == "gpt2");
  CHECK(work.description == "a description");
  CHECK(work.source == "a source");
  CHECK(work.input == "128 tokens");
}

namespace {

Computation part(const std::string& name, std::int64_t tokens, const Split& split) {
  return build(preset(name), tokens, {"command line", "--seq"}, split);
}

// Elements that the layers of block 0 send in an operation among a group.
double sent(const Computation& work, CollectiveOp op, LayerCollective::Among group, bool backward) {
  double elements = 0;
  for (const ComputationLayer& layer : work.layers)
    for (const GroupCollective& one : layer.collectives)
      if (layer.block == 0 && one.op == op && one.group == group && one.backward == backward) elements += one.elements;
  return elements;
}

// Bytes that block 0 keeps of one sample, in two bytes an element.
double kept(const Computation& work) {
  double bytes = 0;
  for (const ComputationLayer& layer : work.layers)
    if (layer.block == 0) bytes += 2 * layer.kept.elements + layer.kept.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("one of a tensor group holds its part of products and vocabulary, and all of the normalisations") {
  // Llama 3 8B, T = 8: h 4096, keys of 8 heads of 128, f 14336, V 128256: two tables and, of each block, query and
  // output (h² each), key and value (h·1024 each) and three products of the MLP (h·f each), all over 8; 65 times h.
  const double h = 4096, cut = 2 * 128256 * h + 32 * (2 * h * h + 2 * h * 1024 + 3 * h * 14336);
  CHECK(static_cast<double>(part("llama3-8b", 8192, {8, 1, false}).parameters()) == cut / 8 + 65 * h);
  CHECK(part("llama3-8b", 8192, {8, 1, false}).model_flops == part("llama3-8b", 8192, {}).model_flops);
  // 50257 rows among 4: 12565, of which the last worker leaves 3 empty.
  CHECK(part("gpt2", 1024, {4, 1, false}).layers[0].model.tensors[0].shape == std::vector<std::int64_t>{12565, 768});
}

TEST_CASE("a block's activations are those of Korthikanti et al.: sbh(10 + 24/t), and with cut tokens 34sbh/t") {
  // arXiv 2205.05198, equations 2 and 4, of which fused attention leaves out the scores (5as/h) and adds a sum for each
  // token and head; normalisations keep two statistics of a token. GPT-2: s = 1024, h = 768, 12 heads; t = 4.
  const double sh = 1024. * 768, sums = 4 * 1024. * 12 / 4, statistics = 2 * 8 * 1024.;
  CHECK(kept(part("gpt2", 1024, {4, 1, false})) == sh * (10 + 24. / 4) + sums + statistics);
  CHECK(kept(part("gpt2", 1024, {4, 1, true})) == 34 * sh / 4 + sums + statistics / 4);
  // A worker of a context group keeps half: it has half of the tokens.
  CHECK(kept(part("gpt2", 1024, {1, 2, false})) == kept(part("gpt2", 1024, {})) / 2);
}

TEST_CASE("a block sends what Megatron-LM sends: two all-reduces a pass, or as many gathers and scatters") {
  // arXiv 1909.08053, figure 4, and 2205.05198, section 4.2.2: each of s·h elements; Llama 3 8B of 8192 tokens.
  using Op = CollectiveOp;
  constexpr auto tp = LayerCollective::Among::Tensor, cp = LayerCollective::Among::Context;
  const double twice = 2 * 8192. * 4096;
  const Computation plain = part("llama3-8b", 8192, {8, 1, false}), cut = part("llama3-8b", 8192, {8, 1, true});
  for (const bool backward : {false, true}) {
    CHECK(sent(plain, Op::AllReduce, tp, backward) == twice);
    CHECK(sent(cut, Op::AllReduce, tp, backward) == 0);
    CHECK(sent(cut, Op::AllGather, tp, backward) == twice);
    CHECK(sent(cut, Op::ReduceScatter, tp, backward) == twice);
  }
  // Keys and values, 2·8192 tokens of 8 heads of 128, gathered in both passes; their gradients are scattered. Where a
  // tensor group has two heads each, a quarter.
  const double keys = 2 * 8192. * 1024;
  CHECK(sent(part("llama3-8b", 8192, {1, 4, false}), Op::AllGather, cp, false) == keys);
  CHECK(sent(part("llama3-8b", 8192, {1, 4, false}), Op::AllGather, cp, true) == keys);
  CHECK(sent(part("llama3-8b", 8192, {4, 4, false}), Op::ReduceScatter, cp, true) == keys / 4);
  // And what a context group's tensor groups send is their tokens'.
  CHECK(sent(part("llama3-8b", 8192, {8, 4, true}), Op::AllGather, tp, false) == twice / 4);
  CHECK(sent(part("llama3-8b", 8192, {}), Op::AllReduce, tp, false) == 0);
}

TEST_CASE("tensor-parallel embedding and loss: an all-reduce of the embeddings, and three numbers per token") {
  const Computation work = part("llama3-8b", 8192, {8, 1, false});
  const GroupCollective& words = work.layers.front().collectives.at(0);
  CHECK((words.op == CollectiveOp::AllReduce && !words.backward && words.elements == 8192. * 4096));
  const std::vector<GroupCollective>& head = work.layers.back().collectives;
  REQUIRE(head.size() == 4);  // the gradients of the common input; then largest, right and sum, in fp32
  CHECK((head[0].backward && head[0].elements == 8192. * 4096));
  for (int i = 1; i < 4; ++i) CHECK((!head[i].backward && head[i].bytes == 4 * 8192.));
}

TEST_CASE("units hand on the tokens that a worker has between products") {
  for (const auto& [split, tokens] : {std::pair(Split{}, 8192.),
                                      {Split{8, 1, false}, 8192.},
                                      {Split{8, 1, true}, 1024.},
                                      {Split{8, 4, true}, 256.}}) {
    const Computation work = part("llama3-8b", 8192, split);
    for (std::size_t i = 0; i + 1 < work.layers.size(); ++i)
      CHECK(work.layers[i].handed_on == (work.layers[i].group != work.layers[i + 1].group ? tokens * 4096 : 0));
    CHECK(work.layers.back().handed_on == 0);
  }
}

TEST_CASE("degrees that do not divide are refused at their options") {
  const auto why = [](const Split& split) { return error_place([&] { part("llama3-8b", 8192, split); }); };
  CHECK(why({16, 1, false}) == "command line: --tp");
  CHECK(why({1, 3, false}) == "command line: --cp");
  CHECK(why({1, 1, true}) == "command line: --sequence-parallel");
  CHECK(error_place([&] { part("llama3-8b", 8200, {8, 2, true}); }) == "command line: --sequence-parallel");
}
