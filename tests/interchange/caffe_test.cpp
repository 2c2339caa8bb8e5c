#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/import_text.hpp"

using namespace allreplay;

namespace {

std::string logged(const std::string& message) { return "I0228 23:02:15.321418 24886 net.cpp:49] " + message + "\n"; }

// A layer as the log defines it.
std::string layer(const std::string& name, const std::string& type, const std::string& more = "") {
  return "layer {\n  name: \"" + name + "\"\n  type: \"" + type + "\"\n" + more + "}\n";
}

// As it sets it up.
std::string set_up(const std::string& name, const std::string& bottom, const std::string& top,
                   const std::string& shape) {
  return logged("Creating Layer " + name) + (bottom.empty() ? "" : logged(name + " <- " + bottom)) +
         logged(name + " -> " + top + (top == bottom ? " (in-place)" : "")) + logged("Setting up " + name) +
         logged("Top shape: " + shape + " (1)");
}

std::string timed(const std::string& name, double forward, double backward) {
  return logged(fmt::format("     {}\tforward: {} ms.", name, forward)) +
         logged(fmt::format("     {}\tbackward: {} ms.", name, backward));
}

const std::string definition =
    "name: \"net\"\nstate {\n  phase: TRAIN\n}\n" + layer("data", "Input") +
    layer("a/3x3", "Convolution", "  convolution_param {\n num_output: 8\n kernel_size: 3\n group: 2\n }\n") +
    layer("a/scale", "Scale", "  scale_param { bias_term: true }\n") + layer("a/relu", "ReLU") +
    layer("fc", "InnerProduct", "  inner_product_param { num_output: 10 bias_term: false }\n");

const std::string set_ups = set_up("data", "", "data", "16 4 6 6") + set_up("a/3x3", "data", "a", "16 8 4 4") +
                            set_up("a/scale", "a", "a", "16 8 4 4") + set_up("a/relu", "a", "a", "16 8 4 4") +
                            set_up("fc", "a", "fc", "16 10");
const std::string times = logged("Average time per layer: ") + timed("data", 0, 0) + timed("a/3x3", 1.5, 2.5) +
                          timed("a/scale", 0.5, 1) + timed("a/relu", 0.25, 0.5) + timed("fc", 1, 2) +
                          logged("Average Forward pass: 4 ms.") + logged("Average Backward pass: 6 ms.");

std::string log_of(const std::string& net, const std::string& layers, const std::string& benchmark) {
  return logged("Initializing net from parameters: ") + net + layers + benchmark;
}

}  // namespace

TEST_CASE("caffe time: parameters follow from the net, the batch size from its input") {
  ImportOptions none;
  const Imported imported = import_text("caffe-time", log_of(definition, set_ups, times), none);
  const Profile& profile = imported.profile;
  CHECK(profile.batch_size == 16);
  REQUIRE(profile.layers.size() == 5);
  CHECK(profile.layers[1].forward == to_time(1.5e-3));
  CHECK(profile.layers[4].backward == to_time(2e-3));
  REQUIRE(profile.tensors.size() == 5);
  CHECK(profile.tensors[0].name == "a/3x3.weight");
  CHECK(profile.tensors[0].elements == 8 * (4 / 2) * 3 * 3);  // outputs x inputs of a group x kernel
  CHECK(profile.tensors[1].elements == 8);                    // its bias
  CHECK(profile.tensors[2].elements == 8);                    // a factor for each channel
  CHECK(profile.tensors[3].elements == 8);
  CHECK(profile.tensors[4].elements == 8 * 4 * 4 * 10);
  CHECK(profile.tensors[4].layer == 4);
  CHECK(has_note(imported, "3.25 ms"));
  CHECK(has_note(imported, "18.75 %"));
  CHECK(has_note(imported, "4 ms"));
}

TEST_CASE("caffe time: layers behind glog's cut are taken by their names, and that is said") {
  const std::string cut = definition + "layer {\n  name: \"b/3x3\"\n  type: \"Convolution\"\n  convolution_param {\n";
  const std::string more = set_ups + set_up("b/3x3", "a", "b", "16 6 2 2") + set_up("pool", "b", "p", "16 6 1 1") +
                           set_up("b/relu", "p", "p", "16 6 1 1") + set_up("fc2", "p", "fc2", "16 3");
  const std::string all =
      times + timed("b/3x3", 1, 1) + timed("pool", 1, 1) + timed("b/relu", 1, 1) + timed("fc2", 1, 1);
  const Imported imported = import_text("caffe-time", log_of(cut, more, all), {});
  REQUIRE(imported.profile.tensors.size() == 9);
  CHECK(imported.profile.tensors[5].elements == 6 * (8 / 2) * 3 * 3);  // as a/3x3: a kernel of 3, two groups
  CHECK(imported.profile.tensors[7].elements == 6 * 3);                // made flat: fully connected
  const std::string unknown = set_ups + set_up("b/new", "a", "b", "16 8 4 4");
  CHECK(refusal("caffe-time", log_of(cut, unknown, times)) == "file");
}

TEST_CASE("caffe time: bad input") {
  const auto refused = [](const std::string& net, const std::string& layers, const std::string& benchmark) {
    return refusal("caffe-time", log_of(net, layers, benchmark));
  };
  CHECK(refusal("caffe-time", "") == "file");
  CHECK(refused(definition, set_ups, "") == "file");
  CHECK(refusal("caffe-time", times) == "file");
  CHECK(refused(definition, set_ups, logged("x\tforward: 1 ms.")) == "file: line 57");
  CHECK(refused(definition, set_ups, logged("x\tbackward: 1 ms.")) == "file: line 57");
  CHECK(refused(definition, set_ups, logged("x\tforward: -1 ms.")) == "file: line 57");
  CHECK(refused(definition, set_ups, logged("x\tforward: long")) == "file: line 57");
  CHECK(refused(definition + "}\n", set_ups, times) == "file: line 33");
  CHECK(refused(definition, set_ups, timed("fc", 1, 1)) == "file");
  CHECK(refused(layer("l", "LSTM", "  param { lr_mult: 1 }\n"), set_up("l", "l0", "l", "1 2"), timed("l", 1, 1)) ==
        "file");
  CHECK(refused(layer("d", "Input") + layer("l", "LSTM", "  param { lr_mult: 1 }\n"),
                set_up("d", "", "d", "1 2") + set_up("l", "d", "l", "1 2"), timed("d", 1, 1)) == "file: line 7");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "a {\n";
  CHECK(refused(deep, set_ups, times) == "file: line 52");
}

namespace {

std::string blob(const std::string& list) {
  return "I0214 23:25:29.141575 37187 distributed.cpp:112] [" + list + "]\n";
}

ImportOptions halved() {
  ImportOptions options;
  options.batch_size = 32;
  options.forward_ratio = 0.5;
  return options;
}

}  // namespace

TEST_CASE("B-Caffe: the last iteration; consecutive blobs of equal backward time are one layer's") {
  const std::string log = blob("0, 640, 0, 0") + blob("1, 64, 0, 0") + blob("2, 128, 0, 0") +  //
                          blob("0, 640, 100.5, 20") + blob("1, 64, 100.5, 30") + blob("2, 128, 7, 50");
  const Imported imported = import_text("bcaffe", log, halved());
  REQUIRE(imported.profile.layers.size() == 2);
  CHECK(imported.profile.layers[0].backward == to_time(100.5e-6));
  CHECK(imported.profile.layers[0].forward == to_time(50.25e-6));
  REQUIRE(imported.profile.tensors.size() == 3);
  CHECK(imported.profile.tensors[1].layer == 0);
  CHECK(imported.profile.tensors[2].layer == 1);
  CHECK(imported.profile.tensors[0].elements == 640);
  CHECK(has_note(imported, "0.1 ms"));  // 20 + 30 + 50 us
}

TEST_CASE("B-Caffe: bad input") {
  const auto refused = [](const std::string& log) {
    return error_place([&] { import_text("bcaffe", log, halved()); });
  };
  CHECK(refused("") == "file");
  CHECK(refused(blob("0, 640, 0, 0")) == "file");
  CHECK(refused(blob("0, 640, 5")) == "file: line 1");
  CHECK(refused(blob("0, 640, 5, 1") + blob("1, 64, 5, 1, 1")) == "file: line 2");
  CHECK(refused(blob("0, 640, 5, 1") + blob("2, 64, 5, 1")) == "file: line 2");
  CHECK(refused(blob("1, 640, 5, 1")) == "file: line 1");
  CHECK(refused(blob("0, 640, -5, 1")) == "file: line 1");
  CHECK(refused(blob("0, 6.5, 5, 1")) == "file: line 1");
  CHECK(refused(blob("0, many, 5, 1")) == "file: line 1");
  CHECK(refused("x distributed.cpp:112] [0, 64, 5") == "file: line 1");
  CHECK(refused(blob("0, 64, 5, 1") + blob("1, 64, 5, 1") + blob("0, 64, 5, 1")) == "file: line 3");
  CHECK(error_place([] { import_text("bcaffe", blob("0, 64, 5, 1")); }) == "file");
}
