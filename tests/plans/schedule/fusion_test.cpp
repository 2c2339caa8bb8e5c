#include "tests/catch.hpp"
#include "tests/random_profile.hpp"

#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/pytorch_buckets.hpp"

using namespace allreplay;

namespace fusion_test {

namespace {

// One tensor per layer, listed in backward order: bytes, and ready times in ms.
Profile backward(const std::vector<Bytes>& bytes, const std::vector<double>& ready_ms) {
  Profile profile;
  Time last{0};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Time ready = to_time(ready_ms[i] * 1e-3);
    profile.layers.insert(profile.layers.begin(), Layer{std::to_string(i), Time(0), ready - last});
    last = ready;
  }
  for (std::size_t layer = 0; layer < bytes.size(); ++layer) {
    const Bytes size = bytes[bytes.size() - 1 - layer];
    profile.tensors.push_back({std::to_string(layer), size / 4, size, static_cast<LayerId>(layer)});
  }
  return profile;
}

std::vector<Bytes> sizes(const BucketSchedule& plan) {
  std::vector<Bytes> sizes;
  for (const Block& block : plan.blocks) sizes.push_back(block.bytes());
  return sizes;
}

const CommCost no_cost(0, 0);

}  // namespace

TEST_CASE("ddp: a bucket closes once it reaches its cap, the first at 1 MiB") {
  const Bytes mb = Bytes{1} << 20;
  // 0.5 + 0.75 reach 1 MiB; 20 + 4 do not reach 25, 20 + 4 + 8 do; the rest is the last bucket.
  const Profile profile = backward({mb / 2, mb * 3 / 4, 20 * mb, 4 * mb, 8 * mb, 3 * mb}, {1, 2, 3, 4, 5, 6});
  const StrategyOptions defaults;
  const BucketSchedule plan = schedule_ddp({profile, no_cost, defaults});
  CHECK(sizes(plan) == std::vector<Bytes>{mb * 5 / 4, 32 * mb, 3 * mb});
  CHECK(plan.order == Order::AsListed);
  // A cap that is given is the first bucket's, too: 0.5 + 0.75 + 20 reach 4 MiB.
  StrategyOptions small;
  small.bucket_cap = 4 * mb;
  CHECK(sizes(schedule_ddp({profile, no_cost, small})) == std::vector<Bytes>{mb * 85 / 4, 4 * mb, 8 * mb, 3 * mb});
  StrategyOptions usual;
  usual.bucket_cap = 25 * mb;
  CHECK(sizes(schedule_ddp({profile, no_cost, usual})) == std::vector<Bytes>{mb * 101 / 4, 11 * mb});
  small.first_bucket = mb;
  CHECK(sizes(schedule_ddp({profile, no_cost, small})) ==
        std::vector<Bytes>{mb * 5 / 4, 20 * mb, 4 * mb, 8 * mb, 3 * mb});
}

TEST_CASE("horovod: gradients that became ready since the last tick are fused up to the threshold") {
  StrategyOptions options;
  options.cycle = to_time(5e-3);
  options.threshold = 100;
  // Cycles end at 5, 10, 15 ms. Ready at 0 (cycle 0: immediately), 1, 4, 5 (cycle 1), 5.1, 9 (cycle 2), 14 (cycle 3).
  // In cycle 1, 40 + 40 fit and + 40 do not; in cycle 2, 150 exceeds the threshold and is sent separately.
  const Profile profile = backward({8, 40, 40, 40, 150, 60, 12}, {0, 1, 4, 5, 5.1, 9, 14});
  const BucketSchedule plan = schedule_horovod({profile, no_cost, options});
  CHECK(sizes(plan) == std::vector<Bytes>{8, 80, 40, 150, 60, 12});
  CHECK(plan.tick == options.cycle);
  std::vector<std::uint32_t> ticks;
  for (const Block& block : plan.blocks) ticks.push_back(block.tick);
  CHECK(ticks == std::vector<std::uint32_t>{0, 1, 1, 2, 2, 3});
  CHECK(StrategyOptions().cycle == to_time(1e-3));  // since Horovod 0.21
}

TEST_CASE("buckets for PyTorch: whole tensors, the last of the model first, and nothing else") {
  const Profile profile = backward({40, 80, 120}, {1, 2, 3});
  BucketSchedule schedule;
  schedule.strategy = "by hand";
  schedule.window.count = 1;
  schedule.blocks = {{{{2, 0, 40}, {1, 0, 80}}, 0}, {{{0, 0, 120}}, 0}};
  CHECK(pytorch_buckets(expand(schedule, profile), profile) == std::vector<std::int64_t>{30, 30});  // of 4 bytes
  BucketSchedule sliced = schedule;  // two halves, in order
  sliced.blocks[1].slices = {{0, 0, 60}, {0, 60, 60}};
  CHECK(!pytorch_buckets(expand(sliced, profile), profile));
  BucketSchedule otherwise = schedule;  // whole, not in order
  std::swap(otherwise.blocks[0].slices[0], otherwise.blocks[0].slices[1]);
  CHECK(!pytorch_buckets(expand(otherwise, profile), profile));
  BucketSchedule lacking = schedule;
  lacking.blocks.pop_back();
  CHECK(!pytorch_buckets(expand(lacking, profile), profile));
}

TEST_CASE("frameworks' plans send every byte once") {
  Random random(5, 0);
  for (int round = 0; round < 200; ++round) {
    const Profile profile = random_profile(random, 20);
    StrategyOptions options;
    options.bucket_cap = options.threshold = static_cast<Bytes>(1 + random.below(5'000'000));
    options.cycle = to_time(static_cast<double>(1 + random.below(1000)) * 1e-6);
    for (const auto* name : {"ddp", "horovod"})
      CHECK_NOTHROW(make_plan(find_strategy(name, {}), {profile, no_cost, options}));
  }
}

}  // namespace fusion_test
