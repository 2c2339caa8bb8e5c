// Plans that a replay cannot distinguish.
#include "sim/plans/schedule/alike.hpp"

#include <functional>

#include "tests/catch.hpp"

#include "sim/plans/schedule/strategy.hpp"

using namespace allreplay;

namespace {

// Two layers, a tensor of 40 and one of 20 bytes; each a block.
Plan plan_of_two() {
  Profile profile;
  for (const char* name : {"in", "out"}) profile.layers.push_back({name, Time(1), Time(2)});
  profile.tensors = {{"in.weight", 10, 40, 0}, {"out.weight", 5, 20, 1}};
  BucketSchedule schedule;
  schedule.strategy = "two";
  schedule.blocks = {{{{1, 0, 20}}, 7}, {{{0, 0, 40}}, 3}};
  return expand(schedule, profile);
}

}  // namespace

TEST_CASE("windows that everything fits into count as unlimited") {
  const auto opened = [](Window window) {
    Plan plan = plan_of_two();
    plan.lanes.front().window = window;
    open_idle_windows(plan);
    return plan.lanes.front().window;
  };
  constexpr auto open = Window::unlimited;
  CHECK(opened({1, open}) == Window{1, open});
  CHECK(opened({2, open}) == Window{open, open});
  CHECK(opened({open, 59}) == Window{open, 59});  // of 60 bytes
  CHECK(opened({open, 60}) == Window{open, open});
  CHECK(opened({1, 1000}) == Window{1, open});
}

TEST_CASE("plans are equal unless something differs that the replay reads") {
  const Plan plan = plan_of_two();
  Plan other = plan;
  other.strategy = "other";
  other.queueing.reset();
  CHECK(replayed_alike(plan, other));
  CHECK(digest_of(plan) == digest_of(other));
  const std::function<void(Plan&)> changes[] = {
      [](Plan& one) { one.sharding.accumulate = 2; },
      [](Plan& one) { one.sharding.shard_group = 2; },
      [](Plan& one) { std::swap(one.program().front(), one.program().back()); },
      [](Plan& one) { one.blocks[0].priority = 8; },
      [](Plan& one) { one.blocks[1].tick = 1; },
      [](Plan& one) { one.blocks[0].slices[0].tensor = 0; },
      [](Plan& one) { one.blocks[0].slices[0].offset = 1; },
      [](Plan& one) { one.blocks[0].slices[0].bytes = 19; },
      [](Plan& one) {
        one.blocks[0].slices.push_back({0, 0, 1});
      },
      [](Plan& one) { one.blocks.pop_back(); },
      [](Plan& one) { one.transfers[0].priority = 1; },
      [](Plan& one) { one.transfers.pop_back(); },
      [](Plan& one) { one.gates.pop_back(); },
      [](Plan& one) { one.lanes[0].window.count = 5; },
      [](Plan& one) { one.lanes[0].order = Order::AsListed; },
      [](Plan& one) { one.lanes[0].tick = Time(5); },
      [](Plan& one) { one.copy_rate = 1e9; },
      [](Plan& one) { one.memory_policy.whole_gradients = true; },
  };
  std::size_t number = 0;
  for (const auto& change : changes) {
    INFO("change " << number++);
    other = plan;
    change(other);
    CHECK_FALSE(replayed_alike(plan, other));
    CHECK_FALSE(replayed_alike(other, plan));
  }
}
