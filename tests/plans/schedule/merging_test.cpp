#include <algorithm>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/strategy.hpp"

using namespace allreplay;

namespace merging_test {

namespace {

const StrategyOptions defaults;

// Layers 1 … L with backward times in s and one tensor of p bytes each.
Profile tiny(const std::vector<double>& backward, const std::vector<Bytes>& bytes) {
  Profile profile;
  for (std::size_t layer = 0; layer < backward.size(); ++layer) {
    profile.layers.push_back({std::to_string(layer + 1), Time(0), to_time(backward[layer])});
    profile.tensors.push_back({std::to_string(layer + 1), bytes[layer] / 4, bytes[layer], static_cast<LayerId>(layer)});
  }
  return profile;
}

// When the last block ends, since the start of the backward pass: Eq. 7, block by block.
Time end_of(const BucketSchedule& plan, const Profile& profile, const CommCost& cost) {
  std::vector<Time> ready(profile.tensors.size());
  for (const Gradient& gradient : gradients(profile)) ready[gradient.tensor] = gradient.ready;
  Time clock{0};
  for (const Block& block : plan.blocks) {
    for (const Slice& slice : block.slices) clock = std::max(clock, ready[slice.tensor]);
    clock += cost(block.bytes());
  }
  return clock;
}

// Over all 2^(L − 1) contiguous merges.
Time brute_force(const Profile& profile, const CommCost& cost) {
  const auto list = gradients(profile);
  Time best = never;
  for (std::uint32_t cuts = 0; cuts < (1u << (list.size() - 1)); ++cuts) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i < list.size(); ++i)
      if (cuts & (1u << (i - 1))) ends.push_back(i);
    ends.push_back(list.size());
    best = std::min(best, end_of(merge("", list, ends), profile, cost));
  }
  return best;
}

// Algorithm 1 line by line, with CalculateCommStart over all layers after each merge. Units of backward order are
// the paper's layers L, L − 1, …, 1. `launch`: what each tensor of a message takes, merged or not.
std::vector<Bytes> algorithm_1(const Profile& profile, double a_seconds, double b_seconds, Time launch = Time(0)) {
  const auto list = gradients(profile);
  const std::size_t count = list.size();
  const Time a = to_time(a_seconds);
  std::vector<Bytes> p;
  for (const Gradient& gradient : list) p.push_back(gradient.bytes);
  const auto t_ar = [&](Bytes bytes) { return to_time(a_seconds + b_seconds * static_cast<double>(bytes)); };
  std::vector<Time> t_c;
  std::vector<std::int64_t> tensors(count, 1);
  for (const Bytes bytes : p) t_c.push_back(t_ar(bytes) + launch);
  const auto comm_start = [&] {
    std::vector<Time> tau(count);
    tau[0] = list[0].ready;
    for (std::size_t i = 1; i < count; ++i) tau[i] = std::max(tau[i - 1] + t_c[i - 1], list[i].ready);
    return tau;
  };
  std::vector<Time> tau = comm_start();
  std::vector<Bytes> blocks;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (list[i + 1].ready - tau[i] < a) {
      t_c[i] = Time(0);
      p[i + 1] += p[i];
      tensors[i + 1] += tensors[i];
      t_c[i + 1] = t_ar(p[i + 1]) + tensors[i + 1] * launch;
      tau = comm_start();
    } else {
      blocks.push_back(p[i]);
    }
  }
  blocks.push_back(p.back());
  return blocks;
}

BucketSchedule planned(BucketSchedule (*strategy)(const PlanRequest&), const Profile& profile, const BlockCost& cost) {
  BucketSchedule plan = strategy({profile, cost, defaults});
  require_covered(expand(plan, profile), profile);
  return plan;
}

// Whole-nanosecond a and b, so that rounding plays no part.
CommCost random_cost(Random& random) {
  return {static_cast<double>(random.below(2000)) * 1e-6, static_cast<double>(random.below(4)) * 1e-9};
}

}  // namespace

TEST_CASE("the counterexamples to MG-WFBP's Theorem 1") {
  // docs/models.md, "Algorithm 1 and the optimum", with b = 1 s/B.
  const Profile first = tiny({2, 1, 0}, {1, 1, 1});
  CHECK(end_of(planned(schedule_mg_wfbp, first, CommCost(2, 1)), first, {2, 1}) == to_time(8));
  CHECK(end_of(planned(schedule_optimal_merge, first, CommCost(2, 1)), first, {2, 1}) == to_time(7));
  const Profile second = tiny({3, 2, 2, 0}, {1, 1, 1, 4});
  CHECK(end_of(planned(schedule_mg_wfbp, second, CommCost(3, 1)), second, {3, 1}) == to_time(17));
  CHECK(end_of(planned(schedule_optimal_merge, second, CommCost(3, 1)), second, {3, 1}) == to_time(13));
}

TEST_CASE("one pass makes the same merges as Algorithm 1 with all its recalculations") {
  Random random(1, 0);
  for (int round = 0; round < 500; ++round) {
    const Profile profile = random_profile(random, 12);
    const double a = static_cast<double>(random.below(2000)) * 1e-6, b = static_cast<double>(random.below(4)) * 1e-9;
    const Time launch(static_cast<std::int64_t>(random.below(3)) * 500'000'000);  // 0, 0.5 or 1 ms
    std::vector<Bytes> blocks;
    for (const Block& block : planned(schedule_mg_wfbp, profile, {{a, b}, std::nullopt, launch}).blocks)
      blocks.push_back(block.bytes());
    REQUIRE(blocks == algorithm_1(profile, a, b, launch));
  }
}

namespace {

// Algorithm 1 in eighths of a picosecond, so that nothing is rounded: a and b (per byte) in these.
std::vector<Bytes> exact_algorithm_1(const Profile& profile, std::int64_t a, std::int64_t b) {
  const auto list = gradients(profile);
  std::vector<Bytes> blocks;
  std::int64_t start = 8 * list[0].ready.count();
  Bytes bytes = list[0].bytes;
  for (std::size_t next = 1; next < list.size(); ++next) {
    const std::int64_t ready = 8 * list[next].ready.count();
    if (ready - start < a) {  // Eq. 17: the gain is a
      bytes += list[next].bytes;
    } else {
      start += a + b * bytes;
      blocks.push_back(bytes);
      bytes = list[next].bytes;
    }
    start = std::max(start, ready);
  }
  blocks.push_back(bytes);
  return blocks;
}

}  // namespace

TEST_CASE("MG-WFBP decides ties exactly, also without start-up costs") {
  Random random(8, 0);
  int ties = 0;
  for (int round = 0; round < 2000; ++round) {
    // Layers of up to three tensors, which are ready simultaneously; times of some picoseconds, so that ties are
    // frequent.
    Profile profile;
    const std::size_t layers = 1 + random.below(4);
    for (LayerId layer = 0; layer < layers; ++layer) {
      profile.layers.push_back({std::to_string(layer), Time(0), Time(static_cast<std::int64_t>(random.below(30)))});
      for (std::uint64_t i = 0; i < 1 + random.below(3); ++i) {
        const auto elements = static_cast<std::int64_t>(1 + random.below(9));
        profile.tensors.push_back({std::to_string(layer), elements, 4 * elements, layer});
      }
    }
    const auto a = static_cast<std::int64_t>(random.below(2) * random.below(20));
    const auto b = static_cast<std::int64_t>(random.below(9));
    const CommCost cost(static_cast<double>(a) / 8e12, static_cast<double>(b) / 8e12);
    std::vector<Bytes> blocks;
    for (const Block& block : planned(schedule_mg_wfbp, profile, cost).blocks) blocks.push_back(block.bytes());
    REQUIRE(blocks == exact_algorithm_1(profile, a, b));
    ties += a == 0 && profile.tensors.size() > layers;
    // A tie is not merged: of a layer's tensors, which are ready simultaneously, the first is sent separately.
    if (a == 0) CHECK(blocks.front() == profile.tensors.back().bytes);
  }
  CHECK(ties > 100);
  // Without start-ups no merge is faster than wfbp, but for what rounding to the picosecond makes of a block.
  for (int round = 0; round < 100; ++round) {
    const Profile profile = random_profile(random, 4);
    if (profile.tensors.size() > 10) continue;
    const CommCost cost(0, static_cast<double>(random.below(4)) * 1e-9);
    REQUIRE(end_of(planned(schedule_mg_wfbp, profile, cost), profile, cost) == brute_force(profile, cost));
  }
}

TEST_CASE("optimal-merge equals brute force, and nothing beats it") {
  Random random(2, 0);
  int checked = 0, suboptimal = 0;
  while (checked < 300) {
    const Profile profile = random_profile(random, 6);
    if (profile.tensors.size() > 12) continue;
    const CommCost cost = random_cost(random);
    const Time best = end_of(planned(schedule_optimal_merge, profile, cost), profile, cost);
    const Time merged = end_of(planned(schedule_mg_wfbp, profile, cost), profile, cost);
    REQUIRE(best == brute_force(profile, cost));
    REQUIRE(best <= merged);
    REQUIRE(merged <= end_of(planned(schedule_wfbp, profile, cost), profile, cost));
    REQUIRE(merged <= end_of(planned(schedule_sync_easgd, profile, cost), profile, cost));
    REQUIRE(merged <= 2 * best);
    suboptimal += merged > best;
    ++checked;
  }
  CHECK(suboptimal > 0);  // Algorithm 1 is not optimal, and the test can tell
}

TEST_CASE("a measured table needs no straight line to be merged optimally") {
  const std::vector<CostPoint> points{{64, 30e-6}, {8192, 180e-6}, {12288, 790e-6}, {1 << 20, 4700e-6}};  // like K80's
  const CommCost cost(points);
  Random random(3, 0);
  for (int checked = 0; checked < 100;) {
    const Profile profile = random_profile(random, 5);
    if (profile.tensors.size() > 12) continue;
    REQUIRE(end_of(planned(schedule_optimal_merge, profile, cost), profile, cost) == brute_force(profile, cost));
    ++checked;
  }
}

TEST_CASE("the blocks of wfbp, s-sgd and sync-easgd") {
  Random random(4, 0);
  const Profile profile = random_profile(random, 8);
  const CommCost cost(1e-3, 1e-9);
  CHECK(planned(schedule_wfbp, profile, cost).blocks.size() == profile.tensors.size());
  CHECK(planned(schedule_s_sgd, profile, cost).release == Release::Backward);
  CHECK(planned(schedule_sync_easgd, profile, cost).blocks.size() == 1);
  // Within a layer the last tensor comes first.
  CHECK(planned(schedule_wfbp, profile, cost).blocks.front().slices.front().tensor == profile.tensors.size() - 1);
}

TEST_CASE("DeAR takes whole layers, from the input on, until the next would reach its threshold") {
  // Elements of 4 bytes; layers of 40, 40, 40 and 4 bytes, the second in two tensors.
  Profile profile = tiny({1, 1, 1, 1}, {40, 20, 40, 4});
  profile.tensors.insert(profile.tensors.begin() + 2, {"2b", 5, 20, 1});
  const CommCost cost(0, 0);
  StrategyOptions options;
  const auto sizes = [&](Bytes threshold) {
    options.threshold = threshold;
    std::vector<Bytes> all;
    for (const Block& block : make_bucket_schedule(find_strategy("dear", {}), {profile, cost, options}).blocks)
      all.push_back(block.bytes());
    std::reverse(all.begin(), all.end());
    return all;
  };
  CHECK(sizes(80) == std::vector<Bytes>{40, 40, 44});  // 40 + 40 reaches it, 40 + 4 does not
  CHECK(sizes(81) == std::vector<Bytes>{80, 44});
  CHECK(sizes(1) == std::vector<Bytes>{40, 40, 40, 4});
}

}  // namespace merging_test
