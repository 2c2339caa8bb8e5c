// The sizes of messages in a profiler's trace, and layers of a trace without shapes compared with a model's.
#include "sim/formats/interchange/importers/kineto_messages.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace kineto_messages_test {

namespace {

ModelLayer layer(const std::string& name, const std::vector<std::vector<std::int64_t>>& shapes) {
  ModelLayer layer{name, {}};
  for (const auto& shape : shapes) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    layer.tensors.push_back({"t", shape, elements});
  }
  return layer;
}

std::string complaint(const std::vector<ShapelessLayer>& seen, const std::vector<ModelLayer>& layers) {
  return error_place([&] { elements_by_order(seen, {"m", layers}, {"trace.json", ""}); });
}

}  // namespace

TEST_CASE("a message has a known collective, a known number of elements and a duration") {
  const KinetoMessage message{"_allgather_base", "BFloat16", 1000, 8000, 8};
  const auto one = measured_collective(message, 7);
  REQUIRE(one);
  CHECK(*one == MeasuredCollective{"all-gather", 8, 2000, Time(7000)});  // each worker's payload; picoseconds
  for (const auto& [type, bytes] : {std::pair("Float", 4),
                                    {"Half", 2},
                                    {"Double", 8},
                                    {"Int", 4},
                                    {"Long", 8},
                                    {"Char", 1},
                                    {"Byte", 1},
                                    {"Float8_e4m3fn", 1},
                                    {"Float8_e5m2", 1}})
    CHECK(measured_collective({"allreduce", type, 10, 10, 2}, 1)->bytes == 10 * bytes);
  for (const auto& [name, known] : {std::pair("allreduce", "all-reduce"),
                                    {"all_reduce", "all-reduce"},
                                    {"_reduce_scatter_base", "reduce-scatter"},
                                    {"broadcast", "broadcast"}})
    CHECK(measured_collective({name, "Float", 10, 10, 2}, 1)->name == known);
  CHECK(!measured_collective({"all_to_all", "Float", 10, 10, 2}, 1));
  CHECK(!measured_collective({"allreduce", "Complex", 10, 10, 2}, 1));
  CHECK(!measured_collective({"allreduce", "Float", 0, 10, 2}, 1));
  CHECK(!measured_collective({"allreduce", "Float", 10, 10, 2}, 0));
  CHECK(measured_collective({"allreduce", "Float", 1, 1, 2}, 1));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(measured_collective({"allreduce", "Char", most, most, 2}, 1)->bytes == most);
  CHECK(!measured_collective({"allreduce", "Half", most, most, 2}, 1));
  CHECK(measured_collective({"allreduce", "Float", 1, 1, -1}, 1)->workers == 0);
}

TEST_CASE("layers without shapes are the model's in order if number and kind agree") {
  const ModelLayer conv = layer("conv", {{8, 3, 3, 3}, {8}}), norm = layer("norm", {{8}, {8}}),
                   linear = layer("fc", {{10, 8}, {10}}), none = layer("relu", {});
  CHECK(elements_by_order(std::vector<ShapelessLayer>{{"conv2d", 2}, {"batch_norm", 2}, {"addmm", 2}},
                          {"m", {conv, norm, none, linear}},
                          {}) == std::vector<std::vector<std::int64_t>>{{216, 8}, {8, 8}, {80, 10}});
  for (const char* name : {"linear", "addmm", "matmul", "embedding"}) {
    INFO(name);
    CHECK(complaint({{name, 2}}, {linear}).empty());
    CHECK(complaint({{name, 2}}, {conv}) == "trace.json");
    CHECK(!complaint({{name, 2}}, {norm}).empty());
  }
  CHECK(complaint({{"conv1d", 1}}, {layer("conv", {{8, 3, 3}})}).empty());
  CHECK(!complaint({{"conv2d", 2}}, {linear}).empty());
  CHECK(!complaint({{"layer_norm", 2}}, {linear}).empty());
  CHECK(!complaint({{"layer_norm", 2}}, {layer("half", {{8}, {8, 8}})}).empty());  // all of one extent
  for (const ModelLayer& one : {conv, norm, linear}) CHECK(complaint({{"prelu", 2}}, {one}).empty());  // not known
  CHECK(!complaint({{"conv2d", 1}}, {conv}).empty());
  CHECK(complaint({{"conv2d", 2}}, {conv, linear}) == "trace.json");
  CHECK(complaint({{"conv2d", 2}, {"addmm", 2}}, {conv, none}) == "trace.json");
}

}  // namespace kineto_messages_test
