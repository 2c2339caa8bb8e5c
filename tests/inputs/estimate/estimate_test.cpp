// The whole of an estimate: what is known fixes it, recomputation moves it, and its parts add up.
#include "sim/inputs/estimate/estimate.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/estimate/transformer.hpp"

using namespace allreplay;

namespace {

EstimateRequest request(const std::string& name, std::int64_t tokens, const std::string& device = "h100") {
  Transformer t = read_transformer(Json::read(Files(), Files().find_data("models/transformers", name, "transformer")));
  t.name = name;
  EstimateRequest request;
  request.work = build(t, tokens > 0 ? tokens : t.tokens(), {"", ""});
  request.device = read_device(Files(), device);
  request.precision = "bf16";
  request.batch = 2;
  return request;
}

double activations(const Profile& profile) {
  double sum = 0;
  for (const Layer& layer : profile.layers) sum += static_cast<double>(*layer.activation_bytes);
  return sum;
}

}  // namespace

TEST_CASE("a sample's tokens and operations go with the profile") {
  const Estimate made = estimate(request("llama3-8b", 8192));
  CHECK(made.profile.tokens_per_sample == 8192);
  // (6P + 12·layers·hidden·sequence) FLOPs a token.
  CHECK(made.profile.flops_per_sample.value() ==
        Approx(8192 * (6 * 8'030'261'248.0 + 12 * 32 * 4096.0 * 8192)).epsilon(1e-12));
  const Estimate images = estimate(request("vit-l", 0));
  CHECK(!images.profile.tokens_per_sample);
  CHECK(images.profile.flops_per_sample.has_value());
}

TEST_CASE("a profile's tensors have the model's shapes, by which Muon finds its matrices") {
  for (const Tensor& tensor : estimate(request("llama3-8b", 8192)).profile.tensors)
    CHECK(element_count(tensor.shape) == tensor.elements);
}

TEST_CASE("recomputation takes time and frees memory") {
  EstimateRequest one = request("llama3-8b", 8192);
  Estimate made[3];
  for (int i = 0; i < 3; ++i) {
    one.recompute = static_cast<Recompute>(i);
    made[i] = estimate(one);
    CHECK(made[i].profile.forward() == made[0].profile.forward());
  }
  CHECK(made[0].profile.backward() < made[1].profile.backward());
  CHECK(made[1].profile.backward() < made[2].profile.backward());
  CHECK(activations(made[0].profile) > activations(made[1].profile));
  CHECK(activations(made[1].profile) > activations(made[2].profile));
  // Full: what a block is computed from, 2·8192 tokens of 4096 in two bytes each.
  const auto& layers = made[2].profile.layers;
  CHECK(layers[1].name == "model.layers.0.input_layernorm");
  CHECK(*layers[1].activation_bytes == 2LL * 8192 * 4096 * 2);
  CHECK(*layers[2].activation_bytes == 0);
  // The head keeps 2·8192 rows of 128,256 logarithms in fp32 (8.4 GB), more than a block computed again: nothing is
  // added at the last.
  CHECK(*layers[1 + 31 * 10].activation_bytes == *layers[1].activation_bytes);
}

TEST_CASE("the recomputation of the last block counts in full if it needs more memory than the head") {
  EstimateRequest one = request("bert-base", 512);
  const Estimate none = estimate(one);
  one.recompute = Recompute::Full;
  const Estimate full = estimate(one);
  double block = 0, head = 0, first = 0, last = 0;
  for (std::size_t i = 0; i < none.profile.layers.size(); ++i) {
    const double kept = static_cast<double>(*none.profile.layers[i].activation_bytes),
                 now = static_cast<double>(*full.profile.layers[i].activation_bytes);
    const std::string& group = none.profile.layers[i].group;
    if (group == "encoder.layer.0") first += now;
    if (group == "encoder.layer.11") block += kept, last += now;
    if (group == "head") head += kept;
  }
  CHECK(last == first + block - head);
}

TEST_CASE("each layer's time is its work's: the last block's is the first's") {
  const Estimate made = estimate(request("gpt2-xl", 1024));
  CHECK(made.profile.origin == Origin::Estimated);
  CHECK(made.profile.tensors.size() == 2 + 48 * 12 + 2);
  CHECK(made.profile.layers[2].forward == made.profile.layers[2 + 47 * 7].forward);
  const Device h100 = read_device(Files(), "h100");
  CHECK(made.efficiency.products == h100.efficiency->products);
  CHECK(made.efficiency.attention == h100.efficiency->attention);
  CHECK(made.profile.bytes() == 2 * 1'557'611'200LL);
}

TEST_CASE("a convolutional network from models/") {
  EstimateRequest one = request("gpt2", 1024, "v100");
  one.work = from_model(read_model(Json::read(Files(), Files().find_data("models", "resnet50", "model"))), {"x", ""});
  one.precision = "fp32";
  one.batch = 32;
  const Estimate made = estimate(one);
  CHECK(made.profile.layers.size() == 107);
  CHECK(made.profile.tensors.size() == 161);
  CHECK(one.work.model_flops == Approx(6 * 4.1e9).epsilon(0.02));  // 4.1 GMACs forward, He et al. 2015
  one.recompute = Recompute::Full;
  CHECK(error_place([&] { estimate(one); }) == "command line: --recompute");
}

TEST_CASE("an activation follows a layer, but does not come between it and its normalisation") {
  const Computation work =
      plain_computation(read_model(Json::read(Files(), Files().find_data("models", "resnet50", "model"))), {"x", ""});
  CHECK(work.layers[0].operators.size() == 2);      // conv1, forward and backward: bn1 follows
  CHECK(work.layers[1].operators.size() == 4);      // bn1, and its activation's passes
  CHECK(work.layers.back().operators.size() == 2);  // fc, which the loss follows
}

TEST_CASE("layers of a model file: products, element-wise operations and attention") {
  // Outputs of 1000 elements of fp32. A pass forward reads and writes each; one backward reads input and gradient, and
  // reads and writes the input's gradient.
  const auto layer = [](const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t macs) {
    ModelLayer one{name, {}, macs, 4000};
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    if (!shape.empty()) one.tensors = {{name + ".weight", shape, elements}};
    return one;
  };
  const Model model{"m",
                    {layer("first", {1, 1, 3, 3}, 9000), layer("depthwise", {10, 1, 3, 3}, 9000),
                     layer("pointwise", {10, 8, 1, 1}, 8000), layer("pool", {}, 3000)}};
  const Computation work = from_model(model, {"x", ""});
  CHECK(std::holds_alternative<Product>(work.layers[0].operators[0]));
  CHECK(std::holds_alternative<Product>(work.layers[2].operators[0]));
  for (const std::size_t i : {1U, 3U}) {
    INFO(model.layers[i].name);
    const Pass* pass = std::get_if<Pass>(&work.layers[i].operators[0]);
    REQUIRE(pass);
    CHECK(pass->forward == 2000);
    CHECK(pass->backward == 4000);
    CHECK(pass->backward_once == 0);
    CHECK(pass->macs == (i == 1 ? 9000 : 3000));
  }
  // 100 tokens of 256 channels: 4 heads of 64. 2·100² per channel.
  const Model attention{"a", {{"attn", {}, 2 * 100 * 100 * 256, 4 * 100 * 256}}, "", "", "100 tokens"};
  const Computation tokens = from_model(attention, {"x", ""});
  const auto* heads = std::get_if<Attention>(&tokens.layers[0].operators[0]);
  REQUIRE(heads);
  CHECK(heads->tokens == 100);
  CHECK(heads->heads == 4);
  CHECK(heads->head_size == 64);
  // A projection whose tensor stands elsewhere: 512 inputs of each of 100 tokens make 256 outputs.
  const Model shared{"s", {{"head", {}, 100 * 512 * 256, 4 * 100 * 256}}, "", "", "100 tokens"};
  const Computation head = from_model(shared, {"x", ""});
  const auto* product = std::get_if<Product>(&head.layers[0].operators[0]);
  REQUIRE(product);
  CHECK(product->rows == 100);
  CHECK(product->inputs == 512);
  CHECK(product->outputs == 256);
  CHECK(product->input_elements == 100 * 512);
}

TEST_CASE("a layer may keep 4 PiB, and no more") {
  EstimateRequest one = request("gpt2", 1024);
  double most = 0;  // bytes that a layer keeps of a sample
  for (const ComputationLayer& layer : one.work.layers)
    most = std::max(most, 2 * layer.kept.elements + layer.kept.bytes);
  one.batch = static_cast<std::int64_t>(0x1p52 / most);
  CHECK(error_place([&] { estimate(one); }).empty());
  one.batch += 1;
  CHECK(error_place([&] { estimate(one); }) == "command line: --batch");
}

TEST_CASE("of the backward pass of a product half makes gradients of weights, of attention nothing") {
  EstimateRequest one = request("llama3-8b", 8192);
  const Profile profile = estimate(one).profile;
  const auto layer = [&](const std::string& name) {
    return *std::find_if(profile.layers.begin(), profile.layers.end(), [&](const Layer& l) { return l.name == name; });
  };
  // Gate: 16384 × 4096 × 14336. The roofline knows no difference between its two products but their tiles, all full.
  const Layer gate = layer("model.layers.3.mlp.gate_proj");
  CHECK(to_seconds(*gate.backward_weight) == Approx(to_seconds(gate.backward) / 2).epsilon(0.02));
  CHECK(*layer("model.layers.3.self_attn").backward_weight == Time{0});
  // The embedding's backward pass makes nothing else.
  CHECK(*profile.layers.front().backward_weight == profile.layers.front().backward);
  // Recomputation belongs to the gradient of the input.
  one.recompute = Recompute::Full;
  const Profile full = estimate(one).profile;
  for (std::size_t i = 0; i < profile.layers.size(); ++i)
    CHECK(full.layers[i].backward_weight == profile.layers[i].backward_weight);
}

TEST_CASE("recomputation repeats its collectives: all of them, or those for inputs of products") {
  EstimateRequest one = request("llama3-8b", 8192);
  Transformer t = read_transformer(Json::read(Files(), Files().find_data("models/transformers", "llama3-8b", "")));
  one.work = build(t, 8192, {"", ""}, {8, 1, true});
  // In a block, in halves of an all-reduce of 2·8192 tokens of 4096 in two bytes: forward 4, and backward 4, and with
  // full recomputation 4 more; selective keeps what the two scatters gave, and gathers the two inputs again.
  const double half = 2. * 8192 * 4096 * 2;
  const double expected[] = {8, 10, 12};
  for (int i = 0; i < 3; ++i) {
    one.recompute = static_cast<Recompute>(i);
    double bytes = 0;
    const Profile profile = estimate(one).profile;
    for (const Layer& layer : profile.layers)
      for (const LayerCollective& sent : layer.collectives)
        if (layer.group == "model.layers.0") bytes += static_cast<double>(sent.bytes);
    CHECK(bytes == expected[i] * half);
    CHECK(profile.degrees == ProfileDegrees{8, 1, {}});
    CHECK(*profile.layers.front().output_bytes == 2LL * 8192 / 8 * 4096 * 2);
  }
}

TEST_CASE("computing is scaled without the starts of kernels") {
  const Estimate made = estimate(request("gpt2", 1024));
  for (std::size_t i = 0; i < made.profile.layers.size(); ++i) {
    Layer layer = made.profile.layers[i];
    const LayerStarts& starts = made.starts[i];
    scale_computing(layer, 3, starts);
    const double before = to_seconds(made.profile.layers[i].forward - starts.forward);
    CHECK(to_seconds(layer.forward - starts.forward) == Approx(3 * before).epsilon(1e-9).margin(2e-12));
    CHECK(layer.backward >= starts.backward);
    CHECK(*layer.backward_weight <= layer.backward);
  }
}

TEST_CASE(
    "fp8 applies to blocks: gradients and kept activations stay as in bf16, and a network without blocks has none") {
  EstimateRequest one = request("llama3-8b", 8192);
  const Profile wide = estimate(one).profile;
  one.precision = "fp8";
  const Profile narrow = estimate(one).profile;
  CHECK(narrow.precision == "fp8");
  CHECK(narrow.bytes() == wide.bytes());
  CHECK(activations(narrow) == activations(wide));
  CHECK(narrow.update == wide.update);
  CHECK(narrow.layers.front().forward == wide.layers.front().forward);
  CHECK(narrow.layers.back().forward == wide.layers.back().forward);
  CHECK(narrow.forward() < wide.forward());
  one.work = from_model(read_model(Json::read(Files(), Files().find_data("models", "resnet50", "model"))), {"x", ""});
  CHECK(error_place([&] { estimate(one); }) == "command line: --precision");
}

TEST_CASE("the host's floors count the forward pass again if it is recomputed") {
  EstimateRequest one = request("gpt2", 1024);
  CHECK(!estimate(one).profile.host.any());
  one.host = &host_figures()[1];
  const HostFloors plain = estimate(one).profile.host;
  one.recompute = Recompute::Full;
  const HostFloors full = estimate(one).profile.host;
  CHECK(full.block_backward == plain.block_backward + plain.block_forward);
  CHECK(full.block_forward == plain.block_forward);
  CHECK(full.step == plain.step);
}
