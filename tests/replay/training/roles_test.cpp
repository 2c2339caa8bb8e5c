// Workers that run programs of their own, and meet in transfers.
#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

TEST_CASE("roles run programs of their own, and wait for each other in common transfers") {
  // Worker 0 computes layer 0 (F 1 ms, B 2 ms), worker 1 layer 1 (F 3 ms, B 4 ms). Between a backward and the next
  // forward pass both send a megabyte among themselves: 1 ms at 1 ns/B.
  Profile profile;
  profile.layers = {{"small", to_time(1e-3), to_time(2e-3)}, {"large", to_time(3e-3), to_time(4e-3)}};
  const Scenario scenario = scenario_of(profile, "wfbp", 2, 0, 1e-9);
  Plan plan;
  plan.roles = {{"small", {{Activity::Backward, 0}, {Activity::Forward, 0}}, {0}},
                {"large", {{Activity::Backward, 1}, {Activity::Forward, 1}}, {1}}};
  plan.lanes = {{"network"}};
  plan.transfers = {{.op = CollectiveOp::AllReduce, .bytes = 1'000'000}};
  for (const std::uint32_t role : {0, 1}) {
    plan.gates.push_back({work(0, role), transfer(0)});
    plan.gates.push_back({transfer(0), work(1, role)});
  }
  const Result result = simulate(scenario, plan);
  // Worker 1 is never late for its own: B 4, the transfer 1, F 3.
  CHECK(result.metrics.iteration_s == Approx(8e-3));
  // In the steady period worker 0 starts 2 ms before it, at 6 - 8, and waits: B to 2, the transfer from 6 to 7, F to 8.
  const Unrolled& unrolled = result.unrolled;
  const std::vector<Span>& spans = result.episodes.back().timeline.spans;
  CHECK(unrolled.works(0) == 2);
  CHECK(to_seconds(spans[unrolled.work(0, 0)].end) == Approx(2e-3));
  CHECK(to_seconds(spans[unrolled.work(1, 0)].start) == Approx(2e-3));
  CHECK(to_seconds(spans[unrolled.transfer(0)].start) == Approx(6e-3));
  CHECK(to_seconds(spans[unrolled.last_work(0)].end) == Approx(8e-3));
  CHECK(to_seconds(spans[unrolled.last_work(1)].end) == Approx(10e-3));
  // A gate that names one role does not affect the other: worker 0 need not wait, and runs ahead.
  plan.gates.erase(plan.gates.begin() + 1);
  const Result ahead = simulate(scenario, plan);
  CHECK(to_seconds(ahead.episodes.back().timeline.spans[ahead.unrolled.last_work(0)].end) == Approx(3e-3));
}

TEST_CASE("workers of one role with equal slowdowns are one class") {
  const std::vector<Role> roles{{"first", {}, {0, 1, 2}}, {"second", {}, {3, 4, 5}}};
  const std::vector<WorkerClass> classes = worker_classes({.slow = {{1, 2.0}, {4, 2.0}}}, 6, true, roles);
  REQUIRE(classes.size() == 4);
  CHECK(classes[0].workers == std::vector<std::int64_t>{0, 2});
  CHECK(classes[1].workers == std::vector<std::int64_t>{1});
  CHECK(classes[2].workers == std::vector<std::int64_t>{3, 5});
  CHECK(classes[3].workers == std::vector<std::int64_t>{4});
  CHECK(classes[1].role == 0);
  CHECK(classes[3].role == 1);
}
