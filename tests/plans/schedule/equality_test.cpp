// The choices of planners if two candidates are equal, or a bound is just met.
#include "tests/catch.hpp"

#include "sim/plans/schedule/codec.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/us_byte.hpp"

using namespace allreplay;

namespace {

constexpr double ms = 1e-3;

// From the input on: backward times in ms, and bytes of the one tensor of each layer.
Profile layered(const std::vector<double>& backward_ms, const std::vector<Bytes>& bytes) {
  Profile profile;
  for (std::size_t layer = 0; layer < bytes.size(); ++layer) {
    profile.layers.push_back({std::to_string(layer), Time(0), to_time(backward_ms[layer] * ms)});
    profile.tensors.push_back({std::to_string(layer), bytes[layer] / 4, bytes[layer], static_cast<LayerId>(layer)});
  }
  return profile;
}

std::vector<Bytes> sizes(const BucketSchedule& plan) {
  std::vector<Bytes> sizes;
  for (const Block& block : plan.blocks) sizes.push_back(block.bytes());
  return sizes;
}

const StrategyOptions defaults;

}  // namespace

TEST_CASE("optimal-merge: among equals the larger block wins") {
  // Without start-up, T(p) + T(p') = T(p + p'), and all three are ready at 2 ms: every merge ends at 2 ms + 600 ns.
  const Profile together = layered({0, 0, 2}, {100, 200, 300});
  CHECK(sizes(schedule_optimal_merge({together, CommCost(0, 1e-9), defaults})) == std::vector<Bytes>{600});
  // T = 1 ms whatever the bytes. Ready at 1, 2, 3 ms. Alone each ends at 2, 3, 4; {first two}, last: 3, 4; all: 4.
  const Profile spread = layered({1, 1, 1}, {100, 200, 300});
  CHECK(sizes(schedule_optimal_merge({spread, CommCost(1 * ms, 0), defaults})) == std::vector<Bytes>{600});
}

TEST_CASE("mg-wfbp: a gain that equals the wait is not a gain") {
  // a = 1 ms. The second is ready exactly 1 ms after the first could start: the merge gains nothing, and is not made.
  CHECK(sizes(schedule_mg_wfbp({layered({1, 1}, {400, 300}), CommCost(1 * ms, 0), defaults})) ==
        std::vector<Bytes>{300, 400});
  CHECK(sizes(schedule_mg_wfbp({layered({0.999, 1}, {400, 300}), CommCost(1 * ms, 0), defaults})) ==
        std::vector<Bytes>{700});
}

TEST_CASE("horovod: gradients up to exactly the threshold are fused, a byte more is not") {
  StrategyOptions options;
  options.cycle = to_time(10 * ms);
  options.threshold = 100;
  CHECK(sizes(schedule_horovod({layered({1, 1}, {60, 40}), CommCost(0, 0), options})) == std::vector<Bytes>{100});
  CHECK(sizes(schedule_horovod({layered({1, 1}, {60, 44}), CommCost(0, 0), options})) == std::vector<Bytes>{44, 60});
  // Ready at 10 and 20 ms, each at the end of its cycle: two cycles. The same at 10 and 10.001.
  CHECK(sizes(schedule_horovod({layered({10, 10}, {60, 40}), CommCost(0, 0), options})) == std::vector<Bytes>{40, 60});
  CHECK(sizes(schedule_horovod({layered({0.001, 10}, {60, 40}), CommCost(0, 0), options})) ==
        std::vector<Bytes>{40, 60});
  CHECK(sizes(schedule_horovod({layered({9.999, 0.001}, {60, 40}), CommCost(0, 0), options})) ==
        std::vector<Bytes>{100});
}

TEST_CASE("ddp: a bucket that just reaches its cap is closed") {
  StrategyOptions options;
  options.first_bucket = 100;
  options.bucket_cap = 200;
  CHECK(sizes(schedule_ddp({layered({1, 1, 1, 1}, {4, 200, 40, 60}), CommCost(0, 0), options})) ==
        std::vector<Bytes>{100, 200, 4});
}

TEST_CASE("us-byte: the whole rest is sent if it ends exactly when the next gradient is ready") {
  // T = 1 ms whatever the bytes; tensor 1 is ready at 1 ms and tensor 0 at 2 ms, so that 1 ms is left. One partition of
  // 4 B would fill it, too, but so do all 12 B.
  const Profile profile = layered({1, 1}, {4, 12});
  const UsByteModel model(profile, CommCost(1 * ms, 0), 4);
  const auto schedule = model.schedule(model.sequential(), model.sequential());
  REQUIRE(schedule.operations.size() == 2);
  CHECK(schedule.operations[0].slice.tensor == 1);
  CHECK(schedule.operations[0].slice.bytes == 12);
  CHECK(schedule.first_phase == 1);
}

TEST_CASE("us-byte: a gradient that is ready exactly when a tensor has arrived does not wait for it (Eq. 13)") {
  // T = 1 ms + 1 ms per 1000 B, in partitions of 1000 B. Tensor 2 (3000 B) is ready at 1 ms and alone there until 5;
  // tensor 1 (1000 B) is ready at 2.5, tensor 0 (1000 B) at 5. In sequence: 2 [1000 B] 1-3, 1 3-5, 0 5-7, 2 [the rest]
  // 7-10. With 2 above 1: 2 1-5, 0 5-7, 1 7-9, an earlier end; tensor 0 needs no place behind it.
  const Profile profile = layered({2.5, 1.5, 1}, {1000, 1000, 3000});
  const UsByteModel model(profile, CommCost(1 * ms, 1e-6), 1000);
  CHECK(model.schedule({0, 1, 2}, model.sequential()).iteration == to_time(10 * ms));
  CHECK(model.schedule({0, 2, 1}, model.sequential()).iteration == to_time(9 * ms));
  CHECK(model.greedy() == Priorities{0, 2, 1});
}

TEST_CASE("a codec's given times apply to a worker without slowdown") {
  const CodecCosts costs{"signsgd", &find_codec("signsgd", {}), "", "estimated", "", {0.5 * ms}, {0.05 * ms}};
  CodecOptions options;
  options.encode = to_time(3 * ms);
  options.decode = to_time(1 * ms);
  const Compression slowed(costs, options, 8, 4, 2.5);
  CHECK(slowed.encode(4000) == to_time(7.5 * ms));
  CHECK(slowed.decode(4000) == to_time(2.5 * ms));
  CHECK(slowed.encode(0) == Time(0));
  CHECK(slowed.decode(0) == Time(0));
}
