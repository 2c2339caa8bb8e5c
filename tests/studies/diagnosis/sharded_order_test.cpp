// The rules of sharded jobs, by hand; and their replay against the engine's.
#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/studies/diagnosis/unlimited_server.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/engine/replay.hpp"
#include "sim/studies/diagnosis/exposure.hpp"
#include "sim/studies/diagnosis/job_graph.hpp"
#include "sim/studies/diagnosis/job_replay.hpp"

using namespace allreplay;

namespace sharded_order_test {

namespace {

using Kind = OpKind;

MeasuredOp op(std::uint32_t replica, Kind kind, std::uint32_t unit, double start_us, double end_us) {
  const bool computes = kind == Kind::ForwardCompute || kind == Kind::BackwardCompute;
  return {.start = to_time(start_us * 1e-6),
          .duration = to_time((end_us - start_us) * 1e-6),
          .replica = replica,
          .seq = computes ? 0 : unit,
          .chunk = static_cast<std::int32_t>(computes ? unit : 0),
          .kind = kind};
}

// Returns "unit-reduce 2 < backward-compute of unit 2, micro-batch 0, …" for each op of replica 0, in one step.
std::map<std::string, std::set<std::string>> dependencies(const MeasuredSteps& job) {
  std::map<std::string, std::set<std::string>> words;
  for (std::uint32_t i = 0; i < job.graph.ops.size(); ++i)
    if (job.graph.ops[i].replica == 0)
      for (const std::uint32_t before : job.sharded.front().followed_by(i))
        words[op_name(job, job.graph.ops[i])].insert(op_name(job, job.graph.ops[before]));
  return words;
}

// Random lengths of three ranks in two groups, with gathers one ahead.
MeasuredJob random_job(std::uint64_t seed, std::uint32_t units) {
  Random random(seed, 0);
  MeasuredJob job{.files = {"job.csv"}};
  const std::uint32_t half = job.group("half");
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    double at = 0;
    const auto length = [&] { return std::floor(1 + 50 * random.uniform()); };
    const auto add = [&](Kind kind, std::uint32_t unit, double start, double duration) {
      job.ops.push_back(op(replica, kind, unit, start, start + duration));
      if (kind == Kind::UnitReduce && replica > 0) job.ops.back().group = half;
      return start + duration;
    };
    for (std::uint32_t unit = 0; unit < units; ++unit) {
      add(Kind::UnitForwardGather, unit, at, length());
      at = add(Kind::ForwardCompute, unit, at + length(), length());
    }
    for (std::uint32_t unit = units; unit-- > 0;) {
      add(Kind::UnitBackwardGather, unit, at, length());
      at = add(Kind::BackwardCompute, unit, at + length(), length());
      add(Kind::UnitReduce, unit, at, length());
      if (unit == 0) add(Kind::OtherCollective, 0, at, length());
    }
    add(Kind::Optimizer, 0, at + 100, length());
  }
  return job;
}

}  // namespace

TEST_CASE("the predecessors of an op of a sharded job") {
  MeasuredJob job{.files = {"job.csv"}};
  // Gather 1 starts while unit 0 computes; the other collective runs between the units.
  for (const std::uint32_t replica : {0U, 1U})
    for (const MeasuredOp& one :
         {op(replica, Kind::UnitForwardGather, 0, 0, 1), op(replica, Kind::ForwardCompute, 0, 1, 4),
          op(replica, Kind::UnitForwardGather, 1, 2, 3), op(replica, Kind::OtherCollective, 0, 4, 5),
          op(replica, Kind::ForwardCompute, 1, 5, 7), op(replica, Kind::BackwardCompute, 1, 7, 9),
          op(replica, Kind::UnitBackwardGather, 0, 7, 8), op(replica, Kind::UnitReduce, 1, 9, 10),
          op(replica, Kind::UnitReplicate, 1, 10, 12), op(replica, Kind::BackwardCompute, 0, 9, 11),
          op(replica, Kind::UnitReduce, 0, 11, 12), op(replica, Kind::UnitReplicate, 0, 12, 14),
          op(replica, Kind::Optimizer, 0, 14, 15)})
      job.ops.push_back(one);
  const std::string f0 = "forward-compute of unit 0, micro-batch 0", f1 = "forward-compute of unit 1, micro-batch 0",
                    b0 = "backward-compute of unit 0, micro-batch 0", b1 = "backward-compute of unit 1, micro-batch 0";
  const MeasuredSteps steps = lay_out(job);
  CHECK(dependencies(steps) ==
        std::map<std::string, std::set<std::string>>{
            {f0, {"unit-forward-gather 0"}},
            {"unit-forward-gather 1", {"unit-forward-gather 0"}},
            {"other-collective 0", {f0}},
            {f1, {f0, "unit-forward-gather 1", "other-collective 0"}},
            {b1, {f1, "other-collective 0"}},
            {"unit-backward-gather 0", {"unit-forward-gather 1", f1}},
            {"unit-reduce 1", {b1}},
            {"unit-replicate 1", {b1, "unit-reduce 1"}},
            {b0, {b1, "unit-backward-gather 0", "other-collective 0"}},
            {"unit-reduce 0", {b0, "unit-reduce 1"}},
            {"unit-replicate 0", {b0, "unit-reduce 0", "unit-replicate 1"}},
            {"optimizer 0",
             {b0, "unit-reduce 0", "unit-reduce 1", "unit-replicate 0", "unit-replicate 1", "other-collective 0"}}});
  // The compute stream waits for gather 0, and 3 us for the last replication.
  const Exposure exposure = exposure_of(steps);
  CHECK(exposure.gathers.total_s() == Approx(1e-6));
  CHECK(exposure.reductions.transfer_s == Approx(3e-6));
  CHECK(exposure.reductions.gap_s == Approx(0).margin(1e-15));
  CHECK(exposure.reductions.total_s() == Approx(3e-6));
}

TEST_CASE("the replay of a sharded job is the engine's, to the picosecond") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const MeasuredSteps job = lay_out(random_job(seed, 1 + static_cast<std::uint32_t>(seed % 5)));
    const JobGraph& graph = job.graph;
    const ShardedStep& rules = job.sharded.front();
    Random random(seed, 1);
    std::vector<double> durations;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) durations.push_back(std::floor(1e6 * random.uniform()));
    const ReplayedStep step = replay_step(job, 0, [&](std::uint32_t i) { return durations[i]; });
    TaskGraph tasks;  // an op each, its gap, then a gate of each group, which takes no time
    std::int64_t position = 0;
    for (const std::vector<double>* lengths : {static_cast<const std::vector<double>*>(&durations), &rules.gap})
      for (const double length : *lengths)
        tasks.add({.position = position++, .duration = Time(static_cast<std::int64_t>(length))});
    const auto size = static_cast<std::uint32_t>(graph.ops.size());
    for (std::uint32_t i = 0; i < size; ++i)
      for (const std::uint32_t before : rules.followed_by(i)) tasks.precede(before, size + i);
    for (std::size_t group = 0; group < graph.groups(); ++group) {
      const TaskId gate = tasks.add({.position = position++});
      for (std::uint32_t member = graph.group_first[group]; member < graph.group_first[group + 1]; ++member) {
        tasks.precede(size + member, gate);
        tasks.precede(gate, member);
      }
    }
    tasks.link();
    UnlimitedServer server;
    const Timeline timeline =
        replay(tasks, {{{"ops", {.window = {.count = Window::unlimited}}, 0}}, {{&server, Phase::Compute}}, {}});
    for (std::uint32_t i = 0; i < size; ++i) {
      CHECK(static_cast<double>(timeline.spans[size + i].end.count()) == step.start[i]);
      CHECK(static_cast<double>(timeline.spans[i].end.count()) == step.end[i]);
    }
  }
}

TEST_CASE(
    "questions about a sharded job have the same answers together as separately, and lanes the same as one replay") {
  const MeasuredSteps job = lay_out(random_job(7, 4));
  const JobDurations durations = durations_of(job);
  std::vector<Question> questions{{}, {.inverted = true}};
  for (std::int64_t replica = 0; replica < 3; ++replica) questions.push_back({.replica = replica});
  for (std::uint32_t kind = 0; kind < op_kind_count; ++kind) questions.push_back({.kinds = std::uint32_t{1} << kind});
  const auto times = step_times(job, durations, questions, [] {});
  for (std::size_t q = 0; q < questions.size(); ++q) {
    CHECK(step_times(job, durations, {&questions[q], 1}, [] {}).front() == times[q]);
    const ReplayedStep one = replay_step(job, 0, [&](std::uint32_t i) {
      return questions[q].keeps(job, job.graph.ops[i]) ? durations.own[i] : durations.ideal_by_op[i];
    });
    CHECK(times[q].front() == one.end[one.last]);
  }
  CHECK(replica_times(job, durations)[1] == times[3]);
}

}  // namespace sharded_order_test
