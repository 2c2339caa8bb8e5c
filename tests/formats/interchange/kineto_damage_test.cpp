// Damaged and ambiguous PyTorch traces: every change to a trace of two layers is noted or refused.
#include <set>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/import_text.hpp"

using namespace allreplay;

namespace kineto_damage_test {

namespace {

// conv: 900 us forward, 1900 us backward, 64x64x3x3. linear: 200 us, 400 us, 1000x64. One step of 9 ms.
const std::string sound = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA V100-PCIE"}],
 "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "tid": 1, "ts": 0, "dur": 9000},
{"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "tid": 1, "ts": 10, "dur": 10, "args": {"External id": 1, "Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3]], "Sequence number": 1, "Fwd thread id": 0}},
{"ph": "X", "cat": "kernel", "name": "conv", "tid": 7, "ts": 50, "dur": 900, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "tid": 1, "ts": 31, "dur": 10, "args": {"External id": 2, "Input Dims": [[32, 64], [1000, 64]], "Sequence number": 2, "Fwd thread id": 0}},
{"ph": "X", "cat": "kernel", "name": "gemm", "tid": 7, "ts": 960, "dur": 200, "args": {"External id": 2}},
{"ph": "X", "cat": "cpu_op", "name": "AddmmBackward0", "tid": 2, "ts": 1200, "dur": 8, "args": {"External id": 3, "Sequence number": 2, "Fwd thread id": 1}},
{"ph": "X", "cat": "kernel", "name": "gemm2", "tid": 7, "ts": 1210, "dur": 400, "args": {"External id": 3}},
{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 2, "ts": 1220, "dur": 4, "args": {"External id": 4, "Input Dims": [[1000, 64]], "Input type": ["float"]}},
{"ph": "X", "cat": "cpu_op", "name": "ConvolutionBackward0", "tid": 2, "ts": 1240, "dur": 8, "args": {"External id": 5, "Sequence number": 1, "Fwd thread id": 1}},
{"ph": "X", "cat": "kernel", "name": "conv2", "tid": 7, "ts": 1620, "dur": 1900, "args": {"External id": 5}},
{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 2, "ts": 1250, "dur": 4, "args": {"External id": 6, "Input Dims": [[64, 64, 3, 3]], "Input type": ["float"]}}
]})";

// Replaces every `old`.
std::string with(std::string text, const std::string& old, const std::string& now) {
  REQUIRE(text.find(old) != std::string::npos);
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + now.size()))
    text.replace(at, old.size(), now);
  return text;
}

std::string with_events(const std::string& events) {
  return with(sound, "\"traceEvents\": [", "\"traceEvents\": [" + events);
}

Imported imported(const std::string& text, const ImportOptions& options = {}) {
  return import_text("kineto", text, options);
}

// The one note that the sound trace does not have; "" if there is none.
std::string added_note(const Imported& damaged) {
  const std::vector<std::string> before = imported(sound).notes;
  std::string added;
  for (const std::string& note : damaged.notes)
    if (std::find(before.begin(), before.end(), note) == before.end()) {
      CHECK(added.empty());
      added = note;
    }
  return added;
}

std::string added_note(const std::string& text) { return added_note(imported(text)); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("backward operators without a forward operator are noted with their share, and refused if they are most") {
  // 100 us of 2400 us; its gradient counts towards the linear layer before it.
  const Imported some = imported(with_events(
      R"({"ph": "X", "cat": "cpu_op", "name": "LostBackward0", "tid": 2, "ts": 1226, "dur": 2, "args": {"External id": 9, "Sequence number": 7, "Fwd thread id": 1}},
{"ph": "X", "cat": "kernel", "name": "lost", "tid": 7, "ts": 1612, "dur": 100, "args": {"External id": 9}},
{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 2, "ts": 1230, "dur": 4, "args": {"External id": 10, "Input Dims": [[5]], "Input type": ["float"]}},
)"));
  REQUIRE(some.profile.layers.size() == 2);
  CHECK(some.profile.layers[1].backward == to_time(500e-6));
  CHECK(has_note(some, "1 backward operator"));
  CHECK(has_note(some, "100 us, 4.2 %"));
  CHECK(has_note(some, "1 gradient count"));
  const std::string of_conv = R"("External id": 5, "Sequence number": 1)";  // 1900 us of 2300 us
  CHECK(refusal("kineto", with(sound, of_conv, R"("External id": 5, "Sequence number": 7)")) == "file");
  // Nothing runs before the linear layer's node that could take it: both its time and its parameters are left out.
  const std::string of_linear = R"("External id": 3, "Sequence number": 2)";
  const Imported first = imported(with(sound, of_linear, R"("External id": 3, "Sequence number": 7)"));
  CHECK(first.profile.layers.size() == 1);
  CHECK(has_note(first, "parameters of 1 gradient"));
}

TEST_CASE("impossible shapes of gradients are refused") {
  for (const char* shape :
       {"[64, 64, -3, 3]", "[64, 64, 0, 3]", "[64, 64.5]", "[99999999999999999999]", "[64, \"x\"]"}) {
    INFO(shape);
    const std::string text =
        with(sound, R"([[64, 64, 3, 3]], "Input type")", fmt::format(R"([{}], "Input type")", shape));
    CHECK(refusal("kineto", text) == "file");
  }
  const Imported number = imported(with(sound, R"([[64, 64, 3, 3]], "Input type")", R"([[]], "Input type")"));
  CHECK(number.profile.tensors.front().elements == 1);
}

TEST_CASE("kernels and operators that have no duration are counted") {
  const std::string kernel =
      R"({"ph": "B", "cat": "kernel", "name": "k", "tid": 7, "ts": 955, "args": {"External id": 1}},)";
  CHECK(contains(added_note(with_events(kernel)), "1 kernel "));
  CHECK(contains(added_note(with_events(kernel + R"({"ph": "E", "cat": "kernel", "tid": 7, "ts": 957},)" +
                                        with(kernel, "\"B\"", "\"?\""))),
                 "2 kernels "));
  CHECK(contains(added_note(with_events(with(kernel, "\"kernel\"", "\"cpu_op\""))), "1 operator "));
  CHECK(added_note(with_events(with(kernel, "\"kernel\"", "\"ac2g\""))).empty());  // an arrow
}

TEST_CASE("an unknown type of a gradient is named, unless the precision is given") {
  const std::string text = with(sound, "\"float\"", "\"floaty\"");
  CHECK(contains(added_note(text), "'floaty'"));
  ImportOptions options;
  options.precision = "bf16";
  CHECK(added_note(imported(text, options)).empty());
}

TEST_CASE("a device and a precision that the trace contradicts are noted") {
  const auto note = [](const std::string& device, const std::string& precision) {
    ImportOptions options;
    options.device = device;
    options.precision = precision;
    return added_note(imported(sound, options));
  };
  CHECK(contains(note("H100", ""), "NVIDIA V100-PCIE"));
  CHECK(note("v100", "").empty());  // a short name of the same
  CHECK(contains(note("", "bf16"), "fp32"));
  CHECK(note("", "fp32").empty());
  CHECK(note("", "tf32").empty());  // computes with tensors of fp32
  // A table states neither.
  ImportOptions options;
  options.batch_size = 1;
  options.device = "H100";
  options.precision = "bf16";
  CHECK(import_text("csv", "layer,params,forward_us,backward_us\na,3,1,2\n", options).notes.empty());
}

TEST_CASE("kernels that several operators could have launched are counted") {
  CHECK(contains(added_note(with(sound, "\"External id\": 2", "\"External id\": 1")), "2 kernels "));
  // Nested in one operator, the id leads to the same layer.
  CHECK(
      added_note(
          with_events(
              R"({"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "tid": 1, "ts": 33, "dur": 4, "args": {"External id": 2}},)"))
          .empty());
}

TEST_CASE("the error for a trace without layers names the cause") {
  std::set<std::string> errors;
  for (const std::string& text :
       {with(sound, "torch::autograd::AccumulateGrad", "aten::add_"),      // no gradients
        with(sound, R"("ts": 0, "dur": 9000)", R"("ts": 0, "dur": 100)"),  // the step ends after the forward pass
        with(with(sound, R"("Sequence number": 1, "Fwd thread id": 1)", R"("Sequence number": 7, "Fwd thread id": 1)"),
             R"("Sequence number": 2, "Fwd thread id": 1)", R"("Sequence number": 8, "Fwd thread id": 1)")}) {
    try {
      imported(text);
      FAIL("accepted");
    } catch (const InputError& error) {
      CHECK_FALSE(contains(error.what(), "record_shapes"));  // the trace has shapes
      errors.insert(error.what());
    }
  }
  CHECK(errors.size() == 3);
}

}  // namespace kineto_damage_test
