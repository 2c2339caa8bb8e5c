// US-Byte's model against slower ways to the same numbers: a simulation partition by partition, and all L! orders.
#include "sim/plans/schedule/us_byte.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

using namespace allreplay;

namespace us_byte_test {

namespace {

// L layers of one tensor each, with whole-microsecond times: small enough to try all orders.
Profile layered(Random& random, std::size_t layers) {
  Profile profile;
  const auto time = [&] { return to_time(static_cast<double>(random.below(1000)) * 1e-6); };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    profile.layers.push_back({std::to_string(layer + 1), time(), time()});
    const auto elements = static_cast<std::int64_t>(1 + random.below(random.below(3) == 0 ? 1000 : 200'000));
    profile.tensors.push_back({std::to_string(layer + 1), elements, 4 * elements, static_cast<LayerId>(layer)});
  }
  return profile;
}

// Whole-nanosecond a and b: no rounding.
CommCost random_cost(Random& random, bool start_up = true) {
  return {start_up ? static_cast<double>(random.below(600)) * 1e-6 : 0,
          static_cast<double>(1 + random.below(3)) * 1e-9};
}

Bytes random_partition(Random& random) { return static_cast<Bytes>(4 * (1 + random.below(100'000))); }

struct Sent {
  TensorId tensor;
  Bytes bytes;
  Time start;
};

// The first phase by its meaning, one partition after another: at each partition's end the channel turns to the most
// urgent tensor that is ready by then, and an operation ends when that is another one, or when there is nothing left of
// its own, or with the backward pass.
std::vector<Sent> partition_by_partition(const Profile& profile, const CommCost& cost, Bytes partition,
                                         const Priorities& order) {
  std::vector<Time> ready(profile.tensors.size());
  for (const Gradient& gradient : gradients(profile)) ready[gradient.tensor] = gradient.ready;
  std::vector<Bytes> left;
  for (const Tensor& tensor : profile.tensors) left.push_back(tensor.bytes);
  std::vector<Sent> sent;
  const auto most_urgent = [&](Time now) {
    TensorId best = static_cast<TensorId>(left.size());
    for (TensorId tensor = 0; tensor < left.size(); ++tensor)
      if (left[tensor] > 0 && ready[tensor] <= now && (best == left.size() || order[tensor] < order[best]))
        best = tensor;
    return best;
  };
  Time now{0};
  while (now < ready[0]) {
    const TensorId tensor = most_urgent(now);
    if (tensor == left.size()) {
      now = Time::max();  // idle until the next gradient
      for (TensorId one = 0; one < left.size(); ++one)
        if (left[one] > 0) now = std::min(now, ready[one]);
      continue;
    }
    sent.push_back({tensor, 0, now});
    do {
      const Bytes bytes = std::min(partition, left[tensor]);
      left[tensor] -= bytes;
      sent.back().bytes += bytes;
      now = sent.back().start + cost(sent.back().bytes);
    } while (left[tensor] > 0 && now < ready[0] && most_urgent(now) == tensor);
  }
  return sent;
}

template <class Visit>
void for_all_orders(std::size_t count, Visit visit) {
  Priorities order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  do visit(order);
  while (std::next_permutation(order.begin(), order.end()));
}

Priorities shuffled(Random& random, std::size_t count) {
  Priorities order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

}  // namespace

TEST_CASE("US-Byte's first phase equals a simulation partition by partition") {
  Random random(41, 0);
  for (int round = 0; round < 1000; ++round) {
    const Profile profile = random_profile(random, 10);
    const CommCost cost = random_cost(random, random.below(4) > 0);
    const Bytes partition = random_partition(random);
    const UsByteModel model(profile, cost, partition);
    const Priorities order = shuffled(random, profile.tensors.size());
    const auto schedule = model.schedule(order, model.sequential());
    const auto expected = partition_by_partition(profile, cost, partition, order);
    REQUIRE(schedule.first_phase == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(schedule.operations[i].slice.tensor == expected[i].tensor);
      REQUIRE(schedule.operations[i].slice.bytes == expected[i].bytes);
      REQUIRE(schedule.operations[i].start == expected[i].start);
    }
  }
}

TEST_CASE("US-Byte's Theorem 1: no second-phase order beats the sequential one") {
  Random random(42, 0);
  for (int round = 0; round < 150; ++round) {
    const Profile profile = layered(random, 1 + random.below(6));
    const CommCost cost = random_cost(random);
    const UsByteModel model(profile, cost, random_partition(random));
    const Priorities first = random.below(2) == 0 ? model.greedy() : shuffled(random, profile.tensors.size());
    const Time best = model.schedule(first, model.sequential()).iteration;
    for_all_orders(profile.tensors.size(),
                   [&](const Priorities& second) { REQUIRE(best <= model.schedule(first, second).iteration); });
  }
}

TEST_CASE("US-Byte's Algorithm 2 against all first-phase orders") {
  Random random(43, 0);
  for (std::size_t layers = 1; layers <= 6; ++layers) {
    int exact = 0, rounds = layers < 6 ? 1000 : 300;
    double worst = 1, sum = 0;
    for (int round = 0; round < rounds; ++round) {
      const Profile profile = layered(random, layers);
      const CommCost cost = random_cost(random);
      const UsByteModel model(profile, cost, random_partition(random));
      const Time greedy = model.schedule(model.greedy(), model.sequential()).iteration;
      REQUIRE(greedy <= model.schedule(model.sequential(), model.sequential()).iteration);
      Time best = never;
      for_all_orders(layers, [&](const Priorities& first) {
        best = std::min(best, model.schedule(first, model.sequential()).iteration);
      });
      REQUIRE(best <= greedy);
      if (layers <= 3) REQUIRE(greedy == best);
      exact += greedy == best;
      const double ratio = to_seconds(greedy) / to_seconds(best);
      worst = std::max(worst, ratio);
      sum += ratio;
    }
    // docs/schedules.md has these figures.
    INFO(layers << " layers: " << exact << " of " << rounds << " optimal, on average " << sum / rounds
                << " and at worst " << worst << " times the optimum");
    CHECK(exact >= 6 * rounds / 10);
    CHECK(sum / rounds < 1.01);
    CHECK(worst < 1.25);
  }
}

TEST_CASE("US-Byte's plan is complete, and lists its operations in order") {
  Random random(44, 0);
  for (int round = 0; round < 200; ++round) {
    const Profile profile = random_profile(random, 10);
    const CommCost cost = random_cost(random);
    StrategyOptions options;
    options.partition = random_partition(random);
    const BucketSchedule plan = make_bucket_schedule(find_strategy("us-byte", {}), {profile, cost, options});
    CHECK(plan.order == Order::AsListed);
    CHECK(plan.barrier == Barrier::Layer);
    CHECK(plan.blocks.size() >= profile.tensors.size());
    for (const Block& block : plan.blocks) REQUIRE(block.slices.size() == 1);
  }
}

TEST_CASE("given and random orders of US-Byte's phases") {
  Random random(45, 0);
  const Profile profile = layered(random, 4);
  const CommCost cost(1e-4, 1e-9);
  StrategyOptions options;
  options.second_phase = {.kind = PhaseOrder::Kind::Given, .tensors = {3, 2, 1, 0}};
  CHECK(schedule_us_byte({profile, cost, options}).blocks.back().slices.front().tensor == 0);
  options.second_phase.tensors = {3, 2, 1};
  CHECK_THROWS_AS(schedule_us_byte({profile, cost, options}), InputError);
  options.second_phase.tensors = {3, 2, 1, 1};
  CHECK_THROWS_AS(schedule_us_byte({profile, cost, options}), InputError);
  options.second_phase = {.kind = PhaseOrder::Kind::Random, .seed = 7};
  const BucketSchedule once = schedule_us_byte({profile, cost, options}),
                       again = schedule_us_byte({profile, cost, options});
  REQUIRE(once.blocks.size() == again.blocks.size());
  for (std::size_t i = 0; i < once.blocks.size(); ++i)
    CHECK(once.blocks[i].slices.front().tensor == again.blocks[i].slices.front().tensor);
}

}  // namespace us_byte_test
