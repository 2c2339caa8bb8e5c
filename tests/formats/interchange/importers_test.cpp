// The importers on small hand-written files, in which every number is known; the original files:
// tests/programs/command/test_import.py.
#include <filesystem>
#include <fstream>
#include <regex>
#include <zlib.h>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"
#include "tests/random_profile.hpp"

#include "sim/base/core/file.hpp"
#include "sim/formats/interchange/gzip.hpp"
#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/overlap.hpp"
#include "sim/formats/interchange/importers/ranks.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/inputs/workload/profile_writer.hpp"

using namespace allreplay;

namespace importers_test {

namespace {

const SourceLocation nowhere{"test", ""};

Imported import_text(const std::string& format, const std::string& text, ImportOptions options = {}) {
  ByteSource source("some/file." + format, text);
  return import_profile(find_importer(format, nowhere), source, options);
}

std::string complaint(const std::string& format, const std::string& text, const ImportOptions& options = {}) {
  return error_place([&] { import_text(format, text, options); });
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
  // A kernel that ran from `start` on, of a launch of one block; of the operator before it.
  Kineto& ran(double start, double duration, const std::string& name, const std::string& args = "") {
    return add(fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {}, "args": {{"External id": {}, "device": 0, "grid": [1, 1, 1], "block": [32, 1, 1]{}}}}})",
        name, start, duration, id_, args.empty() ? "" : ", " + args));
  }
  Kineto& annotation(const std::string& name, double start, double duration, const std::string& thread = "1") {
    return op(name, start, duration, "", "user_annotation", thread);
  }
  // A node of the backward pass, up to 8 us long.
  Kineto& node(const std::string& name, double start, int number) {
    const auto args = fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", number);
    op("autograd::engine::evaluate_function: " + name, start, 8, args, "cpu_op", "2");
    return op(name, start + 1, 6, args, "cpu_op", "2");
  }
  Kineto& rank_workers(int rank, int workers) {
    job_ = fmt::format(
        R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}, "pg_config": [{{"rank": 7}}]}},)",
        rank, workers);
    return *this;
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
      "displayTimeUnit": "ms", )" +
           job_ + R"("traceEvents": [)" + events_ + "]}";
  }

 private:
  std::string events_, element_ = "float", job_;
  int id_ = 0;
};

}  // namespace

TEST_CASE("the trace writer's output is read back unchanged") {
  Random random(6, 0);
  for (int round = 0; round < 300; ++round) {
    Profile profile = random_profile(random, 12);
    profile.device = "a \"quoted\" device\\";
    profile.framework = "\xC3\xA9t\xC3\xA9";
    profile.precision = round % 2 == 0 ? "bf16" : "tf32";
    profile.source = "test";
    profile.batch_size = static_cast<std::int64_t>(1 + random.below(1000));
    for (Tensor& tensor : profile.tensors) tensor.bytes = tensor.elements * *element_bytes(profile.precision);
    for (Layer& layer : profile.layers)  // all digits: up to 100 seconds, to the picosecond
      layer.forward = Time(static_cast<std::int64_t>(random.below(100'000'000'000'000)));
    const std::vector<std::string> notes{"one", "a \"second\""};
    check_same(parse_profile(Files(), profile_json(profile, notes), "x.json"), profile);
  }
}

TEST_CASE("a file that can be opened but not read is an error") {
  const std::string file = "/proc/self/mem";  // no program has memory at address 0
  if (std::filesystem::exists(file)) CHECK(error_place([&] { ByteSource(Files(), file).rest(); }) == file);
}

TEST_CASE("gzip and plain files give the same result, and a truncated one is an error") {
  std::string text = "layer,params,forward_us,backward_us\n";
  Random random(1, 0);
  for (int i = 0; i < 20'000; ++i) text += fmt::format("l{},{},{},1\n", i, random.below(1000), random.below(1000));
  const OwnFolder folder;
  const auto plain = folder("plain.csv"), zipped = folder("zipped.csv.gz");
  std::ofstream(plain, std::ios::binary) << text;
  const gzFile out = gzopen(zipped.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  CHECK(ByteSource(Files(), plain).rest() == text);
  CHECK(ByteSource(Files(), zipped).rest() == text);
  CHECK(ByteSource(Files(), zipped).head() ==
        std::string_view(text).substr(0, ByteSource(Files(), zipped).head().size()));
  CHECK(error_place([&] { ByteSource(Files(), plain).rest(1000); }) == plain);
  const auto size = std::filesystem::file_size(zipped);
  for (const auto keep : {size - 1, size / 2, std::uintmax_t{40}}) {
    std::filesystem::resize_file(zipped, keep);
    INFO(keep);
    CHECK(error_place([&] { ByteSource(Files(), zipped).rest(); }) == zipped);
  }
}

TEST_CASE("compressed text is read back; a gzip file may be followed by another, and by zeros") {
  std::string text;
  Random random(2, 0);
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{} ", random.below(1'000'000'000));
  REQUIRE(text.size() > 400'000);  // pieces have 65536 bytes
  const OwnFolder folder;
  const auto file = folder("text.gz");
  const auto read = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return ByteSource(Files(), file).rest();
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, text.size()}) {
    const std::string part = text.substr(0, length), whole = gzipped(part);
    INFO(length);
    CHECK(read(whole) == part);
    CHECK(read(whole + whole) == part + part);
    CHECK(read(whole + std::string(100'000, '\0')) == part);
    for (const std::string& behind : {std::string("x"), std::string(1000, '\0') + "x", std::string("\0x", 2)})
      CHECK(error_place([&] { read(whole + behind); }) == file);
  }
  std::string damaged = gzipped(text);
  damaged[damaged.size() - 8] ^= 1;  // of the checksum, which stands before the length
  CHECK(error_place([&] { read(damaged); }) == file);
}

TEST_CASE("names become text, and each is stored once") {
  ImportOptions options = batch(2);
  options.precision = "bf16";
  options.forward_ratio = 0.5;
  const auto table = import_text("csv", "layer,params,forward_us,backward_us\n,3,1,2\n x,0,,4\n", options).profile;
  CHECK(table.layers[0].name == "layer");
  CHECK(table.tensors[0].bytes == 6);
  CHECK(table.forward() == us(3));
  CHECK(table.origin == Origin::Imported);
  CHECK(table.source == "file.csv (csv)");
  options.source = "a lab,\nlast year";
  CHECK(import_text("csv", "layer,params,forward_us,backward_us\na,3,1,2\n", options).profile.source ==
        "a lab, last year");
  CHECK(complaint("csv", "layer,params,forward_us,backward_us\na,3,1,2\n") == "some/file.csv");
  CHECK(complaint("csv", "layer,params,forward_us,backward_us\na,0,1,2\n", batch(1)) == "some/file.csv");
  CHECK(complaint("csv", "layer,params,forward_us,backward_us\na,1,0,0\n", batch(1)) == "some/file.csv");
  CHECK(complaint("csv", "layer,params,forward_us,backward_us\n", batch(1)) == "some/file.csv");
}

TEST_CASE("every format is recognised, and no other") {
  const auto format = [](const std::string& text) { return recognise(ByteSource("file", text)).name; };
  CHECK(format("layer,params,forward_us,backward_us\n") == "csv");
  CHECK(format(Kineto().text()) == "kineto");
  CHECK(error_place([&] { format("{\"a\": 1}"); }) == "file");
  CHECK(error_place([&] { format(""); }) == "file");
  CHECK(error_place([&] { find_importer("kinetto", nowhere); }) == "test");
}

TEST_CASE("a model gives the layers its names and tensors, if they are its own") {
  const std::string table = "layer,params,forward_us,backward_us\nconv,12,1,2\nrelu,0,1,2\nadd,0,1,2\nlinear,10,1,2\n";
  ImportOptions options = batch(1);
  options.match =
      Model{"m", {{"c", {{"c.weight", {12}, 12}}}, {"relu", {}}, {"f", {{"f.weight", {8}, 8}, {"f.bias", {2}, 2}}}}};
  const Profile profile = import_text("csv", table, options).profile;
  CHECK(profile.model == "m");
  CHECK(profile.layers[0].name == "c");
  CHECK(profile.layers[3].name == "f");
  REQUIRE(profile.tensors.size() == 3);
  CHECK(profile.tensors[2].name == "f.bias");
  CHECK(profile.tensors[2].layer == 3);
  options.match->layers[2].tensors[0].elements = 9;
  CHECK(complaint("csv", table, options) == "some/file.csv");
  options.match->layers.pop_back();
  CHECK(complaint("csv", table, options) == "some/file.csv");
  options.match->layers = {{"c", {{"w", {12}, 12}}}, {"f", {{"x", {10}, 10}}}, {"g", {{"y", {1}, 1}}}};
  CHECK(complaint("csv", table, options) == "some/file.csv");
}

TEST_CASE("kernels of a PyTorch trace find their layers") {
  Kineto trace;
  trace.op("aten::copy_", 5, 2).kernel(50, "Memcpy");  // before the first layer
  trace.layer(10, 1, 100, 200).layer(50, 3, 300, 400);
  trace.op("Optimizer.step#SGD.step", 900, 90, "", "user_annotation").op("aten::add_", 910, 5).kernel(7);
  trace.op("aten::argmax", 80, 5).kernel(13);  // no gradient comes from it, nor from anything behind it
  trace.op("nccl:all_reduce", 890, 5, R"("Input Dims": [[9]])", "cpu_op", "2").kernel(11, "ncclDevKernel_AllReduce");
  const Imported imported = import_text("kineto", trace.step(3, 0).text());
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "linear");
  CHECK(profile.layers[1].name == "linear#2");
  CHECK(profile.layers[0].forward == us(101));  // with its relu
  CHECK(profile.layers[0].backward == us(202));
  CHECK(profile.layers[1].forward == us(301));  // without the argmax
  CHECK(profile.layers[1].backward == us(402));
  REQUIRE(profile.tensors.size() == 4);
  CHECK(profile.tensors[0].elements == 32);  // the weight: its gradient was ready last
  CHECK(profile.tensors[1].elements == 8);
  CHECK(profile.tensors[2].layer == 1);
  CHECK(profile.batch_size == 32);
  CHECK(profile.device == "a GPU");
  CHECK(profile.precision == "fp32");
  CHECK(any_contains(imported.notes, "50 us"));
  CHECK(profile.update == us(7));
  CHECK(any_contains(imported.notes, "7 us"));
  CHECK(any_contains(imported.notes, "11 us"));
  CHECK(any_contains(imported.notes, "999 us"));
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

TEST_CASE("the batch size is not the extent of a parameter that the first layer reads") {
  // Three layers with inputs of 32 rows and gradients of 8 and 8 x 4; as an embedding reads its weight, or an operator
  // of any name a vector of its own.
  const auto with = [](const std::string& first_input, const std::string& name, const std::string& second_input) {
    std::string text = Kineto().layer(10, 1, 100, 200).layer(50, 3, 100, 200).layer(90, 5, 100, 200).text();
    const auto replace = [&](std::size_t from, const std::string& old, const std::string& now) {
      return text.replace(text.find(old, from), old.size(), now).find(now, from) + now.size();
    };
    const std::size_t behind = replace(0, "[32, 4]", first_input);
    if (!second_input.empty()) replace(behind, "[32, 4]", second_input);
    replace(0, "aten::linear", name);
    return import_text("kineto", text);
  };
  const Imported whole = with("[16, 4]", "aten::linear", "");
  CHECK(whole.profile.batch_size == 16);  // the first layer's, whatever the others say
  for (const char* own : {"[8, 4], [32, 7]", "[8], [32, 7]"}) {
    const Imported imported = with(own, "aten::gather", "");
    CHECK(imported.profile.batch_size == 32);
  }
  // Sharded, the gradient has another shape than the embedding's weight.
  CHECK(with("[30522, 64], [32, 7]", "aten::embedding", "").profile.batch_size == 32);
  CHECK(with("[8, 4], [32, 7]", "aten::embedding", "[64, 4]").profile.batch_size == 64);  // one voice each: the earlier
}

TEST_CASE("the device is the one that ran most kernels") {
  std::string text = Kineto().layer(10, 1, 100, 200).text();
  const std::string one = R"({"id": 0, "name": "a GPU", "numSms": 8})";
  REQUIRE(contains(text, one));
  text.replace(text.find(one), one.size(), one + R"(, {"id": 1, "name": "another"})");
  const std::string first = R"("device": 0)";
  text.replace(text.find(first), first.size(), R"("device": 1)");
  const Imported imported = import_text("kineto", text);  // four kernels, of which the second device ran one
  CHECK(imported.profile.device == "a GPU");
}

TEST_CASE("up to 65,536 threads") {
  const std::string good = Kineto().layer(10, 1, 100, 200).text();  // of two threads
  const auto with = [&](int more) {
    std::string text = good, events;
    for (int i = 0; i < more; ++i) events += fmt::format(R"({{"ph":"X","cat":"Runtime","tid":{},"ts":0}},)", 100 + i);
    const std::string list = R"("traceEvents": [)";
    return text.insert(text.find(list) + list.size(), events);
  };
  CHECK(complaint("kineto", with(65'534)).empty());
  CHECK(complaint("kineto", with(65'535)) == "some/file.kineto");
}

TEST_CASE("half precision is read off the gradients") {
  CHECK(import_text("kineto", Kineto().of("c10::BFloat16").layer(10, 1, 1, 1).text()).profile.bytes() == 80);
  CHECK(import_text("kineto", Kineto().of("c10::Half").layer(10, 1, 1, 1).text()).profile.precision == "fp16");
  // The first of several inputs is the gradient.
  CHECK(import_text("kineto", Kineto().of("c10::Half\", \"float").layer(10, 1, 1, 1).text()).profile.precision ==
        "fp16");
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
}

namespace {

// One step of `count` micro-batches of two layers, one forward and backward pass after the other. Kernels of
// micro-batch m (from 0) last 10 m us longer.
Kineto accumulation(int count, double at = 0, int number = 1) {
  Kineto trace;
  trace.step(number, at);
  for (int m = 0; m < count; ++m) {
    const double start = at + 600. * m;
    const int node = 100 * number + 10 * m;
    trace.op("aten::copy_", start + 2, 3).kernel(50, "Memcpy");
    trace.layer(start + 10, node, 100 + 10 * m, 200 + 10 * m).layer(start + 50, node + 2, 300, 400);
  }
  return trace;
}

std::string lasting(std::string text, int us) {
  return std::regex_replace(text, std::regex(R"("dur": 999,)"), fmt::format(R"("dur": {},)", us));
}

}  // namespace

TEST_CASE("micro-batches within one step are one micro-batch") {
  for (const int count : {2, 3, 4}) {
    INFO(count);
    const Imported imported = import_text("kineto", lasting(accumulation(count).text(), 9000));
    const Profile& profile = imported.profile;
    REQUIRE(profile.layers.size() == 2);
    CHECK(profile.tensors.size() == 4);
    CHECK(profile.layers[0].forward == us(101 + 5 * (count - 1)));  // the mean of 0, 10, ... us more
    CHECK(profile.layers[0].backward == us(202 + 5 * (count - 1)));
    CHECK(profile.layers[1].forward == us(301));  // without the copy of the next micro-batch's input
    CHECK(profile.batch_size == 32);
    CHECK(imported.iterations.size() == static_cast<std::size_t>(count));
    CHECK(any_contains(imported.notes, fmt::format("--accumulate {} ", count)));
  }
}

TEST_CASE("steps of one pass have no micro-batches, even if layers are identical") {
  Kineto trace;
  trace.step(1, 0);  // backward in the order that autograd has: from the last layer
  for (int i = 0; i < 4; ++i) {
    trace.op("aten::linear", 10 + 20 * i, 10,
             fmt::format(R"("Input Dims": [[32, 4], [8, 4]], "Sequence number": {}, "Fwd thread id": 0)", 1 + i));
    trace.kernel(5);
  }
  for (int i = 3; i >= 0; --i)
    trace.node("AddmmBackward0", 300 - 40 * i, 1 + i).kernel(7).gradient(310 - 40 * i, "8, 4");
  CHECK(import_text("kineto", trace.text()).profile.layers.size() == 4);
}

TEST_CASE("iterations within one step mark have an update each") {
  Kineto trace = accumulation(2);
  for (const double at : {550., 1150.}) {
    trace.annotation("Optimizer.step#SGD.step", at, 20).op("aten::add_", at + 2, 5).kernel(at < 600 ? 6 : 8);
  }
  const Imported imported = import_text("kineto", lasting(trace.text(), 9000));
  CHECK(imported.profile.layers.size() == 2);
  CHECK(imported.profile.update == us(7));
  // An update after the last micro-batch is that of the step.
  Kineto once = accumulation(2);
  once.annotation("Optimizer.step#SGD.step", 1150, 20).op("aten::add_", 1152, 5).kernel(8);
  CHECK(import_text("kineto", lasting(once.text(), 9000)).profile.update == us(8));
  // The optimizer also marks the ends of steps.
  const std::string unmarked = std::regex_replace(once.text(), std::regex("ProfilerStep#"), "Other");
}

TEST_CASE("passes of a step that differ are refused") {
  Kineto trace;
  trace.step(1, 0).layer(10, 1, 100, 200).layer(50, 3, 300, 400).layer(610, 5, 100, 200);
  CHECK(complaint("kineto", lasting(trace.text(), 9000)) == "some/file.kineto");
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
  CHECK(any_contains(imported.notes, "9 us"));
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
  // The first layer's operator ends at 20.100 us, where the second layer starts. As a double, a multiple of 0.25 us,
  // the one would start at 10.25 and last until 20.15, and the other start at 20 in it.
  std::string close = Kineto().layer(10, 1, 100, 200).layer(50, 3, 300, 400).text();
  const auto replace = [&](const std::string& old, const std::string& fresh) {
    REQUIRE(contains(close, old));
    close.replace(close.find(old), old.size(), fresh);
  };
  replace(R"("ts": 10, "dur": 10)", R"("ts": 10.2, "dur": 9.9)");
  replace(R"("ts": 50, "dur": 10)", R"("ts": 20.1, "dur": 9)");
  replace(R"("ts": 52, "dur": 4)", R"("ts": 22, "dur": 4)");
  close = std::regex_replace(close, std::regex(R"("ts": ([1-9]\d)(?=[,.]))"), R"("ts": 16231426230000$1)");
  close = std::regex_replace(close, std::regex(R"("ts": ([1-9]\d\d),)"), R"("ts": 1623142623000$1,)");
  CHECK(import_text("kineto", close).profile.layers.size() == 2);
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

TEST_CASE("an external id equal to the launch's number does not refer to an operator") {
  // As in traces of 2022 and 2023: both kernels' ids are their launches' numbers, which are also ids of operators.
  std::string text = Kineto().layer(10, 1, 0, 0).layer(50, 3, 0, 0).text();
  text = std::regex_replace(text, std::regex(R"(\{"ph": "X", "cat": "kernel".*\n)"), "");
  const auto launched = [](int number, const char* thread, double at, double duration) {
    return fmt::format(
        R"({{"ph": "X", "cat": "cuda_runtime", "name": "l", "tid": {1}, "ts": {2}, "dur": 1, "args": {{"correlation": {0}}}}},
           {{"ph": "X", "cat": "kernel", "name": "k", "tid": 7, "ts": 0, "dur": {3}, "args": {{"External id": {0}, "correlation": {0}}}}},)",
        number, thread, at, duration);
  };
  const std::string list = R"("traceEvents": [)";
  text.insert(text.find(list) + list.size(), launched(1, "1", 53, 30) + launched(2, "2", 413, 20));
  const Profile profile = import_text("kineto", text).profile;
  CHECK(profile.layers[0].forward == us(0));
  CHECK(profile.layers[1].forward == us(30));  // launched in the second layer, though 1 is the first operator's id
  CHECK(profile.layers[0].backward == us(20));
}

namespace {

std::string without_shapes(const std::string& trace) {
  return std::regex_replace(trace, std::regex(R"("Input Dims": \[\[[^a-zA-Z"]*\]\](, )?)"), "");
}

const Model two_linears{"m",
                        {{"a", {{"a.weight", {8, 4}, 32}, {"a.bias", {8}, 8}}},
                         {"relu", {}},
                         {"b", {{"b.weight", {16, 8}, 128}, {"b.bias", {16}, 16}}}}};

}  // namespace

TEST_CASE("a trace without shapes takes those of a model's layers, in order") {
  const std::string text = without_shapes(Kineto().layer(10, 1, 100, 200).layer(50, 3, 300, 400).text());
  REQUIRE_FALSE(contains(text, "Input Dims"));
  CHECK(complaint("kineto", text) == "some/file.kineto");
  ImportOptions options = batch(32);
  options.match = two_linears;
  const Imported imported = import_text("kineto", text, options);
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[1].name == "b");
  CHECK(profile.layers[1].backward == us(402));
  REQUIRE(profile.tensors.size() == 4);
  CHECK(profile.tensors[2].name == "b.weight");
  CHECK(profile.tensors[2].elements == 128);
  options.batch_size.reset();
  CHECK(complaint("kineto", text, options) == "some/file.kineto");

  // Another model: of another kind, with other tensors, with more layers, with fewer.
  options = batch(32);
  options.match = two_linears;
  options.match->layers[2].tensors[0].shape = {16, 2, 2, 2};
  CHECK(complaint("kineto", text, options) == "some/file.kineto");
  options.match = two_linears;
  options.match->layers[0].tensors.pop_back();
  CHECK(complaint("kineto", text, options) == "some/file.kineto");
  options.match = two_linears;
  options.match->layers.push_back({"c", {{"c.weight", {1, 1}, 1}}});
  CHECK(complaint("kineto", text, options) == "some/file.kineto");
  options.match->layers.resize(1);
  CHECK(complaint("kineto", text, options) == "some/file.kineto");
}

TEST_CASE("graphs of compiled models are noted") {
  const std::string text =
      std::regex_replace(Kineto().layer(10, 1, 100, 200).text(), std::regex("aten::linear"), "CompiledFunction");
  ImportOptions options = batch(32);
  CHECK(complaint("kineto", without_shapes(text), options) == "some/file.kineto");
  options.match = two_linears;
  CHECK(complaint("kineto", text, options) == "some/file.kineto");
}

TEST_CASE("without ProfilerStep an iteration ends with the optimizer's step; without that there is one, or an error") {
  const auto two = [](bool optimizer) {
    Kineto trace;
    for (const double at : {0.0, 1000.0}) {
      trace.layer(at + 10, 1 + static_cast<int>(at), 100 + at / 100, 200);
      if (optimizer) trace.annotation("Optimizer.step#SGD.step", at + 900, 90).op("aten::add_", at + 910, 5).kernel(7);
    }
    return trace.text();
  };
  const Imported imported = import_text("kineto", two(true));
  CHECK(imported.profile.layers[0].forward == us(106));  // (101 + 111) / 2
  CHECK(imported.profile.update == us(7));
  CHECK(any_contains(imported.notes, "1 ms"));  // the second: nothing says when the first began
  CHECK(complaint("kineto", two(false)) == "some/file.kineto");
}

TEST_CASE("a span inside more than 500 others is refused: each operator searches those around it") {
  const auto nested = [](int levels) {
    Kineto trace = Kineto().layer(10, 1, 100, 200);
    for (int i = 0; i < levels; ++i) trace.op("aten::inner", 2000 + i, 10'000 - 2 * i);
    return trace.text();
  };
  CHECK(complaint("kineto", nested(501)) == "");
  CHECK(complaint("kineto", nested(502)) == "some/file.kineto");
}

TEST_CASE("of several batch sizes the requested one is used, and the other is noted") {
  const Imported imported = import_text("kineto", Kineto().layer(10, 1, 1, 1).text(), batch(64));
  CHECK(imported.profile.batch_size == 64);
}

TEST_CASE("concurrent operations") {
  const std::vector<Interval> all = joined({{10, 20}, {0, 5}, {15, 30}, {30, 31}});
  REQUIRE(all.size() == 2);
  CHECK(length(all) == 26);
  CHECK(shared_length({4, 12}, all) == 3);
  CHECK(shared_length(joined({{4, 12}, {29, 100}}), all) == 5);
  const JoinedIntervals covered({{10, 20}, {0, 5}, {15, 30}, {30, 31}});
  for (std::int64_t start = 0; start < 34; ++start)
    for (std::int64_t end = start; end < 34; ++end)
      CHECK(covered.shared({start, end}) == shared_length({start, end}, all));
  SlowdownEstimate estimate;
  for (int i = 0; i < 9; ++i) estimate.add(1, 12, 12);
  for (int i = 0; i < 3; ++i) estimate.add(1, 10, 0);
  estimate.add(2, 100, 50);        // neither overlapped nor in isolation
  CHECK_FALSE(estimate.result());  // nine pieces
  estimate.add(1, 12, 12);
  REQUIRE(estimate.result());
  CHECK(estimate.result()->factor == Approx(1.2));
  CHECK(estimate.result()->covered == Approx(120. / 170));
  for (int i = 0; i < 10; ++i)
    estimate.add(3, 100, 100);  // never measured without communication: 120 of 1170 is too little
  CHECK_FALSE(estimate.result());
}

namespace {

// One step of DDP: two layers, each gradient copied into a bucket by a hook, one all-reduce of 40 elements launched
// after the second layer's gradients, during the first layer's backward pass.
std::string ddp_trace(int rank, double scale = 1, double reduced_us = 50, int steps = 1) {
  Kineto trace;
  trace.rank_workers(rank, 2);
  for (int step = 0; step < steps; ++step) {
    const double at = 1000. * step, slow = scale * (1 + 0.1 * (step % 2));
    trace.step(step, at);
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 2, 3);
    trace.layer(at + 10, 1 + 10 * step, 100 * slow, 200 * slow).layer(at + 50, 3 + 10 * step, 300 * slow, 400 * slow);
    trace.op("aten::mul", at + 477.2, 0.5, R"("Input Dims": [[8]])", "cpu_op", "2").kernel(4);
    trace.op("aten::mul", at + 487.2, 0.3, R"("Input Dims": [[8, 4]])", "cpu_op", "2").kernel(5);
    trace.op("c10d::allreduce_", at + 487.5, 0.4, "", "cpu_op", "2");
    trace.add(fmt::format(
        R"({{"ph": "X", "cat": "cuda_runtime", "name": "l", "tid": 2, "ts": {}, "dur": 0.1, "args": {{"correlation": {}}}}})",
        at + 487.7, 900 + step));
    trace.op("nccl:all_reduce", at + 487.6, 0.25, R"("Input Dims": [[40]], "Input type": ["float"])", "user_annotation",
             "2");
    trace.add(fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "tid": 8, "ts": {}, "dur": {}, "args": {{"correlation": {}}}}})",
        at + 500, reduced_us, 900 + step));
  }
  return trace.text();
}

}  // namespace

TEST_CASE("a trace of DDP: copies and communication are removed from layer times, and noted") {
  const Imported imported = import_text("kineto", ddp_trace(0));
  REQUIRE(imported.profile.layers.size() == 2);
  CHECK(imported.profile.layers[0].backward == us(202));
  CHECK(imported.profile.layers[1].backward == us(402));  // without the hooks' 4 and 5 us
  CHECK(any_contains(imported.notes, "9 us"));
  CHECK(any_contains(imported.notes, "50 us"));
  CHECK(any_contains(imported.notes, "0 s"));
  CHECK(any_contains(imported.notes, "3 us"));
  CHECK(imported.rank == 0);
  CHECK(imported.profile.origin == Origin::Imported);
  CHECK(imported.workers == 2);
  CHECK(imported.collectives == std::vector<MeasuredCollective>{{"all-reduce", 2, 160, us(50)}});
  CHECK(collectives_csv(imported, nowhere) == "collective,workers,bytes,time_us\nall-reduce,2,160,50\n");
  CHECK(error_place([&] { collectives_csv(import_text("kineto", Kineto().layer(10, 1, 1, 1).text()), nowhere); }) ==
        "test");
}

TEST_CASE("a kernel of communication that says its collective needs no annotation") {
  for (const auto& [name, in, out, expected] :
       {std::tuple("allreduce", 40, 40, MeasuredCollective{"all-reduce", 8, 80, us(6)}),
        std::tuple("_allgather_base", 5, 40, MeasuredCollective{"all-gather", 8, 10, us(6)}),
        std::tuple("_reduce_scatter_base", 40, 5, MeasuredCollective{"reduce-scatter", 8, 80, us(6)})}) {
    Kineto trace;
    trace.layer(10, 1, 100, 200);
    trace.ran(
        0, 6, "ncclDevKernel",
        fmt::format(
            R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": 8, "dtype": "BFloat16")",
            name, in, out));
    CHECK(import_text("kineto", trace.text()).collectives == std::vector<MeasuredCollective>{expected});
  }
}

TEST_CASE("the slow-down by communication is removed if the same work ran with and without it") {
  // Ten steps; the kernel of the backward pass takes 24 us during an all-reduce, and 20 in the steps without one.
  Kineto trace;
  for (int step = 0; step < 20; ++step) {
    const double at = 1000. * step;
    trace.step(step, at).layer(at + 10, 1 + 2 * step, 100, 0);
    trace.op("aten::mm", at + 422, 0.5, "", "cpu_op", "2");
    const bool overlapped = step % 2 == 0;
    trace.ran(at + 500, overlapped ? 24 : 20, "gemm");
    trace.op("nccl:all_reduce", at + 800, 1, "", "user_annotation", "2")
        .op("c10d::allreduce_", at + 800, 1, "", "cpu_op", "2");
    trace.ran(overlapped ? at + 490 : at + 600, 50, "ncclKernel");
  }
  // aten::mm stands in the node of the bias's gradient, behind it: as a hook it would be a copy.
  const std::string text =
      std::regex_replace(trace.text(), std::regex("evaluate_function: torch::autograd::AccumulateGrad"),
                         "evaluate_function: AccumulateOther");
  const Imported imported = import_text("kineto", text);
  CHECK(imported.profile.backward() == us(2 + 20));  // with the relu's 2
  CHECK(any_contains(imported.notes, "1.200"));
  CHECK(any_contains(imported.notes, "100 %"));
}

TEST_CASE("a trace of FSDP: its units are layers, without gathers, scatters and copies") {
  // As FullyShardedDataParallel of PyTorch 2 nests: before a unit's forward pass its parameters are gathered, and split
  // into views; behind its backward pass the views' gradients are put together, and scattered.
  Kineto trace;
  trace.rank_workers(1, 4).step(1, 0);
  const auto message = [](const std::string& name, int in, int out) {
    return fmt::format(
        R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": 4, "dtype": "Float")",
        name, in, out);
  };
  const auto forward = [&](double at, int node, double us) {
    trace.annotation("FullyShardedDataParallel.forward", at, 40);
    trace.annotation("FullyShardedDataParallel._pre_forward", at + 1, 10);
    trace.op("c10d::_allgather_base_", at + 2, 3)
        .ran(at, 30, "ncclDevKernel_AllGather", message("_allgather_base", 10, 40));
    trace
        .op("aten::split", at + 6, 3,
            fmt::format(R"("Input Dims": [[40]], "Sequence number": {}, "Fwd thread id": 0)", node))
        .kernel(2);
    trace
        .op("aten::linear", at + 15, 10,
            fmt::format(R"("Input Dims": [[32, 4], [8, 4], [8]], "Sequence number": {}, "Fwd thread id": 0)", node + 1))
        .kernel(us);
  };
  const auto backward = [&](double at, int node, double us) {
    trace.node("AddmmBackward0", at, node + 1).op("aten::mm", at + 2, 4, "", "cpu_op", "2").kernel(us);
    trace.node("SplitBackward0", at + 10, node).op("aten::cat", at + 12, 4, "", "cpu_op", "2").kernel(3);
    trace.gradient(at + 20, "40");
    trace.annotation("FullyShardedDataParallel._post_backward_hook", at + 27.1, 0.8, "2");
    trace.op("aten::div_", at + 27.2, 0.2, "", "cpu_op", "2").kernel(4);
    trace.op("c10d::_reduce_scatter_base_", at + 27.5, 0.3, "", "cpu_op", "2")
        .ran(at, 60, "ncclDevKernel_ReduceScatter", message("_reduce_scatter_base", 40, 10));
  };
  forward(10, 1, 100);
  forward(60, 3, 300);
  backward(200, 3, 400);
  backward(300, 1, 200);
  trace.annotation("Optimizer.step#AdamW.step", 900, 90).op("aten::add_", 910, 5).kernel(7);
  const Imported imported = import_text("kineto", trace.text(), batch(32));
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "unit");
  CHECK(profile.layers[0].forward == us(100));
  CHECK(profile.layers[0].backward == us(200));
  CHECK(profile.layers[1].forward == us(300));
  CHECK(profile.layers[1].backward == us(400));
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[0].elements == 40);
  CHECK(profile.update == us(4 * 7));  // four ranks share it
  CHECK(any_contains(imported.notes, "4"));
  CHECK(any_contains(imported.notes, "7 us"));
  CHECK(any_contains(imported.notes, "18 us"));  // 2·(2 + 3 + 4)
  CHECK(imported.collectives == std::vector<MeasuredCollective>{{"all-gather", 4, 40, us(30)},
                                                                {"all-gather", 4, 40, us(30)},
                                                                {"reduce-scatter", 4, 160, us(60)},
                                                                {"reduce-scatter", 4, 160, us(60)}});
}

TEST_CASE("a trace of FSDP2: its parameters have gradients of their own") {
  Kineto trace;
  trace.rank_workers(0, 4).step(1, 0);
  trace.annotation("FSDP::pre_forward (layers.0)", 1, 8);
  trace.op("fsdp::all_gather_copy_in", 2, 3).kernel(5);
  trace.op("fsdp::split_with_sizes_copy", 6, 2).kernel(6);
  trace.layer(10, 1, 100, 200);
  trace.annotation("FSDP::post_backward_reduce (layers.0)", 450, 20, "2");
  trace.op("fsdp::chunk_cat", 451, 3, "", "cpu_op", "2").kernel(8);
  trace.op("c10d::_reduce_scatter_base_", 455, 3, "", "cpu_op", "2").ran(600, 60, "ncclDevKernel_ReduceScatter");
  trace.annotation("Optimizer.step#AdamW.step", 700, 90).op("aten::add_", 710, 5).kernel(7);
  const Imported imported = import_text("kineto", trace.text());
  REQUIRE(imported.profile.layers.size() == 1);
  CHECK(imported.profile.layers[0].forward == us(101));
  CHECK(imported.profile.layers[0].backward == us(202));
  CHECK(any_contains(imported.notes, "19 us"));
  CHECK(imported.profile.update == us(4 * 7));  // its kernels do not say their sizes: all ranks of the job
}

TEST_CASE("the update of ranks that share the optimizer's state is made whole, and only of these") {
  // A layer of 8x4 + 8 parameters; the update takes 7 us.
  const auto imported = [](const std::string& operation, int in, int out, int group) {
    Kineto trace;
    trace.rank_workers(0, 8).step(1, 0).layer(10, 1, 100, 200);
    trace.op("c10d::anything_", 455, 3, "", "cpu_op", "2");
    trace.ran(600, 60, "ncclDevKernel",
              fmt::format(R"("Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, )"
                          R"("dtype": "Float")",
                          operation, in, out, group));
    trace.annotation("Optimizer.step#AdamW.step", 700, 90).op("aten::add_", 710, 5).kernel(7);
    return import_text("kineto", trace.text());
  };
  CHECK(imported("allreduce", 40, 40, 8).profile.update == us(7));
  CHECK(imported("_reduce_scatter_base", 40, 10, 4).profile.update == us(4 * 7));  // in groups of four
  CHECK(imported("_allgather_base", 5, 40, 8).profile.update == us(8 * 7));        // ZeRO-1
  CHECK(imported("_allgather_base", 1, 8, 8).profile.update == us(7));             // statistics, not parameters
  const Imported unknown = imported("_reduce_scatter_base", 40, 10, 0);
  CHECK(!unknown.profile.update.has_value());
  CHECK(any_contains(unknown.notes, "7 us"));
}

TEST_CASE("a trace with checkpointing says that it recomputes") {
  for (const bool again : {false, true}) {
    Kineto trace;
    trace.layer(10, 1, 100, 200);
    if (again) trace.op("CheckpointFunctionBackward", 400, 5, "", "cpu_op", "2");
    CHECK(import_text("kineto", trace.text()).profile.recompute == (again ? "full" : ""));
  }
}

TEST_CASE("several ranks make one profile, with a note on their differences") {
  const std::vector<std::string> files{"a.json", "b.json"};
  const auto merged = [&](const std::string& a, const std::string& b) {
    const std::vector<Imported> ranks{import_text("kineto", a), import_text("kineto", b)};
    return merged_ranks(ranks, files);
  };
  // Two steps each, the second's kernels 1.1 times as long but for the relus' 1 + 2 us twice. Rank 0 computes
  // (1000 + 1100)/2 + 6 = 1056 us, rank 1, 1.2 times as slow, 1260 + 6 = 1266.
  const Imported imported = merged(ddp_trace(0, 1, 50, 2), ddp_trace(1, 1.2, 30, 2));
  CHECK(imported.profile.layers[0].forward == us((106. + 127) / 2));  // 105 + 1 and 126 + 1
  // The mean of two steps that differ by d has the standard error d/2: three of rank 0's are 150 us, 13 % of 1161.
  // Within a rank two equal deviations in four passes: of rank 0 10, 20, 30 and 40 us between its steps, so d²/2 each:
  // 1500; of rank 1 1.44 times that; over the squares of the means, 106² + 212² + 316² + 422² with the relus' 1 and 2
  // us (105 + 1, 210 + 2, 315 + 1, 420 + 2), and 127² + 254² + 379² + 506².
  const double variance = 1500 * (1 + 1.44);
  const double squares = 106. * 106 + 212 * 212 + 316 * 316 + 422 * 422 + 127 * 127 + 254 * 254 + 379 * 379 + 506 * 506;
  CHECK(any_contains(imported.notes, fmt::format(R"("jitter": {{"distribution": "normal", "sigma": {:.4f}}})",
                                                 std::sqrt(variance / squares))));
  // A rank's two iterations differ by 100 and by 120 us: standard deviations of 100/sqrt(2) and 120/sqrt(2).
  CHECK(any_contains(imported.notes, fmt::format("{:.2f} %", 100 * std::sqrt((100. * 100 + 120 * 120) / 2 /
                                                                             (1056. * 1056 + 1266 * 1266)))));
  // Each collective with its shortest time.
  CHECK(imported.collectives ==
        std::vector<MeasuredCollective>{{"all-reduce", 2, 160, us(30)}, {"all-reduce", 2, 160, us(30)}});
  CHECK(contains(imported.profile.source, ", and 1 other rank"));

  // One step each: 1006 and 1206 us.
  CHECK(any_contains(merged(ddp_trace(0), ddp_trace(1, 1.2)).notes,
                     R"("stragglers": [{"worker": 0, "slowdown": 0.9096}, {"worker": 1, "slowdown": 1.0904}])"));

  const auto refused = [&](const std::string& b) { return error_place([&] { merged(ddp_trace(0), b); }); };
  CHECK(refused(ddp_trace(0)) == "b.json");
  CHECK(refused(Kineto().layer(10, 1, 1, 1).rank_workers(1, 2).text()) == "b.json");
  CHECK(refused(std::regex_replace(ddp_trace(1), std::regex(R"(\[\[8\]\], "Input type")"), R"([[9]], "Input type")")) ==
        "b.json");
}

TEST_CASE("a PyTorch trace that is none") {
  const std::string good = Kineto().layer(10, 1, 100, 200).text();
  const auto with = [&](const std::string& old, const std::string& fresh) {
    std::string text = good;
    REQUIRE(contains(text, old));
    return text.replace(text.find(old), old.size(), fresh);
  };
  CHECK(complaint("kineto", good.substr(0, good.size() / 2)) == "some/file.kineto: byte 1437");
  CHECK(complaint("kineto", "{}") == "some/file.kineto");
  CHECK(complaint("kineto", "[]") == "some/file.kineto");  // a list of events, as PyTorch writes without Kineto
  CHECK(complaint("kineto", R"({"traceEvents": []})") == "some/file.kineto");
  CHECK(complaint("kineto", with("\"dur\": 100,", "\"dur\": -100,")) == "some/file.kineto: /traceEvents/2/dur");
  CHECK(complaint("kineto", with("\"dur\": 100,", "\"dur\": 3.7e9,")) == "some/file.kineto: /traceEvents/2/dur");
  CHECK(complaint("kineto", with("\"dur\": 100,", "\"dur\": NaN,")) == "some/file.kineto: /traceEvents/2/dur");
  CHECK(complaint("kineto", with("\"dur\": 100,", "\"dur\": \"x\",")) == "some/file.kineto: /traceEvents/2/dur");
  CHECK(complaint("kineto", with("\"Input Dims\": [[8]]", "\"x\": 0")) == "some/file.kineto");
  CHECK(complaint("kineto", with("\"Input Dims\": [[8]]", "\"Input Dims\": [[0]]")) == "some/file.kineto");
  std::string deep = R"({"traceEvents": )" + std::string(100'000, '[');
  CHECK(complaint("kineto", deep) == "some/file.kineto: byte 80");
  // 64 are read: two around the event, its own, and 61 in it.
  const auto nested = [&](int more) {
    return with(R"("traceEvents": [)",
                R"("traceEvents": [{"ph": "M", "args": )" + std::string(more, '[') + std::string(more, ']') + "},\n");
  };
  CHECK(complaint("kineto", nested(61)).empty());
  CHECK(complaint("kineto", nested(62)) == "some/file.kineto: byte 213");
  Kineto forward;
  forward.op("aten::linear", 10, 5, R"("Sequence number": 1, "Fwd thread id": 0)").kernel(5);
  CHECK(complaint("kineto", forward.text()) == "some/file.kineto");
  // A backward pass on the CPU's side, and not one kernel of it.
  std::string silent = good;
  for (const std::string kernel : {R"("dur": 200,)", R"("dur": 2,)"}) {
    REQUIRE(contains(silent, kernel));
    silent.replace(silent.find(kernel), kernel.size(), R"("dur": 0,)");
  }
  CHECK(complaint("kineto", silent) == "some/file.kineto");
}

TEST_CASE("a trace that is not JSON is refused with the position of the error, at any size") {
  const std::string start = R"({"traceEvents": [)";  // 17 characters: bytes 0 to 16
  CHECK(complaint("kineto", start + "x") == "some/file.kineto: byte 17");
  CHECK(complaint("kineto", start + std::string(200'000, ' ') + "x") == "some/file.kineto: byte 200017");
}

}  // namespace importers_test
