// The importers on files made by hand, where every number is known; the originals: tests/command/test_import.py.
#include <filesystem>
#include <fstream>
#include <zlib.h>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_message.hpp"
#include "tests/random_profile.hpp"

#include "sim/interchange/importers/importer.hpp"
#include "sim/workload/profile_file.hpp"
#include "sim/workload/trace_writer.hpp"

using namespace allreplay;

namespace {

const Place nowhere{"test", ""};

Imported import_text(const std::string& format, const std::string& text, ImportOptions options = {}) {
  ByteSource source("some/file." + format, text);
  return import_profile(find_importer(format, nowhere), source, options);
}

std::string complaint(const std::string& format, const std::string& text, const ImportOptions& options = {}) {
  return error_message([&] { import_text(format, text, options); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool any_contains(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(), [&](const auto& note) { return contains(note, part); });
}

ImportOptions batch(std::int64_t size) {
  ImportOptions options;
  options.batch_size = size;
  return options;
}

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("allreplay_importers_test_" + name);
}

Time us(double microseconds) { return to_time(microseconds * 1e-6); }

void check_same(const Profile& a, const Profile& b) {
  CHECK(a.model == b.model);
  CHECK(a.device == b.device);
  CHECK(a.framework == b.framework);
  CHECK(a.precision == b.precision);
  CHECK(a.source == b.source);
  CHECK(a.origin == b.origin);
  CHECK(a.batch_size == b.batch_size);
  REQUIRE(a.layers.size() == b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    CHECK(a.layers[i].name == b.layers[i].name);
    CHECK(a.layers[i].forward == b.layers[i].forward);
    CHECK(a.layers[i].backward == b.layers[i].backward);
  }
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].name == b.tensors[i].name);
    CHECK(a.tensors[i].elements == b.tensors[i].elements);
    CHECK(a.tensors[i].bytes == b.tensors[i].bytes);
    CHECK(a.tensors[i].layer == b.tensors[i].layer);
  }
}

// A trace of the PyTorch profiler, event by event. Times in microseconds; kernels carry the id of their operator.
class Kineto {
 public:
  Kineto& op(const std::string& name, double start, double duration, const std::string& args = "",
             const std::string& category = "cpu_op", const std::string& thread = "1") {
    return add(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 9, "tid": {}, "ts": {}, "dur": {}, "args": {{"External id": {}{}}}}})",
        category, name, thread, start, duration, ++id_, args.empty() ? "" : ", " + args));
  }
  Kineto& kernel(double duration, const std::string& name = "k") {
    return add(fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": 0, "dur": {}, "args": {{"External id": {}, "device": 0}}}})",
        name, duration, id_));
  }
  Kineto& add(const std::string& event) {
    events_ += (events_.empty() ? "" : ",\n") + event;
    return *this;
  }
  // Forward and backward of a linear layer (32x4 -> 8) and a relu from `at` on; autograd's numbers from `node`.
  Kineto& layer(double at, int node, double forward, double backward) {
    op("aten::linear", at, 10,
       fmt::format(R"("Input Dims": [[32, 4], [8, 4], [8]], "Sequence number": {}, "Fwd thread id": 0)", node));
    op("aten::addmm", at + 2, 4, fmt::format(R"("Sequence number": {}, "Fwd thread id": 0)", node)).kernel(forward);
    op("aten::relu", at + 20, 5, fmt::format(R"("Sequence number": {}, "Fwd thread id": 0)", node + 1)).kernel(1);
    const auto wrapped = [&](const std::string& name, double start, int number, double kernel_us) {
      const auto args = fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", number);
      op("autograd::engine::evaluate_function: " + name, start, 8, args, "cpu_op", "2");
      op(name, start + 1, 6, args, "cpu_op", "2");
      op("aten::mm", start + 2, 4, "", "cpu_op", "2").kernel(kernel_us);
    };
    wrapped("ReluBackward0", at + 400, node + 1, 2);
    wrapped("AddmmBackward0", at + 410, node, backward);
    gradient(at + 420, "8").gradient(at + 430, "8, 4");
    return *this;
  }
  Kineto& gradient(double at, const std::string& shape) {
    op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at, 8, "", "cpu_op", "2");
    return op("torch::autograd::AccumulateGrad", at + 1, 6,
              fmt::format(R"("Input Dims": [[{}]], "Input type": ["{}"])", shape, element_), "cpu_op", "2");
  }
  Kineto& step(int number, double start) {
    return op(fmt::format("ProfilerStep#{}", number), start, 999, "", "user_annotation");
  }
  Kineto& of(const std::string& element) {
    element_ = element;
    return *this;
  }
  std::string text() const {
    return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU", "numSms": 8}],
      "displayTimeUnit": "ms", "traceEvents": [)" +
           events_ + "]}";
  }

 private:
  std::string events_, element_ = "float";
  int id_ = 0;
};

}  // namespace

TEST_CASE("what the trace writer writes is read back the same") {
  Random random(6, 0);
  for (int round = 0; round < 300; ++round) {
    Profile profile = random_profile(random, 12);
    profile.device = "a \"quoted\" device\\\n";
    profile.framework = "\xC3\xA9t\xC3\xA9";
    profile.precision = round % 2 == 0 ? "bf16" : "tf32";
    profile.source = "test";
    profile.batch_size = static_cast<std::int64_t>(1 + random.below(1000));
    for (Tensor& tensor : profile.tensors) tensor.bytes = tensor.elements * *element_bytes(profile.precision);
    for (Layer& layer : profile.layers)  // all digits: up to 100 seconds, to the picosecond
      layer.forward = Time(static_cast<std::int64_t>(random.below(100'000'000'000'000)));
    const std::vector<std::string> notes{"one", "a \"second\""};
    check_same(parse_profile(trace_json(profile, notes), "x.json"), profile);
  }
}

TEST_CASE("gzip and plain files are read alike, and a cut one is an error") {
  std::string text = "layer,params,forward_us,backward_us\n";
  Random random(1, 0);
  for (int i = 0; i < 20'000; ++i) text += fmt::format("l{},{},{},1\n", i, random.below(1000), random.below(1000));
  const auto plain = temporary("plain.csv").string(), zipped = temporary("zipped.csv.gz").string();
  std::ofstream(plain, std::ios::binary) << text;
  const gzFile out = gzopen(zipped.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  CHECK(ByteSource(plain).rest() == text);
  CHECK(ByteSource(zipped).rest() == text);
  CHECK(ByteSource(zipped).head() == std::string_view(text).substr(0, ByteSource(zipped).head().size()));
  CHECK(contains(error_message([&] { ByteSource(plain).rest(1000); }), "has more than 1000 bytes"));
  const auto size = std::filesystem::file_size(zipped);
  for (const auto keep : {size - 1, size / 2, std::uintmax_t{40}}) {
    std::filesystem::resize_file(zipped, keep);
    INFO(keep);
    CHECK(contains(error_message([&] { ByteSource(zipped).rest(); }), "ends too early: it was cut"));
  }
}

TEST_CASE("names become text, and each stands once") {
  const auto imported = import_text(
      "pipedream",
      "node1 -- a\x01\xFF -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=4\n",
      batch(2));
  CHECK(imported.profile.layers[0].name == "node1:a??");
  ImportOptions options = batch(2);
  options.precision = "bf16";
  options.forward_ratio = 0.5;
  const auto table = import_text("csv", "layer,params,forward_us,backward_us\n,3,1,2\n x,0,,4\n", options).profile;
  CHECK(table.layers[0].name == "layer");
  CHECK(table.tensors[0].bytes == 6);
  CHECK(table.forward() == us(3));
  CHECK(table.origin == Origin::Imported);
  CHECK(table.source == "file.csv (csv)");
  CHECK(contains(complaint("csv", "layer,params,forward_us,backward_us\na,3,1,2\n"), "give --batch B"));
  CHECK(contains(complaint("csv", "layer,params,forward_us,backward_us\na,0,1,2\n", batch(1)), "has no parameters"));
  CHECK(contains(complaint("csv", "layer,params,forward_us,backward_us\na,1,0,0\n", batch(1)), "time is zero"));
  CHECK(contains(complaint("csv", "layer,params,forward_us,backward_us\n", batch(1)), "has no layers"));
}

TEST_CASE("every format is recognised, and no other") {
  const auto format = [](const std::string& text) { return recognise(ByteSource("file", text)).name; };
  CHECK(format("layer,params,forward_us,backward_us\n") == "csv");
  CHECK(format(Kineto().text()) == "kineto");
  CHECK(format("node3 -- ReLU -- forward_compute_time=1.0, ") == "pipedream");
  CHECK(contains(error_message([&] { format("{\"a\": 1}"); }), "looks like no format that can be imported"));
  CHECK(contains(error_message([&] { format(""); }), "is empty"));
  CHECK(contains(error_message([&] { find_importer("kinetto", nowhere); }), "did you mean 'kineto'?"));
}

namespace {

// A diamond, listed backwards: 1 -> 2 -> (3, 10) -> 4. The least forward time without parameters is node10's 0.25 ms.
const std::string graph =
    "node4 -- Linear(in_features=4, out_features=2, bias=True) -- forward_compute_time=1.250, "
    "backward_compute_time=2.500, activation_size=8.0, parameter_size=40.000\n"
    "node10 -- Add -- forward_compute_time=0.250, backward_compute_time=0.5, activation_size=[1.0; 2.0], "
    "parameter_size=0.000\n"
    "node2 -- Conv2d(3, 4, kernel_size=(1, 1)) -- forward_compute_time=0.200, backward_compute_time=3.000, "
    "activation_size=8.0, parameter_size=48.0 -- stage_id=0\n"
    "node1 -- Input -- forward_compute_time=18.000, backward_compute_time=0.000, activation_size=8.0, "
    "parameter_size=0\n"
    "node3 -- __getitem__(0) -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=8.0, "
    "parameter_size=0.000\n"
    "\tnode10 -- node4\n\tnode3 -- node4\n\tnode1 -- node2\n\tnode2 -- node10\n\tnode2 -- node3\n";

}  // namespace

TEST_CASE("a PipeDream graph is ordered, and its fixed cost subtracted") {
  const Imported imported = import_text("pipedream", graph, batch(128));
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 4);  // without Input
  CHECK(profile.layers[0].name == "node2:Conv2d");
  CHECK(profile.layers[1].name == "node3:__getitem__");  // before node10: as numbers, not as text
  CHECK(profile.layers[2].name == "node10:Add");
  CHECK(profile.layers[3].name == "node4:Linear");
  CHECK(profile.layers[0].forward == Time(0));  // 200 us < 250 us: not below zero
  CHECK(profile.layers[1].forward == Time(0));  // was never timed
  CHECK(profile.layers[3].forward == us(1000));
  CHECK(profile.backward() == us(6000));
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[0].elements == 12);  // 48 bytes of fp32
  CHECK(profile.tensors[1].layer == 3);
  CHECK(any_contains(imported.notes, "1 input node (18 ms of loading data)"));
  CHECK(any_contains(imported.notes, "subtracted: 250 us from each of 3 forward times (700 us in all)"));
  CHECK(any_contains(imported.notes, "stage_id"));

  ImportOptions keep = batch(128);
  keep.keep_overhead = true;
  CHECK(import_text("pipedream", graph, keep).profile.forward() == us(1700));
}

TEST_CASE("a PipeDream graph that is none") {
  const auto with = [](std::string text, const std::string& old, const std::string& fresh) {
    REQUIRE(contains(text, old));
    return text.replace(text.find(old), old.size(), fresh);
  };
  CHECK(contains(complaint("pipedream", graph + "\tnode4 -- node2\n", batch(1)), "is on a cycle, or behind one"));
  CHECK(
      contains(complaint("pipedream", graph + "\tnode4 -- node77\n", batch(1)), "line 11: there is no node 'node77'"));
  CHECK(contains(complaint("pipedream", graph + "hello\n", batch(1)), "line 11: is neither a node nor an edge"));
  // Cut after the nodes: nothing joins them.
  CHECK(contains(complaint("pipedream", graph.substr(0, graph.find("\n\t") + 1), batch(1)), "no edge joins 'node"));
  CHECK(contains(complaint("pipedream", with(graph, "1.250", "-1.250"), batch(1)),
                 "line 1: -1250 us is not a measured time"));
  CHECK(contains(complaint("pipedream", with(graph, "1.250", "nan"), batch(1)), "line 1"));
  CHECK(contains(complaint("pipedream", with(graph, "2.500", "3600001"), batch(1)), "0 to 3.6e9 us (an hour)"));
  CHECK(contains(complaint("pipedream", with(graph, "parameter_size=40.000", "parameter_size=41.000"), batch(1)),
                 "10.25 is not a number of parameters"));
  CHECK(
      contains(complaint("pipedream", with(graph, ", parameter_size=40.000", ""), batch(1)), "has no parameter_size="));
  CHECK(contains(complaint("pipedream", graph + graph.substr(0, graph.find('\n')), batch(1)), "a second node 'node4'"));
}

TEST_CASE("a model gives the layers its names and tensors, if they are its own") {
  ImportOptions options = batch(1);
  options.match =
      Model{"m", {{"c", {{"c.weight", {12}, 12}}}, {"relu", {}}, {"f", {{"f.weight", {8}, 8}, {"f.bias", {2}, 2}}}}};
  const Profile profile = import_text("pipedream", graph, options).profile;
  CHECK(profile.model == "m");
  CHECK(profile.layers[0].name == "c");
  CHECK(profile.layers[3].name == "f");
  REQUIRE(profile.tensors.size() == 3);
  CHECK(profile.tensors[2].name == "f.bias");
  CHECK(profile.tensors[2].layer == 3);
  options.match->layers[2].tensors[0].elements = 9;
  CHECK(contains(complaint("pipedream", graph, options),
                 "the layer 'node4:Linear' has 10 parameters where 'f' of the model 'm' has 11"));
  options.match->layers.pop_back();
  CHECK(contains(complaint("pipedream", graph, options), "no layer of the model 'm' is left"));
  options.match->layers = {{"c", {{"w", {12}, 12}}}, {"f", {{"x", {10}, 10}}}, {"g", {{"y", {1}, 1}}}};
  CHECK(contains(complaint("pipedream", graph, options), "has no layer for 'g'"));
}

TEST_CASE("kernels of a PyTorch trace find their layers") {
  Kineto trace;
  trace.op("aten::copy_", 5, 2).kernel(50, "Memcpy");  // before the first layer
  trace.layer(10, 1, 100, 200).layer(50, 3, 300, 400);
  trace.op("Optimizer.step#SGD.step", 900, 90, "", "user_annotation").op("aten::add_", 910, 5).kernel(7);
  trace.op("nccl:all_reduce", 890, 5, R"("Input Dims": [[9]])", "cpu_op", "2").kernel(11, "ncclDevKernel_AllReduce");
  const Imported imported = import_text("kineto", trace.step(3, 0).text());
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "linear");
  CHECK(profile.layers[1].name == "linear#2");
  CHECK(profile.layers[0].forward == us(101));  // with its relu
  CHECK(profile.layers[0].backward == us(202));
  CHECK(profile.layers[1].forward == us(301));
  CHECK(profile.layers[1].backward == us(402));
  REQUIRE(profile.tensors.size() == 4);
  CHECK(profile.tensors[0].elements == 32);  // the weight: its gradient was ready last
  CHECK(profile.tensors[1].elements == 8);
  CHECK(profile.tensors[2].layer == 1);
  CHECK(profile.batch_size == 32);
  CHECK(profile.device == "a GPU");
  CHECK(profile.precision == "fp32");
  CHECK(any_contains(imported.notes, "50 us an iteration of before the first layer"));
  CHECK(profile.update == us(7));
  CHECK(any_contains(imported.notes, "the update: 7 us an iteration of the optimizer"));
  CHECK(any_contains(imported.notes, "11 us an iteration of communication (NCCL)"));
  CHECK(any_contains(imported.notes, "a step lasted 999 us"));
}

TEST_CASE("the last operator to note a number made its node") {
  // As batch norm does: its count of batches, which has no gradient, is increased before the operator that has one.
  Kineto trace;
  trace.layer(10, 1, 100, 200).op("aten::add_", 45, 2, R"("Sequence number": 3, "Fwd thread id": 0)").kernel(6);
  const Profile profile = import_text("kineto", trace.layer(50, 3, 300, 400).text()).profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[1].name == "linear#2");
  CHECK(profile.layers[0].forward == us(107));
  CHECK(profile.layers[1].forward == us(301));
}

TEST_CASE("half precision is read off the gradients") {
  CHECK(import_text("kineto", Kineto().of("c10::BFloat16").layer(10, 1, 1, 1).text()).profile.bytes() == 80);
  CHECK(import_text("kineto", Kineto().of("c10::Half").layer(10, 1, 1, 1).text()).profile.precision == "fp16");
}

TEST_CASE("times are means over whole steps") {
  Kineto trace;
  trace.step(1, 0)
      .layer(10, 1, 100, 200)
      .step(2, 1000)
      .layer(1010, 11, 110, 210)
      .step(3, 2000)
      .layer(2010, 21, 120, 250);
  // The window closed before the kernels of the last step's backward pass had run.
  trace.step(4, 3000).op("aten::linear", 3010, 10, R"("Sequence number": 31, "Fwd thread id": 0)").kernel(100);
  const Imported imported = import_text("kineto", trace.text());
  CHECK(imported.profile.layers[0].forward == us(111));   // (101 + 111 + 121) / 3
  CHECK(imported.profile.layers[0].backward == us(222));  // (202 + 212 + 252) / 3
  CHECK(any_contains(imported.notes, "means over 3 of 4 steps"));
}

TEST_CASE("a kernel without an external id is found through its launch") {
  Kineto trace;
  trace.layer(10, 1, 100, 200);
  trace.add(
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 13.5, "dur": 1, "args": {"correlation": 5}})");
  trace.add(
      R"({"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "ts": 0, "dur": 1000.5, "args": {"correlation": 5}})");
  trace.add(R"({"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "ts": 0, "dur": 9, "args": {"correlation": 6}})");
  const Imported imported = import_text("kineto", trace.text());
  CHECK(imported.profile.forward() == us(1101.5));
  CHECK(any_contains(imported.notes, "9 us of kernels that no recorded operator launched"));
  CHECK(any_contains(imported.notes, "no ProfilerStep"));
}

TEST_CASE("modules name the layers") {
  Kineto trace;
  const auto module = [&](const std::string& name, double start, double duration) {
    trace.add(fmt::format(
        R"({{"ph": "X", "cat": "python_function", "name": "{}", "tid": 1, "ts": {}, "dur": {}, "args": {{}}}})", name,
        start, duration));
  };
  module("nn.Module: Net_0", 1, 300);
  module("nn.Module: Linear_0", 9, 12);
  module("torch/nn/modules/linear.py(114): forward", 9.5, 11);
  const Profile profile = import_text("kineto", trace.layer(10, 1, 1, 1).text()).profile;
  CHECK(profile.layers[0].name == "Linear_0");
}

TEST_CASE("times since 1970 keep their nanoseconds") {
  // 1623142623460111.125 us has more digits than a double: a span that ends where the next starts must not nest.
  Kineto trace;
  const double base = 0;
  std::string text = trace.layer(base + 10, 1, 100, 200).text();
  for (std::size_t at = 0; (at = text.find("\"ts\": ", at)) != std::string::npos;) {
    at += 6;
    if (text[at] == '0') continue;
    const std::size_t end = text.find(',', at);
    text.replace(at, end - at, fmt::format("1623142623{:06}.125", std::stoi(text.substr(at, end - at))));
  }
  CHECK(import_text("kineto", text).profile.forward() == us(101));
}

TEST_CASE("a rounded span that outlasts its parent holds nothing of the next") {
  Kineto trace;
  const auto rounded = [&](const std::string& name, double start, double duration, int node, double kernel) {
    trace.op(name, start, duration, fmt::format(R"("Sequence number": {}, "Fwd thread id": 0)", node)).kernel(kernel);
  };
  trace.layer(10, 1, 100, 200);         // its linear operator lasts from 10 to 20
  rounded("aten::inner", 17, 4, 1, 5);  // inside, and to 21
  rounded("aten::linear", 20, 9, 3, 300);
  const auto node = R"("Sequence number": 3, "Fwd thread id": 1)";
  trace.op("AddmmBackward0", 390, 8, node, "cpu_op", "2").kernel(400).gradient(400, "6");
  const Profile profile = import_text("kineto", trace.text()).profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].forward == us(105));
  CHECK(profile.layers[1].forward == us(301));  // with the relu, which starts at 30
  CHECK(profile.layers[1].backward == us(402));
}

TEST_CASE("a PyTorch trace that is none") {
  const std::string good = Kineto().layer(10, 1, 100, 200).text();
  const auto with = [&](const std::string& old, const std::string& fresh) {
    std::string text = good;
    REQUIRE(contains(text, old));
    return text.replace(text.find(old), old.size(), fresh);
  };
  CHECK(contains(complaint("kineto", good.substr(0, good.size() / 2)), "not valid JSON"));
  CHECK(contains(complaint("kineto", "[]"), "has no list traceEvents"));
  CHECK(contains(complaint("kineto", R"({"traceEvents": []})"), "has no GPU kernels"));
  CHECK(contains(complaint("kineto", with("\"dur\": 100,", "\"dur\": -100,")),
                 "/traceEvents/2/dur: -100 us is not a measured time"));
  CHECK(contains(complaint("kineto", with("\"dur\": 100,", "\"dur\": 3.7e9,")), "0 to 3.6e9 us (an hour)"));
  CHECK(contains(complaint("kineto", with("\"dur\": 100,", "\"dur\": NaN,")), "is not a measured time"));
  CHECK(contains(complaint("kineto", with("\"dur\": 100,", "\"dur\": \"x\",")), "x us is not a measured time"));
  CHECK(contains(complaint("kineto", with("\"Input Dims\": [[8]]", "\"x\": 0")),
                 "does not say the shape of a gradient of linear"));
  std::string deep = R"({"traceEvents": )" + std::string(100'000, '[');
  CHECK(contains(complaint("kineto", deep), "brackets stand too deep"));
  Kineto forward;
  forward.op("aten::linear", 10, 5, R"("Sequence number": 1, "Fwd thread id": 0)").kernel(5);
  CHECK(contains(complaint("kineto", forward.text()), "has no backward pass"));
  // A backward pass on the CPU's side, and not one kernel of it.
  std::string silent = good;
  for (const std::string kernel : {R"("dur": 200,)", R"("dur": 2,)"}) {
    REQUIRE(contains(silent, kernel));
    silent.replace(silent.find(kernel), kernel.size(), R"("dur": 0,)");
  }
  CHECK(contains(complaint("kineto", silent), "has no kernels of a backward pass"));
}

TEST_CASE("a trace that is no JSON is refused at its byte, however far into the file that is") {
  const std::string start = R"({"traceEvents": [)";  // 17 characters: bytes 0 to 16
  CHECK(complaint("kineto", start + "x").starts_with("some/file.kineto: byte 17: "));
  CHECK(complaint("kineto", start + std::string(200'000, ' ') + "x").starts_with("some/file.kineto: byte 200017: "));
}
