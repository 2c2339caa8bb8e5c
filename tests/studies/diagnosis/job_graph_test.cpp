// Dependencies in a measured job, by hand; and its replay compared with the engine's.
#include "sim/studies/diagnosis/job_graph.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/studies/diagnosis/unlimited_server.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/engine/replay.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"
#include "sim/studies/diagnosis/job_replay.hpp"

using namespace allreplay;

namespace job_graph_test {

namespace {

using Kind = OpKind;

MeasuredOp op(Kind kind, std::uint32_t seq, double start_us, double duration_us, std::int32_t chunk = 0) {
  return {.start = to_time(start_us * 1e-6),
          .duration = to_time(duration_us * 1e-6),
          .seq = seq,
          .chunk = chunk,
          .kind = kind};
}

// "forward-compute 0 > backward-compute 0" for each pair, sorted.
std::set<std::string> order_of(const std::vector<MeasuredOp>& ops) {
  const auto name = [&](std::uint32_t i) {
    return std::string(name_of(ops[i].kind)) + " " + std::to_string(ops[i].seq);
  };
  std::set<std::string> words;
  for (const auto& [before, after] : stage_order(ops)) words.insert(name(before) + " > " + name(after));
  return words;
}

// Two replicas of two stages, one forward and one backward in turn, with all that surrounds them; random durations.
MeasuredJob pipeline(std::uint64_t seed, std::uint32_t batches, std::int64_t steps) {
  Random random(seed, 0);
  MeasuredJob job{.files = {"job.csv"}};
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::uint32_t replica = 0; replica < 2; ++replica)
      for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const auto add = [&](Kind kind, std::uint32_t seq, double start) {
          MeasuredOp one = op(kind, seq, start, std::floor(1 + 1000 * random.uniform()));
          one.step = step;
          one.replica = replica;
          one.stage = stage;
          job.ops.push_back(one);
        };
        add(Kind::ParamsAllGather, 0, 0);
        for (std::uint32_t k = 0; k < batches; ++k) {
          const double f = 1000.0 * (2 * k + (stage == 0 && k > 0 ? 0 : 1)),
                       b = 1000.0 * (2 * k + (stage == 0 ? 3 : 2));
          add(Kind::ForwardCompute, k, f);
          add(Kind::BackwardCompute, k, b);
          add(stage == 0 ? Kind::ForwardSend : Kind::ForwardRecv, k, f);
          add(stage == 0 ? Kind::BackwardRecv : Kind::BackwardSend, k, b);
        }
        add(Kind::Gc, 0, 1e5);
        add(Kind::EmbeddingGradsAllReduce, 0, 1.1e5);
        add(Kind::GradsReduceScatter, 0, 1.2e5);
        add(Kind::OptimizerClipMainGrad, 0, 1.3e5);
        add(Kind::Optimizer, 0, 1.4e5);
      }
  return job;
}

}  // namespace

TEST_CASE("a stage without transfers: computes in a chain, then the end of the step") {
  CHECK(order_of({op(Kind::BackwardCompute, 0, 10, 20), op(Kind::ForwardCompute, 0, 0, 10), op(Kind::Gc, 0, 30, 1),
                  op(Kind::GradsReduceScatter, 0, 31, 4), op(Kind::GradsReduceScatter, 1, 35, 4),
                  op(Kind::LayernormGradsAllReduce, 0, 40, 1), op(Kind::Optimizer, 0, 45, 1)}) ==
        std::set<std::string>{"forward-compute 0 > backward-compute 0",
                              "grads-reduce-scatter 0 > grads-reduce-scatter 1", "backward-compute 0 > gc 0",
                              "gc 0 > layernorm-grads-all-reduce 0",
                              "layernorm-grads-all-reduce 0 > grads-reduce-scatter 0",
                              "layernorm-grads-all-reduce 0 > grads-reduce-scatter 1",
                              "grads-reduce-scatter 0 > optimizer 0", "grads-reduce-scatter 1 > optimizer 0"});
}

TEST_CASE(
    "overlapping reductions follow their chunk's last backward pass, and the last one precedes the ops after gc") {
  // Reduction 0, of chunk 1, starts before the last backward ends.
  CHECK(order_of({op(Kind::ForwardCompute, 0, 0, 10, 0), op(Kind::ForwardCompute, 1, 10, 10, 1),
                  op(Kind::BackwardCompute, 0, 20, 10, 1), op(Kind::BackwardCompute, 1, 30, 10, 0),
                  op(Kind::GradsReduceScatter, 0, 30, 5, 1), op(Kind::GradsReduceScatter, 1, 40, 5, 0),
                  op(Kind::ParamsAllGather, 0, 0, 1, 0), op(Kind::Optimizer, 0, 45, 1)}) ==
        std::set<std::string>{"forward-compute 0 > forward-compute 1", "forward-compute 1 > backward-compute 0",
                              "backward-compute 0 > backward-compute 1", "params-all-gather 0 > grads-reduce-scatter 0",
                              "grads-reduce-scatter 0 > grads-reduce-scatter 1",
                              "params-all-gather 0 > forward-compute 0",
                              "backward-compute 0 > grads-reduce-scatter 0",  // chunk 1
                              "backward-compute 1 > grads-reduce-scatter 1",  // chunk 0
                              "backward-compute 1 > optimizer 0", "grads-reduce-scatter 1 > optimizer 0"});
  // The last reduction, also of chunk 1, does not wait for the last compute.
  const auto early = order_of({op(Kind::ForwardCompute, 0, 0, 10, 0), op(Kind::ForwardCompute, 1, 10, 10, 1),
                               op(Kind::BackwardCompute, 0, 20, 10, 1), op(Kind::BackwardCompute, 1, 30, 50, 0),
                               op(Kind::GradsReduceScatter, 0, 30, 5, 1), op(Kind::GradsReduceScatter, 1, 35, 5, 1),
                               op(Kind::Gc, 0, 80, 1), op(Kind::Optimizer, 0, 81, 1)});
  CHECK_FALSE(early.contains("backward-compute 1 > grads-reduce-scatter 1"));
  for (const char* pair : {"backward-compute 1 > gc 0", "gc 0 > optimizer 0", "grads-reduce-scatter 1 > optimizer 0"})
    CHECK(early.contains(pair));
}

TEST_CASE("transfers of a stage follow and precede their computes, and the first backward ones the warm-up") {
  const auto words = order_of({op(Kind::ForwardCompute, 0, 0, 10), op(Kind::ForwardCompute, 1, 10, 10),
                               op(Kind::ForwardCompute, 2, 20, 10), op(Kind::BackwardCompute, 0, 40, 10),
                               op(Kind::ForwardRecv, 0, 0, 1), op(Kind::ForwardRecv, 1, 1, 1),
                               op(Kind::BackwardRecv, 0, 15, 20), op(Kind::BackwardSend, 0, 50, 1)});
  for (const char* pair : {"forward-recv 0 > forward-compute 0", "forward-recv 1 > forward-compute 1",
                           "forward-compute 0 > forward-recv 1", "forward-recv 0 > forward-recv 1",
                           "backward-recv 0 > backward-compute 0", "backward-compute 0 > backward-send 0",
                           "forward-compute 1 > backward-recv 0", "forward-compute 1 > backward-send 0"})
    CHECK(words.contains(pair));
  CHECK(words.size() == 3 + 8);  // and the chain of four computes
}

TEST_CASE("ops are laid out after their predecessors, groups next to each other") {
  const MeasuredSteps job = lay_out(pipeline(1, 4, 2));
  const JobGraph& graph = job.graph;
  REQUIRE(graph.ops.size() == 2 * 2 * (4 * 4 + 6));
  CHECK(job.steps == std::vector<std::int64_t>{0, 1});
  CHECK(job.ranks == std::vector<std::int64_t>{0, 1, 2, 3});
  std::map<std::size_t, std::size_t> sizes;
  for (std::size_t group = 0; group < graph.groups(); ++group) {
    ++sizes[graph.group_first[group + 1] - graph.group_first[group]];
    for (const std::uint32_t before : graph.followed_by(group)) CHECK(before < graph.group_first[group]);
  }
  // Alone: 2 x 2 workers' computes (8), gc and optimizer. Pairs: 4 batches' sends both ways in 2 replicas, gathers and
  // reductions of 2 stages, embeddings of 2 replicas. All four workers clip together.
  CHECK(sizes == std::map<std::size_t, std::size_t>{{1, 4 * 10}, {2, 16 + 4 + 2}, {4, 1}});
}

TEST_CASE("the replay is the engine's, to the picosecond") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const MeasuredSteps job = lay_out(pipeline(seed, 1 + static_cast<std::uint32_t>(seed % 5), 1));
    const JobGraph& graph = job.graph;
    Random random(seed, 1);
    std::vector<double> durations;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) durations.push_back(std::floor(1e6 * random.uniform()));
    const ReplayedStep step = replay_step(graph, [&](std::uint32_t i) { return durations[i]; });
    TaskGraph tasks;  // an op each, then a gate of each group, which takes no time
    std::int64_t rank = 0;
    for (const double duration : durations)
      tasks.add({.position = rank++, .duration = Time(static_cast<std::int64_t>(duration))});
    for (std::size_t group = 0; group < graph.groups(); ++group) {
      const TaskId gate = tasks.add({.position = rank++});
      for (const std::uint32_t before : graph.followed_by(group)) tasks.precede(before, gate);
      for (std::uint32_t member = graph.group_first[group]; member < graph.group_first[group + 1]; ++member)
        tasks.precede(gate, member);
    }
    tasks.link();
    UnlimitedServer server;
    const Timeline timeline =
        replay(tasks, {{{"ops", {.window = {.count = Window::unlimited}}, 0}}, {{&server, Phase::Compute}}, {}});
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      CHECK(static_cast<double>(timeline.spans[i].start.count()) == step.start[i]);
      CHECK(static_cast<double>(timeline.spans[i].end.count()) == step.end[i]);
    }
  }
}

TEST_CASE("many questions in one replay have the same answers as separate ones") {
  const MeasuredSteps job = lay_out(pipeline(7, 3, 3));
  const JobDurations durations = durations_of(job);
  std::vector<Question> questions{{}, {.inverted = true}};
  for (std::uint32_t kind = 0; kind < op_kind_count; ++kind) questions.push_back({.kinds = std::uint32_t{1} << kind});
  for (std::int64_t i = 0; i < 2; ++i) {
    questions.push_back({.replica = i});
    questions.push_back({.stage = i, .inverted = true});
  }
  std::size_t advanced = 0;
  const auto times = step_times(job, durations, questions, [&] { ++advanced; });
  CHECK(advanced == rounds_of(job, questions.size()));
  for (std::size_t q = 0; q < questions.size(); ++q)
    for (std::size_t step = 0; step < 3; ++step) {
      const ReplayedStep one = replay_step(job.graph, [&](std::uint32_t i) {
        return questions[q].keeps(job, job.graph.ops[i])
                   ? durations.own[step * job.graph.ops.size() + i]
                   : durations.ideal[static_cast<std::size_t>(job.graph.ops[i].kind)];
      });
      CHECK(times[q][step] == one.end[one.last]);
    }
}

TEST_CASE("the cost of one slow replica is the answer to the question about its ops") {
  for (const std::uint32_t replicas : {1U, 2U, 3U, 11U}) {
    MeasuredJob measured = pipeline(replicas, 3, 2);
    std::vector<MeasuredOp> ops;
    Random random(replicas, 2);
    for (std::uint32_t replica = 0; replica < replicas; ++replica)
      for (MeasuredOp one : measured.ops)
        if (one.replica == 0) {
          one.replica = replica;
          one.duration = Time(static_cast<std::int64_t>(1e9 * random.uniform()));
          ops.push_back(one);
        }
    measured.ops = std::move(ops);
    const MeasuredSteps job = lay_out(std::move(measured));
    const JobDurations durations = durations_of(job);
    std::vector<Question> questions;
    for (std::int64_t replica = 0; replica < replicas; ++replica) questions.push_back({.replica = replica});
    CHECK(replica_times(job, durations) == step_times(job, durations, questions, [] {}));
  }
}

TEST_CASE("thousands of ops at a step's end that wait for thousands are refused") {
  MeasuredJob job{.files = {"job.csv"}, .ops = {op(Kind::ForwardCompute, 0, 0, 1), op(Kind::BackwardCompute, 0, 1, 1)}};
  for (std::uint32_t i = 0; i < 2000; ++i) {
    job.ops.push_back(op(Kind::Gc, i, 2, 0));
    job.ops.push_back(op(Kind::Optimizer, i, 3, 0));
  }
  CHECK(error_place([&] { lay_out(std::move(job)); }) == "job.csv: line 0");
}

TEST_CASE("a group's durations count from its last start, and members that ended long before it took none") {
  MeasuredJob job{.files = {"job.csv"}};
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const double late = replica == 2 ? 20'000 : 0;  // us
    for (MeasuredOp one : {op(Kind::ForwardCompute, 0, late, 10), op(Kind::BackwardCompute, 0, late + 10, 10),
                           op(Kind::GradsReduceScatter, 0, late + 20, replica == 1 ? 12'000 : 500)}) {
      one.replica = replica;
      job.ops.push_back(one);
    }
  }
  const MeasuredSteps steps = lay_out(job);
  const JobDurations durations = durations_of(steps);
  std::map<std::uint32_t, double> own;  // of the reduction, by replica
  for (std::size_t i = 0; i < steps.graph.ops.size(); ++i)
    if (steps.graph.ops[i].kind == Kind::GradsReduceScatter) own[steps.graph.ops[i].replica] = durations.own[i] * 1e-6;
  // All count from 20,020 us: replica 0 ended at 520, more than 10 ms before; replica 1 at 12,020, 8 ms before.
  CHECK(own == std::map<std::uint32_t, double>{{0, 0}, {1, -8000}, {2, 500}});
  CHECK(durations.ideal[static_cast<std::size_t>(Kind::GradsReduceScatter)] == 0);  // the median
  CHECK(durations.ideal[static_cast<std::size_t>(Kind::ForwardCompute)] == 10e6);
}

TEST_CASE("differences between workers are named") {
  const auto complaint = [](const std::function<void(MeasuredJob&)>& change) {
    MeasuredJob job = pipeline(1, 2, 2);
    change(job);
    return error_place([&] { lay_out(std::move(job)); });
  };
  CHECK(complaint([](MeasuredJob&) {}).empty());
  const auto at = [](const MeasuredJob& job, std::int64_t step, std::uint32_t replica, Kind kind) {
    return std::find_if(job.ops.begin(), job.ops.end(), [&](const MeasuredOp& one) {
      return one.step == step && one.replica == replica && one.kind == kind;
    });
  };
  CHECK(complaint([&](MeasuredJob& job) { job.ops.erase(at(job, 1, 1, Kind::Gc)); }) == "job.csv");
  CHECK(complaint([&](MeasuredJob& job) { job.ops.erase(at(job, 0, 0, Kind::Gc)); }) == "job.csv: line 0");
  CHECK(complaint([&](MeasuredJob& job) { job.ops.push_back(*at(job, 0, 1, Kind::Gc)); }) == "job.csv: line 0");
  CHECK(complaint([](MeasuredJob& job) {
          std::erase_if(job.ops, [](const MeasuredOp& one) { return one.kind == Kind::ForwardRecv && one.seq == 1; });
        }) == "job.csv: line 0");
}

TEST_CASE("backward passes that take twice as long as their forward passes vary with them") {
  MeasuredJob job = pipeline(5, 4, 3);
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>, Time> backward;
  for (const MeasuredOp& one : job.ops)
    if (one.kind == Kind::BackwardCompute) backward[{one.step, one.replica, one.stage, one.seq}] = one.duration;
  const auto correlation = [](MeasuredJob of) {
    return diagnose(std::move(of), [](std::size_t) { return [] {}; }).fb_correlation;
  };
  CHECK(std::abs(correlation(job)) < 0.5);  // each drawn for itself
  for (MeasuredOp& one : job.ops)
    if (one.kind == Kind::ForwardCompute) one.duration = backward.at({one.step, one.replica, one.stage, one.seq}) / 2;
  CHECK(correlation(job) == Approx(1));
}

TEST_CASE("a slow worker has a compute ratio of as much, over the other replicas of its stage") {
  MeasuredJob job = pipeline(6, 4, 3);
  std::map<std::tuple<std::int64_t, std::uint32_t, Kind, std::uint32_t>, Time> of_replica_0;
  for (const MeasuredOp& one : job.ops)
    if (one.replica == 0) of_replica_0[{one.step, one.stage, one.kind, one.seq}] = one.duration;
  for (MeasuredOp& one : job.ops) {
    one.duration = of_replica_0.at({one.step, one.stage, one.kind, one.seq});
    const bool computes = one.kind == Kind::ForwardCompute || one.kind == Kind::BackwardCompute;
    if (computes && one.replica == 1 && one.stage == 1) one.duration = scaled(one.duration, 1.4);
  }
  const Diagnosis known = diagnose(job, [](std::size_t) { return [] {}; });
  const std::vector<double> ratios = compute_ratios(known);  // by stage, then replica
  const double expected[] = {1, 1, 1 / 1.4, 1.4};
  REQUIRE(ratios.size() == 4);
  for (std::size_t worker = 0; worker < 4; ++worker) CHECK(ratios[worker] == Approx(expected[worker]));
  const double all = compute_ratio_of_replica(known, 1);
  CHECK((all > 1 && all < 1.4 && compute_ratio_of_replica(known, 0) == Approx(1 / all)));
  std::erase_if(job.ops, [](const MeasuredOp& one) { return one.replica == 0; });
  for (MeasuredOp& one : job.ops) one.replica = 0;
  CHECK(compute_ratios(diagnose(job, [](std::size_t) { return [] {}; })).empty());
}

}  // namespace job_graph_test
