#include <cstdlib>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/workload/model.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/inputs/workload/profile_writer.hpp"

using namespace allreplay;

namespace {

std::string temporary(const std::string& name, const std::string& text) {
  static const OwnFolder folder;
  folder.write(name, text);
  return folder(name);
}

const std::string trace = R"({"model": {"name": "m", "layers": [
    {"name": "conv", "tensors": [{"name": "conv.w", "shape": [2, 3]}, {"name": "conv.b", "shape": [2]}]},
    {"name": "fc", "tensors": [{"name": "fc.w", "shape": [5]}]}]},
  "device": "d", "framework": "f", "batch_size": 8, "precision": "bf16", "origin": "measured", "source": "s", "unit": "us",
  "layers": [{"name": "conv", "forward": 1.5, "backward": 3}, {"name": "relu", "forward": 0.25, "backward": 0.5},
             {"name": "fc", "forward": 2, "backward": 4}]})";

}  // namespace

TEST_CASE("a trace joins times and tensors by layer") {
  const Profile profile = read_profile(Files(), temporary("trace.json", trace));
  CHECK(profile.model == "m");
  CHECK(profile.batch_size == 8);
  CHECK(profile.origin == Origin::Measured);
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.forward() == to_time(3.75e-6));
  CHECK(profile.backward() == to_time(7.5e-6));
  REQUIRE(profile.tensors.size() == 3);
  CHECK(profile.tensors[0].bytes == 12);  // 2·3 elements of two bytes (bf16)
  CHECK(profile.tensors[1].layer == 0);
  CHECK(profile.tensors[2].layer == 2);
}

TEST_CASE("a layer of the model without times is a tensor without a layer") {
  std::string text = trace;
  text.replace(text.find("\"fc\", \"forward\""), 4, "\"fd\"");
  const std::string file = temporary("missing.json", text);
  CHECK(error_place([&] { read_profile(Files(), file); }) == file + ": /layers");
}

TEST_CASE("a trace may have update, tokens, operations, groups and activations, and its writer keeps them") {
  std::string text = trace;
  text.replace(text.find("measured"), 8, "estimated");
  text.replace(text.find("\"us\","), 5,
               "\"us\", \"update\": 2.5, \"tokens_per_sample\": 128, \"flops_per_sample\": 1.5e14, "
               "\"recompute\": \"selective\", \"parallel\": {\"tp\": 2, \"ep\": 4},");
  text.replace(text.find("\"backward\": 3}"), 14,
               "\"backward\": 3, \"group\": \"g\", \"activation_bytes\": 7, \"expert\": true}");
  const Profile profile = parse_profile(Files(), text, "m.json");
  for (const Profile& one : {profile, parse_profile(Files(), profile_json(profile), "m.json")}) {
    CHECK(one.origin == Origin::Estimated);
    CHECK(one.update == to_time(2.5e-6));
    CHECK(one.tokens_per_sample == 128);
    CHECK(one.flops_per_sample == 1.5e14);
    CHECK(one.recompute == "selective");
    CHECK(one.degrees == ProfileDegrees{2, 1, 4});
    CHECK(one.layers[0].expert);
    CHECK_FALSE(one.layers[1].expert);
    CHECK(one.layers[0].group == "g");
    CHECK(one.layers[0].activation_bytes == 7);
    CHECK(one.layers[1].group.empty());
    CHECK_FALSE(one.layers[1].activation_bytes.has_value());
  }
  CHECK(slowed(profile, 2).update == to_time(5e-6));  // the update is computing, too
  const auto refused = [&](const std::string& right, const std::string& wrong) {
    std::string other = text;
    other.replace(other.find(right), right.size(), wrong);
    return error_place([&] { parse_profile(Files(), other, "m.json"); });
  };
  CHECK(refused("2.5,", "-1,") == "m.json: /update");
  CHECK(refused("128,", "0,") == "m.json: /tokens_per_sample");
  CHECK(refused("1.5e14,", "0,") == "m.json: /flops_per_sample");
  CHECK(refused("selective", "some") == "m.json: /recompute");
  CHECK(refused("\"ep\": 4", "\"ep\": 0") == "m.json: /parallel/ep");
}

TEST_CASE("a model or a trace freezes layers, and the trace decides") {
  const auto with = [](const std::string& model, const std::string& layer) {
    std::string text = trace;
    text.replace(text.find("{\"name\": \"fc\", \"tensors\""), 14, "{\"name\": \"fc\", " + model);
    text.replace(text.find("\"backward\": 4}"), 14, "\"backward\": 4" + layer + "}");
    return text;
  };
  const auto read = [&](const std::string& text) { return parse_profile(Files(), text, "m.json"); };
  CHECK_FALSE(read(trace).has_frozen());
  for (const std::string& text : {with("", ", \"frozen\": true"), with("\"frozen\": true, ", ""),
                                  profile_json(read(with("\"frozen\": true, ", "")))}) {
    const Profile profile = read(text);
    CHECK(profile.has_frozen());
    CHECK(profile.is_frozen(2));
    CHECK_FALSE(profile.is_frozen(0));
    CHECK(profile.bytes() == 2 * 8);  // conv's 6 + 2 elements
    CHECK(profile.elements() == 8);
    CHECK(profile.elements_with_frozen() == 13);
    CHECK(profile.has_gradients() == std::vector<bool>{true, false, false});
    CHECK(profile.weight_times() == std::vector<Time>{to_time(1.5e-6), Time(0), Time(0)});
    CHECK(profile.needs_backward(2, 2));  // it takes time
  }
  CHECK_FALSE(read(with("\"frozen\": true, ", ", \"frozen\": false")).has_frozen());
  std::string all = with("", ", \"frozen\": true");
  all.replace(all.find("\"backward\": 3}"), 14, "\"backward\": 3, \"frozen\": true}");
  CHECK(error_place([&] { read(all); }) == "m.json: /layers");
  std::string tied = with("", ", \"frozen\": true");
  tied.replace(tied.find("\"us\","), 5, "\"us\", \"tied\": [\"conv.b\", \"fc.w\"],");
  tied.replace(tied.find("[5]"), 3, "[2]");
  CHECK(error_place([&] { read(tied); }) == "m.json: /tied");
}

TEST_CASE("a trace is written with its model's shapes and counts if the model is given") {
  const Model model = read_model(Json::parse(
      R"({"name": "m", "input": "3x8x8", "layers": [{"name": "c", "forward_macs": 6, "activation_bytes": 8,
          "tensors": [{"name": "c.w", "shape": [2, 3]}]}]})",
      "m.json"));
  Profile profile = parse_profile(Files(), "layer,params,forward_us,backward_us\nc,6,1,2\n", "m.csv");
  profile.batch_size = 1;
  const Json written = Json::parse(profile_json(profile, {}, &model), "t.json");
  const Model read = read_model(written.at("model"));
  CHECK(read.input == "3x8x8");
  CHECK(read.layers[0].forward_macs == 6);
  CHECK(read.layers[0].activation_bytes == 8);
  CHECK(read.layers[0].tensors[0].shape == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("a CSV has one fp32 tensor per row with parameters") {
  const std::string file =
      temporary("t.csv", "layer,params,forward_us,backward_us,extra\nc1,10,1,2,x\npool,0,3,4,y\n\"f,c\",5,5,6,z\n");
  const Profile profile = read_profile(Files(), file);
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[1].name == "f,c");
  CHECK(profile.tensors[1].bytes == 20);
  CHECK(profile.tensors[1].layer == 2);
  CHECK(!profile.batch_size);
  CHECK(read_profile(Files(), file, 0.5).forward() == to_time(6e-6));  // a given ratio sets every layer's forward time
}

TEST_CASE("a misspelt CSV column is reported with the right name") {
  const auto read = [](const std::string& more) {
    parse_profile(Files(), "layer,params,forward_us,backward_us," + more + "\na,8,1,2,8\n", "t.csv");
  };
  CHECK(error_place([&] { read("tensor"); }) == "t.csv: line 1");
  CHECK(error_place([&] { read("update_ms"); }) == "t.csv: line 1");
  CHECK_NOTHROW(read("activation_bytes"));
  CHECK_NOTHROW(read("forward_ms"));  // similar to forward_us
}

TEST_CASE("a CSV may have tensors, the update and groups") {
  const std::string header = "layer,params,tensors,forward_us,backward_us,update_us,group\n";
  const std::string text = header + "a,8,2x3;2,1,2,1.5,g\nb,5,,3,4,,g\nc,0,,5,6,0.25,\nd,4, 4 ,5,6,,\n";
  const Profile profile = parse_profile(Files(), text, "t.csv");
  REQUIRE(profile.tensors.size() == 4);  // 2·3 + 2 of a, all of b, none of c, all of d
  CHECK(profile.tensors[0].name == "a");
  CHECK(profile.tensors[0].bytes == 24);
  CHECK(profile.tensors[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(profile.tensors[1].name == "a#2");
  CHECK(profile.tensors[1].elements == 2);
  CHECK(profile.tensors[1].layer == 0);
  CHECK(profile.tensors[2].elements == 5);
  CHECK(profile.tensors[2].shape.empty());  // not given
  CHECK(profile.tensors[3].shape == std::vector<std::int64_t>{4});
  CHECK(profile.update == to_time(1.75e-6));  // of the rows that say one: 1.5 + 0.25
  CHECK(profile.layers[1].group == "g");
  CHECK(profile.layers[2].group.empty());
  const Profile named = parse_profile(Files(), header + "a,8,a.w=2x3;2,1,2,,\n", "t.csv");
  CHECK(named.tensors[0].name == "a.w");
  CHECK(named.tensors[1].name == "a#2");
  CHECK_FALSE(named.update.has_value());

  // The trace's writer keeps the shapes: that of b is what it holds.
  Profile kept = profile;
  kept.batch_size = 1;
  const Model model = read_model(Json::parse(profile_json(kept), "t.json").at("model"));
  CHECK(model.layers[0].tensors[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(model.layers[1].tensors[0].shape == std::vector<std::int64_t>{5});

  const auto refused = [&](const std::string& row) {
    return error_place([&] { parse_profile(Files(), header + "z,1,,1,1,,\n" + row + "\n", "t.csv"); });
  };
  CHECK(refused("a,8,2x3,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,2x3;3,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,0,1,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,1000000x1000000x1000000,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,8y,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,2xx4,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,8;,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,8x0,1,2,,") == "t.csv: line 3: tensors");
  CHECK(refused("a,8,8,1,2,-1,") == "t.csv: line 3: update_us");
  CHECK(refused("a,8,8,1,2,x,") == "t.csv: line 3: update_us");
}

TEST_CASE("a blank forward time needs the ratio") {
  const std::string file = temporary("b.csv", "layer,params,forward_us,backward_us\nc1,10,,2\n");
  CHECK(error_place([&] { read_profile(Files(), file); }) == file + ": line 2: forward_us");
  CHECK(read_profile(Files(), file, 0.5).forward() == to_time(1e-6));
}

TEST_CASE("every shipped model and trace is read") {
  for (const std::string& name : Files().list_data("models")) {
    INFO(name);
    CHECK(read_model(Json::read(Files(), Files().find_data("models", name, "model"))).name == name);
  }
  for (const std::string& name : Files().list_data("traces")) {
    INFO(name);
    CHECK(read_profile(Files(), name).name == name);
  }
}

TEST_CASE("the real profiles are read, with the parameters that the models have") {
  const char* const reference = std::getenv("ALLREPLAY_REFERENCE_DATA");  // ctest sets it
  const std::string folder = std::string(reference ? reference : "") + "/profiles/";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no published profiles in '" << folder << "' (ALLREPLAY_REFERENCE_DATA)");
    return;
  }
  const Profile kineto = read_profile(Files(), folder + "resnet50_v100dgxs_b32_kineto.csv");
  CHECK(kineto.bytes() == 4 * 25'557'032);
  CHECK(to_seconds(kineto.backward()) == Approx(64.4354e-3));
  const Profile espresso = read_profile(Files(), folder + "resnet50_v100_b32_espresso_pertensor.csv", 0.5);
  CHECK(espresso.tensors.size() == 161);
  CHECK(espresso.bytes() == kineto.bytes());
}
