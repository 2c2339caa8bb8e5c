// Times derived by hand.
#include "sim/inputs/estimate/roofline.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/file.hpp"

using namespace allreplay;

namespace {

constexpr double launch = 5e-6;

// 4 multiprocessors, 2·10⁹ FLOP/s each (one tile of 128 × 128 at a depth of 1000 takes 16.384 ms), 1 GB/s.
const Rates small{.matrix = 8e9, .vector = 1e9, .bandwidth = 1e9, .element = 2, .sms = 4};

}  // namespace

TEST_CASE("a product takes whole waves of whole tiles") {
  const double tile = 2.0 * 128 * 128 * 1000 / 2e9;
  // 4 tiles of 128 x 128 on 4 multiprocessors: one wave. One row more is 2 tiles more: 6 tiles, two waves.
  CHECK(product_seconds(small, 256, 1000, 256, 0) == Approx(tile));
  CHECK(product_seconds(small, 257, 1000, 256, 0) == Approx(2 * tile));
  // Narrow matrices get tiles of half the side: 64 x 128.
  CHECK(product_seconds(small, 512, 1000, 64, 0) == Approx(tile / 2));
}

TEST_CASE("a product of few tiles is split along its depth, and its parts are summed in fp32") {
  // One tile of depth 1024 on 4 multiprocessors: 4 parts of depth 256 simultaneously, written and read as 4 bytes per
  // element.
  const double tile = 2.0 * 128 * 128 * 1024 / 2e9, sums = 2 * 4 * 128 * 128 * 4 / 1e9;
  CHECK(product_seconds(small, 128, 1024, 128, 0) == Approx(tile / 4 + sums));
}

TEST_CASE("memory-bound operations take the memory's time") {
  CHECK(product_seconds(small, 128, 1, 128, 5e6) == Approx(5e6 * 2 / 1e9));
  ComputationLayer layer;
  layer.operators = {Pass{1e6, 2e6, 5e5}};
  const LayerSeconds seconds = layer_seconds(layer, small, 3);
  CHECK(seconds.forward.total() == Approx(3e6 * 2 / 1e9 + launch));
  CHECK(seconds.passes.total() == seconds.forward.total());
  CHECK(seconds.backward.total() ==
        Approx((6e6 + 5e5) * 2 / 1e9 + launch));  // the dense gradient once, whatever the batch
}

TEST_CASE("the backward pass does two products, the first layer's one") {
  ComputationLayer layer;
  layer.operators = {Product{256, 256, 256, 256.0 * 256, true}};
  const LayerSeconds both = layer_seconds(layer, small, 1);
  CHECK(both.backward.total() == Approx(2 * both.forward.total()));
  layer.operators = {Product{256, 256, 256, 256.0 * 256, false}};
  CHECK(layer_seconds(layer, small, 1).backward.total() == Approx(both.forward.total()));
}

TEST_CASE("attention: causal masks need tiles up to the diagonal; five products backward, two forward") {
  // 4 heads of 256 tokens: 2 x 2 tiles of pairs each, 3 with a mask; half the rate of products.
  const double tile = 2.0 * 128 * 128 * 64 * 2 / (0.5 * 8e9) * 4;  // of all heads
  const Rates fast{.matrix = 8e9, .vector = 1e9, .bandwidth = 1e15, .element = 2, .sms = 4};
  ComputationLayer layer;
  layer.operators = {Attention{256, 4, 4, 64, false}};
  CHECK(layer_seconds(layer, fast, 1).forward.total() == Approx(4 * tile + launch));
  layer.operators = {Attention{256, 4, 4, 64, true}};
  CHECK(layer_seconds(layer, fast, 1).forward.total() == Approx(3 * tile + launch));
  CHECK(layer_seconds(layer, fast, 1).backward.total() == Approx(7.5 * tile + launch));
  // One of two workers that share the queries, early and late ones: half of it.
  layer.operators = {Attention{256, 4, 4, 64, true, 2}};
  CHECK(layer_seconds(layer, fast, 1).forward.total() == Approx(1.5 * tile + launch));
  // One head has two tiles of queries: two of the four multiprocessors have nothing to do.
  layer.operators = {Attention{256, 1, 1, 64, false}};
  CHECK(layer_seconds(layer, fast, 1).forward.total() == Approx(2 * tile + launch));
}

TEST_CASE("an efficiency applies to products, one of its own to attention, and none to the start of a kernel") {
  // A product, its bias's pass and attention: of 3 kernels forward.
  const Rates fast{.matrix = 8e9, .vector = 1e9, .bandwidth = 1e9, .element = 2, .sms = 4};
  ComputationLayer layer;
  layer.operators = {Product{256, 1000, 256, 0, true}, Pass{1e6, 1e6}, Attention{256, 4, 4, 64, false}};
  const KernelSeconds forward = layer_seconds(layer, fast, 1).forward;
  const double product = 2.0 * 128 * 128 * 1000 / 2e9, pass = 1e6 * 2 / 1e9;
  CHECK(forward.products == Approx(product + pass));
  CHECK(forward.starts == Approx(3 * launch));
  CHECK(forward.at({0.5, 0.25}) == Approx(2 * (product + pass) + 4 * forward.attention + 3 * launch));
}

TEST_CASE("in fp8 only the products of blocks are faster, and routers are not") {
  const Device b200 = read_device(Files(), "b200");
  const Rates wide = rates_of(b200, "bf16", {"", ""}), fp8 = rates_of(b200, "fp8", {"", ""}),
              fp4 = rates_of(b200, "fp4", {"", ""});
  CHECK(fp8.in_blocks == 4500e12);
  CHECK(fp4.in_blocks == 9000e12);
  CHECK(fp8.matrix == wide.matrix);
  CHECK(fp8.element == 2);
  ComputationLayer layer;  // 148 · 4 tiles of 16384 inputs: four full waves, far above the memory's time
  layer.operators = {Product{148 * 128, 16384, 512, 0, true}};
  const double outside = layer_seconds(layer, fp8, 1).forward.products;
  CHECK(outside == layer_seconds(layer, wide, 1).forward.products);
  layer.block = 0;
  CHECK(layer_seconds(layer, fp8, 1).forward.products == Approx(outside / 2));
  CHECK(layer_seconds(layer, fp4, 1).forward.products == Approx(outside / 4));
  layer.operators = {Attention{4096, 8, 8, 128, true}, Pass{1e6, 1e6}};
  CHECK(layer_seconds(layer, fp8, 1).forward.total() == layer_seconds(layer, wide, 1).forward.total());
  layer.operators = {Product{148 * 128, 16384, 512, 0, true, true}};
  CHECK(layer_seconds(layer, fp8, 1).forward.products == outside);
  CHECK(error_place([] {
          rates_of(read_device(Files(), "a100-80gb"), "fp8", {"command line", "--precision"});
        }) == "command line: --precision");
}

TEST_CASE("a device's own efficiency applies to tensor cores; the default is the usual one") {
  Device device = read_device(Files(), "v100");
  device.efficiency = Efficiency{0.7, 0.4, "here"};
  CHECK(rates_of(device, "fp16", {"", ""}).efficiency.products == 0.7);
  CHECK(rates_of(device, "fp16", {"", ""}).efficiency.attention == 0.4);
  CHECK(rates_of(device, "fp32", {"", ""}).efficiency.products == usual_efficiency("fp32"));
  device.efficiency.reset();
  CHECK(rates_of(device, "fp16", {"", ""}).efficiency.attention == usual_efficiency("fp16"));
}

TEST_CASE("the update moves 28 bytes a parameter with Adam, 20 with momentum") {
  CHECK(update_seconds(small, 1e6, Optimizer::Adam).total() == Approx(28e6 / 1e9 + launch));
  CHECK(update_seconds(small, 1e6, Optimizer::AdamUnfused).total() == Approx(76e6 / 1e9 + launch));
  CHECK(update_seconds(small, 1e6, Optimizer::Sgd).total() == Approx(20e6 / 1e9 + launch));
}

TEST_CASE("shipped devices can be read, and know their own names") {
  const auto names = Files().list_data("models/devices");
  CHECK(names == std::vector<std::string>{"a10",       "a100-40gb", "a100-80gb", "b200",   "b300",   "gb200",
                                          "gb300",     "gh200",     "h100",      "h20",    "h200",   "k80",
                                          "l4",        "l40s",      "mi210",     "mi300x", "mi355x", "p100",
                                          "rtx2080ti", "rtx3090",   "rtx4090",   "t4",     "v100"});
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
