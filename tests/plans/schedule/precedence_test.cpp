#include <algorithm>
#include <numeric>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"
#include "sim/plans/schedule/transfer_order.hpp"

using namespace allreplay;

namespace {

using Waits = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> rising(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("precedence of tasks equals the closure of all edges") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 0);
    const auto count = static_cast<std::uint32_t>(1 + random.below(30));
    std::vector<std::uint32_t> order = rising(count);
    for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    Waits waits(count);
    std::vector<std::vector<bool>> reached(count, std::vector<bool>(count, false));
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::uint32_t j = 0; j < i; ++j)
        if (random.below(6) == 0) {
          waits[order[i]].push_back(order[j]);
          reached[order[i]][order[j]] = true;
          for (std::uint32_t k = 0; k < count; ++k)
            if (reached[order[j]][k]) reached[order[i]][k] = true;
        }
    Precedence precedence(waits, order);
    for (std::uint32_t a = 0; a < count; ++a)
      for (std::uint32_t b = 0; b < count; ++b) REQUIRE(precedence.waits(a, b) == reached[a][b]);
    CHECK_FALSE(precedence.tired());
  }
}

TEST_CASE("precedence in long chains and wide fans is found along the tree") {
  // A chain of 50,000, and as many that wait for its last only: 1.25e9 pairs, of which each is one look.
  constexpr std::uint32_t half = 50'000;
  Waits waits(2 * half);
  for (std::uint32_t i = 1; i < half; ++i) waits[i] = {i - 1};
  for (std::uint32_t i = half; i < 2 * half; ++i) waits[i] = {half - 1};
  Precedence precedence(waits, rising(2 * half));
  for (std::uint32_t i = 0; i < half; ++i) REQUIRE(precedence.waits(half + i, i));
  CHECK_FALSE(precedence.waits(half, half + 1));
  CHECK_FALSE(precedence.tired());
}

TEST_CASE("a search for precedence that takes too long is given up, and reported") {
  // Two ladders, each rung waiting for both rungs before it, so that a search from the top has to visit everything;
  // and, separate from them, tasks that nothing waits for.
  constexpr std::uint32_t rungs = 2'000, asked = 1'000;
  Waits waits(2 * rungs + asked);
  for (std::uint32_t i = asked + 2; i < asked + 2 * rungs; ++i) {
    const std::uint32_t before = asked + 2 * ((i - asked) / 2 - 1);
    waits[i] = {before, before + 1};
  }
  Precedence precedence(waits, rising(2 * rungs + asked), 1'000'000);
  const std::uint32_t top = asked + 2 * rungs - 1;
  CHECK_FALSE(precedence.waits(top, 0));
  CHECK_FALSE(precedence.tired());  // some 8,000 looks of a million
  for (std::uint32_t i = 0; i < asked; ++i) precedence.waits(top, i);
  CHECK(precedence.tired());
}
