// Times that can be worked out by hand.
#include "sim/estimate/roofline.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/core/file.hpp"

using namespace allreplay;

namespace {

constexpr double launch = 5e-6;

// 4 multiprocessors, 2·10⁹ FLOP/s each (one tile of 128 × 128 at a depth of 1000 takes 16.384 ms), 1 GB/s.
const Rates small{.matrix = 8e9, .vector = 1e9, .bandwidth = 1e9, .element = 2, .sms = 4};

}  // namespace

TEST_CASE("a product takes whole waves of whole tiles") {
  const double tile = 2.0 * 128 * 128 * 1000 / 2e9;
  // 4 tiles of 128 x 128 on 4 multiprocessors: one wave. One row more is 2 tiles more: 6 tiles, two waves.
  CHECK(product_seconds(small, 256, 1000, 256, 0) == Approx(tile + launch));
  CHECK(product_seconds(small, 257, 1000, 256, 0) == Approx(2 * tile + launch));
  // Narrow matrices get tiles of half the side: 64 x 128.
  CHECK(product_seconds(small, 512, 1000, 64, 0) == Approx(tile / 2 + launch));
}

TEST_CASE("a product of few tiles is split along its depth, and its parts are summed in fp32") {
  // One tile of depth 1024 on 4 multiprocessors: 4 parts of depth 256 at once, written and read as 4 bytes an element.
  const double tile = 2.0 * 128 * 128 * 1024 / 2e9, sums = 2 * 4 * 128 * 128 * 4 / 1e9;
  CHECK(product_seconds(small, 128, 1024, 128, 0) == Approx(tile / 4 + sums + launch));
}

TEST_CASE("what moves more than it computes takes the memory's time") {
  CHECK(product_seconds(small, 128, 1, 128, 5e6) == Approx(5e6 * 2 / 1e9 + launch));
  ComputationLayer layer;
  layer.operators = {Pass{1e6, 2e6, 5e5}};
  const LayerSeconds seconds = layer_seconds(layer, small, 3);
  CHECK(seconds.forward == Approx(3e6 * 2 / 1e9 + launch));
  CHECK(seconds.passes == seconds.forward);
  CHECK(seconds.backward == Approx((6e6 + 5e5) * 2 / 1e9 + launch));  // the dense gradient once, whatever the batch
}

TEST_CASE("the backward pass does two products, the first layer's one") {
  ComputationLayer layer;
  layer.operators = {Product{256, 256, 256, 256.0 * 256, true}};
  const LayerSeconds both = layer_seconds(layer, small, 1);
  CHECK(both.backward == Approx(2 * both.forward));
  layer.operators = {Product{256, 256, 256, 256.0 * 256, false}};
  CHECK(layer_seconds(layer, small, 1).backward == Approx(both.forward));
}

TEST_CASE("attention: tiles up to the diagonal where a mask is causal, five products backward where two are forward") {
  // 4 heads of 256 tokens: 2 x 2 tiles of pairs each, 3 with a mask; half the rate of products.
  const double tile = 2.0 * 128 * 128 * 64 * 2 / (0.5 * 8e9) * 4;  // of all heads
  const Rates fast{.matrix = 8e9, .vector = 1e9, .bandwidth = 1e15, .element = 2, .sms = 4};
  ComputationLayer layer;
  layer.operators = {Attention{256, 4, 4, 64, false}};
  CHECK(layer_seconds(layer, fast, 1).forward == Approx(4 * tile + launch));
  layer.operators = {Attention{256, 4, 4, 64, true}};
  CHECK(layer_seconds(layer, fast, 1).forward == Approx(3 * tile + launch));
  CHECK(layer_seconds(layer, fast, 1).backward == Approx(7.5 * tile + launch));
  // One of two workers that share the queries, early and late ones: half of it.
  layer.operators = {Attention{256, 4, 4, 64, true, 2}};
  CHECK(layer_seconds(layer, fast, 1).forward == Approx(1.5 * tile + launch));
}

TEST_CASE("the update moves 28 bytes a parameter with Adam, 20 with momentum") {
  CHECK(update_seconds(small, 1e6, Optimizer::Adam) == Approx(28e6 / 1e9 + launch));
  CHECK(update_seconds(small, 1e6, Optimizer::AdamUnfused) == Approx(76e6 / 1e9 + launch));
  CHECK(update_seconds(small, 1e6, Optimizer::Sgd) == Approx(20e6 / 1e9 + launch));
}

TEST_CASE("shipped devices can be read, and know their own names") {
  const auto names = Files().list_data("models/devices");
  CHECK(names == std::vector<std::string>{"a100-40gb", "a100-80gb", "b200", "b300", "gb200", "gb300", "gh200", "h100",
                                          "h200", "k80", "mi300x", "mi355x", "p100", "rtx2080ti", "rtx3090", "v100"});
  std::set<std::string> called;
  for (const std::string& name : names) {
    const Device device = read_device(Files(), name);
    CHECK(device.peak.contains("fp32"));
    for (const std::string& one : device.also) {
      CHECK(called.insert(one).second);
      CHECK(device_called(Files(), one)->name == name);
    }
  }
  CHECK_FALSE(device_called(Files(), "P102-100").has_value());
}

TEST_CASE("a device without the precision says which it has") {
  CHECK(error_place([] {
          rates_of(read_device(Files(), "v100"), "bf16", {"command line", "--precision"});
        }) == "command line: --precision");
  CHECK(rates_of(read_device(Files(), "h100"), "bf16", {"", ""}).element == 2);
}
