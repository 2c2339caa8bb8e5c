// The steps of a rank, from hand-written traces in which every start and end is known.
#include "sim/formats/interchange/timelines/kineto_steps.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tests/catch.hpp"

#include "sim/formats/interchange/timelines/rank_traces.hpp"

using namespace allreplay;
using kineto::RankStep;

namespace kineto_steps_test {

namespace {

// Events of one step of a data-parallel job; times in microseconds.
class Trace {
 public:
  Trace& op(const std::string& name, double start, double duration, const std::string& args = "", int thread = 1,
            const std::string& category = "cpu_op") {
    return add(category, name, thread, start, duration, fmt::format(R"("External id": {}{})", ++id_, args));
  }
  // An operator of the forward pass, and its node of the backward pass.
  Trace& forward(const std::string& name, double start, double duration, int number) {
    return op(
        name, start, duration,
        fmt::format(R"(, "Input Dims": [[32, 4], [8, 4], [8]], "Sequence number": {}, "Fwd thread id": 0)", number));
  }
  Trace& backward(const std::string& name, double start, double duration, int number) {
    const auto args = fmt::format(R"(, "Sequence number": {}, "Fwd thread id": 1)", number);
    op("autograd::engine::evaluate_function: " + name, start, duration, args, 2);
    return op(name, start + 1, duration - 2, args, 2);
  }
  // A launch within the operator before it, on `thread`, and the kernel that it launched.
  Trace& kernel(const std::string& name, int thread, double launch, double start, double duration) {
    ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", thread, launch, 1, fmt::format(R"("correlation": {})", correlation_));
    return add("kernel", name, 7, start, duration,
               fmt::format(R"("correlation": {}, "device": 0, "grid": [1, 1, 1], "block": [32, 1, 1])", correlation_));
  }
  std::vector<RankStep> steps() const {
    ByteSource source("rank0.json", R"({"schemaVersion": 1, "traceEvents": [)" + events_ + "]}");
    return kineto::rank_steps(kineto::attributed(read_kineto_events(source)), {"rank0.json", ""});
  }

 private:
  Trace& add(const std::string& category, const std::string& name, int thread, double start, double duration,
             const std::string& args) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        events_.empty() ? "" : ",\n", category, name, category == "kernel" ? 0 : 9, thread, start, duration, args);
    return *this;
  }

  std::string events_;
  int id_ = 0, correlation_ = 0;
};

bool same(const std::vector<Interval>& found, const std::vector<Interval>& wanted) {  // in microseconds
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(), [](const Interval& a, const Interval& b) {
    return a.start == 1000 * b.start && a.end == 1000 * b.end;
  });
}

}  // namespace

TEST_CASE("a median is the middle value, or half way between the two") {
  CHECK(median_of({5}) == 5);
  CHECK(median_of({4, 1}) == 2);
  CHECK(median_of({9, 1, 3}) == 3);
  CHECK(median_of({100, 1, 4, 2}) == 3);
  CHECK(median_of({100, 1, 4, 2, 50}) == 4);
}

TEST_CASE("on a CPU a step's forward pass begins with its first operator") {
  Trace trace;
  trace.op("ProfilerStep#3", 0, 999, "", 1, "user_annotation");
  trace.forward("aten::linear", 100, 20, 1).forward("aten::relu", 130, 10, 2);
  trace.backward("ReluBackward0", 300, 20, 2).backward("AddmmBackward0", 330, 40, 1);
  trace.op("c10d::allreduce_", 372, 3, "", 2).op("gloo:all_reduce", 376, 50, "", 3);
  const std::vector<RankStep> steps = trace.steps();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].number == 3);
  CHECK(same({steps[0].forward}, {{100, 140}}));
  CHECK(same(steps[0].backward, {{300, 370}}));
  CHECK(same(steps[0].collectives, {{376, 426}}));
}

TEST_CASE("collectives inside a pass that reduce no gradients are refused, from its first to its last moment") {
  const auto is_refused = [](const std::string& name, double start) {
    Trace trace;
    trace.op("ProfilerStep#3", 0, 999, "", 1, "user_annotation");
    trace.forward("aten::linear", 100, 20, 1).forward("aten::relu", 130, 10, 2);
    trace.backward("ReluBackward0", 300, 20, 2).backward("AddmmBackward0", 330, 40, 1);
    trace.op(name, start, 5, "", 3);
    try {
      trace.steps();
      return false;
    } catch (const InputError&) {
      return true;
    }
  };
  // The forward pass lasts from 100 to 140, the backward pass from 300 to 370. Gradients are reduced in the latter.
  for (const double start : {99.0, 140.0, 299.0, 370.0}) CHECK(!is_refused("c10d::alltoall_", start));
  for (const double start : {100.0, 125.0, 139.0, 300.0, 325.0, 369.0}) CHECK(is_refused("c10d::alltoall_", start));
  for (const double start : {100.0, 139.0}) CHECK(is_refused("c10d::allreduce_", start));
  for (const double start : {300.0, 369.0}) CHECK(!is_refused("c10d::allreduce_", start));
}

// Three layers, whose gradients are reduced one by one. Kernels run behind one another, later than they are launched:
// the first part of the backward pass is its gemm, 310 to 370, although its collective was launched at 323.
TEST_CASE("on a GPU a part of the backward pass ends with the last kernel launched before its collective") {
  Trace trace;
  trace.op("ProfilerStep#3", 0, 999, "", 1, "user_annotation");
  const auto gradient = [&](double launch, double start) {
    trace.op("c10d::allreduce_", launch - 1, 3, "", 2).kernel("ncclKernel_AllReduce", 2, launch, start, 20);
  };
  trace.forward("aten::linear", 100, 20, 1).kernel("gemm", 1, 105, 110, 30);
  trace.forward("aten::linear", 130, 20, 2).kernel("gemm", 1, 135, 140, 30);
  trace.forward("aten::linear", 160, 20, 3).kernel("gemm", 1, 165, 170, 30);
  trace.backward("AddmmBackward0", 300, 20, 3).kernel("gemm", 2, 305, 310, 60);
  gradient(323, 375);
  trace.backward("AddmmBackward0", 330, 20, 2).kernel("gemm", 2, 335, 370, 50);
  gradient(353, 425);
  trace.backward("AddmmBackward0", 360, 20, 1).kernel("gemm", 2, 365, 420, 30);
  trace.kernel("gemm", 2, 380, 450, 40);  // launched where the operator has ended: belongs to no operator
  gradient(383, 495);
  const std::vector<RankStep> steps = trace.steps();
  REQUIRE(steps.size() == 1);
  CHECK(same({steps[0].forward}, {{110, 200}}));
  CHECK(same(steps[0].backward, {{310, 370}, {370, 420}, {420, 450}}));
  CHECK(same(steps[0].collectives, {{375, 395}, {425, 445}, {495, 515}}));
}

}  // namespace kineto_steps_test
