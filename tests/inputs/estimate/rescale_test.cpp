// A profile under other conditions.
#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/profile_file.hpp"

using namespace allreplay;

namespace {

const Model& resnet() {
  static const Model model = read_model(Json::read(Files(), Files().find_data("models", "resnet50", "model")));
  return model;
}

// An estimate is a profile like another; its own rooflines have to lead back to it.
Profile estimated(const std::string& device, const std::string& precision, std::int64_t batch) {
  EstimateRequest request;
  request.work = from_model(resnet(), {"x", ""});
  request.device = read_device(Files(), device);
  request.precision = precision;
  request.batch = batch;
  Profile profile = estimate(request).profile;
  profile.name = "p";
  return profile;
}

double seconds(const Profile& profile) { return to_seconds(add(profile.forward(), profile.backward())); }

}  // namespace

TEST_CASE("rescaling to another device and back changes nothing") {
  const Profile start = estimated("v100", "fp32", 32);
  Change there, back;
  there.device = read_device(Files(), "h100");
  there.precision = "bf16";
  there.batch = 64;
  const Profile away = rescaled(Files(), start, resnet(), there).profile;
  CHECK(away.device == "h100");
  CHECK(away.origin == Origin::Estimated);
  CHECK(away.batch_size == 64);
  CHECK(away.bytes() * 2 == start.bytes());
  CHECK(seconds(away) < seconds(start));
  back.device = read_device(Files(), "v100");
  back.precision = "fp32";
  back.batch = 32;
  const Profile again = rescaled(Files(), away, resnet(), back).profile;
  for (std::size_t i = 0; i < start.layers.size(); ++i) {
    CHECK(std::abs((again.layers[i].forward - start.layers[i].forward).count()) <= 20);  // picoseconds, rounded twice
    CHECK(again.layers[i].activation_bytes == start.layers[i].activation_bytes);
  }
  CHECK(std::abs((*again.update - *start.update).count()) <= 20);
}

TEST_CASE("operations of a sample depend on its length as an estimate's do, and not on batch, device or precision") {
  const auto gpt2 = [](std::int64_t tokens) {
    EstimateRequest request;
    Transformer transformer =
        read_transformer(Json::read(Files(), Files().find_data("models/transformers", "gpt2", "transformer")));
    request.work = build(transformer, tokens, {"", ""});
    request.device = read_device(Files(), "h100");
    request.precision = "bf16";
    return std::pair(estimate(request).profile, request.work.model());
  };
  const auto [shorter, model] = gpt2(256);
  Change change;
  change.tokens = 1024;
  const Profile longer = rescaled(Files(), shorter, model, change).profile;
  CHECK(longer.tokens_per_sample == 1024);
  CHECK(longer.flops_per_sample.value() == Approx(gpt2(1024).first.flops_per_sample.value()).epsilon(1e-12));
  const Profile other =
      rescaled(Files(), shorter, model, {.batch = 8, .device = read_device(Files(), "a100-80gb"), .precision = "fp16"})
          .profile;
  CHECK(other.tokens_per_sample == 256);
  CHECK(other.flops_per_sample == shorter.flops_per_sample);
  Model without = model;
  for (ModelLayer& layer : without.layers) layer.forward_macs.reset();
  CHECK(!rescaled(Files(), shorter, without, change).profile.flops_per_sample);
}

TEST_CASE("the ratio is the estimates', whatever was measured") {
  const Profile at32 = estimated("v100", "fp32", 32), at64 = estimated("v100", "fp32", 64);
  Profile measured = at32;
  measured.origin = Origin::Measured;
  for (Layer& layer : measured.layers) layer.forward = scaled(layer.forward, 1.5);
  Change change;
  change.batch = 64;
  const Profile made = rescaled(Files(), measured, resnet(), change).profile;
  for (std::size_t i = 0; i < made.layers.size(); ++i)
    CHECK(to_seconds(made.layers[i].forward) == Approx(1.5 * to_seconds(at64.layers[i].forward)).epsilon(1e-6));
  CHECK(made.origin == Origin::Estimated);
  CHECK(made.update == at32.update);  // the update does not know the batch
}

TEST_CASE("on an unknown device only the batch can change, in proportion; other changes require the device") {
  Profile profile = estimated("v100", "fp32", 32);
  profile.device = "Nameless 3000";
  Change change;
  change.batch = 16;
  const Estimate made = rescaled(Files(), profile, resnet(), change);
  CHECK(to_seconds(made.profile.forward()) ==
        Approx(to_seconds(profile.forward()) / 2).epsilon(1e-7));  // each layer to a picosecond
  for (std::size_t i = 0; i < profile.layers.size(); ++i)          // of half as many samples
    CHECK(made.profile.layers[i].activation_bytes.value_or(0) == profile.layers[i].activation_bytes.value_or(0) / 2);
  CHECK(made.profile.device == "Nameless 3000");
  change.device = read_device(Files(), "h100");
  CHECK(error_place([&] { rescaled(Files(), profile, resnet(), change); }) == "command line: --from-device");
  change.measured = read_device(Files(), "v100");
  CHECK(rescaled(Files(), profile, resnet(), change).profile.device == "h100");
}

TEST_CASE("longer samples: attention grows with the square of the tokens, all else in proportion") {
  const Model gpt2 = read_model(Json::read(Files(), Files().find_data("models", "gpt2.json", "model")));
  const Computation half = from_model(gpt2, {"x", ""}, 512), whole = from_model(gpt2, {"x", ""});
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const double ratio = static_cast<double>(*whole.layers[i].model.forward_macs);
    const bool attention = whole.layers[i].model.name.ends_with(".attn");
    CHECK(ratio == static_cast<double>(*half.layers[i].model.forward_macs) * (attention ? 4 : 2));
  }
  CHECK(half.input == "512 tokens");
  CHECK(error_place([] { from_model(resnet(), {"x", ""}, 512); }) == "x");
}
