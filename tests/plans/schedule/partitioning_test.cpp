#include "tests/catch.hpp"

#include "sim/plans/schedule/planners.hpp"

using namespace allreplay;

namespace {

Profile two_layers() {
  Profile profile;
  profile.layers = {{"in", Time(1), Time(1)}, {"out", Time(1), Time(1)}};
  profile.tensors = {{"in.weight", 250, 1000, 0}, {"in.bias", 25, 100, 0}, {"out.weight", 100, 400, 1}};
  return profile;
}

}  // namespace

TEST_CASE("a tensor is cut into slices of the partition's size, the short one last") {
  const auto slices = cut(3, 1000, 400);
  REQUIRE(slices.size() == 3);
  CHECK(slices[2].tensor == 3);
  CHECK(slices[2].offset == 800);
  CHECK(slices[2].bytes == 200);
  CHECK(cut(0, 400, 400).size() == 1);
  CHECK(cut(0, 400, 1'000'000'000'000).size() == 1);  // larger than the tensor: it stays whole
}

TEST_CASE("ByteScheduler and P3 list slices by tensor, then offset, with the layer as priority") {
  const Profile profile = two_layers();
  const CommCost cost(1e-3, 1e-9);
  StrategyOptions options;
  options.partition = 400;
  options.credit = {.count = 7};
  const BucketSchedule plan = make_bucket_schedule(find_strategy("bytescheduler", {}), {profile, cost, options});
  REQUIRE(plan.blocks.size() == 5);
  CHECK(plan.blocks[1].slices[0].offset == 400);
  CHECK(plan.blocks[3].slices[0].tensor == 1);
  CHECK(plan.blocks[3].priority == 0);
  CHECK(plan.blocks[4].priority == 1);
  CHECK(plan.order == Order::Priority);
  CHECK(plan.window.count == 7);
  CHECK(plan.barrier == Barrier::Layer);
  const BucketSchedule p3 = make_bucket_schedule(find_strategy("p3", {}), {profile, cost, options});
  CHECK(p3.window.count == 1);
  CHECK(p3.blocks.size() == 5);
  CHECK(make_plan(find_strategy("p3", {}), {profile, cost, StrategyOptions{}}).blocks.size() == 3);
}

TEST_CASE("DeAR fuses whole layers in forward order while they stay below the threshold") {
  const Profile profile = two_layers();  // 1100 B and 400 B
  const CommCost cost(1e-3, 1e-9);
  StrategyOptions options;
  const auto sizes = [&](Bytes threshold) {
    options.threshold = threshold;
    std::vector<Bytes> list;
    for (const Block& block : make_bucket_schedule(find_strategy("dear", {}), {profile, cost, options}).blocks)
      list.push_back(block.bytes());
    return list;
  };
  // Listed as the backward pass makes them. A layer is never cut, nor the first of a group refused.
  CHECK(sizes(500) == std::vector<Bytes>{400, 1100});
  CHECK(sizes(1500) == std::vector<Bytes>{400, 1100});  // their sum is not below
  CHECK(sizes(1501) == std::vector<Bytes>{1500});
  const BucketSchedule plan = make_bucket_schedule(find_strategy("dear", {}), {profile, cost, options});
  CHECK(plan.blocks[0].priority == 0);
  CHECK(plan.split);
}

TEST_CASE("P3 cuts 40,000 elements, of whatever type") {
  Profile profile = two_layers();
  const CommCost cost(1e-3, 1e-9);
  profile.tensors = {{"w", 100'000, 200'000, 0}};  // two bytes each
  const BucketSchedule plan = make_bucket_schedule(find_strategy("p3", {}), {profile, cost, StrategyOptions{}});
  REQUIRE(plan.blocks.size() == 3);
  CHECK(plan.blocks[0].bytes() == 80'000);
}
