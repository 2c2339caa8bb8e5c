// The entries that are selected, compared with sorting everything.
#include "sim/inputs/compression/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/inputs/compression/vectors.hpp"

using namespace allreplay;

namespace {

using Positions = std::vector<std::uint32_t>;

// By a stable sort of all positions: equal magnitudes stay in the order of their positions.
Positions sorted_out(const Floats& values, std::size_t k) {
  Positions all(values.size());
  std::iota(all.begin(), all.end(), 0u);
  std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
  all.resize(k);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("k is the rounded share, and at least one") {
  CHECK(kept(0.001, 1) == 1);
  CHECK(kept(0.001, 1499) == 1);
  CHECK(kept(0.001, 1500) == 2);  // 1.5 rounds up
  CHECK(kept(0.5, 5) == 3);       // 2.5 rounds up
  CHECK(kept(1, 7) == 7);
  CHECK(kept(0.999, 100) == 100);  // 99.9
}

TEST_CASE("the strongest, by magnitude; ties go to the lower position") {
  CHECK(strongest(Floats{1, -3, 2, 3}, 1) == Positions{1});
  CHECK(strongest(Floats{1, -3, 2, 3}, 2) == Positions{1, 3});
  CHECK(strongest(Floats{0, 0, -0.0f, 0}, 2) == Positions{0, 1});
  CHECK(strongest(Floats{5, NAN, std::numeric_limits<float>::infinity(), 6}, 2) == Positions{1, 2});
  // Whole numbers up to 3: nearly everything is a tie.
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Floats values = whole_numbers(1 + seed, seed % 2 ? 3 : 1000, seed);
    for (const std::size_t k : {std::size_t{1}, (values.size() + 1) / 2, values.size()}) {
      const Positions expected = sorted_out(values, k);
      REQUIRE(strongest(values, k) == expected);
      Random random(seed, 1);
      REQUIRE(strongest_by_sample(values, k, random) == expected);
    }
  }
}

TEST_CASE("the sampled threshold finds the same selection in long vectors") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Floats values = normals(200'000, seed);
    if (seed % 2)  // all that is strong stands together, and a sample with a stride sees little of it
      std::sort(values.begin(), values.end());
    Random random(seed, 1);
    REQUIRE(strongest_by_sample(values, 200, random) == strongest(values, 200));
  }
  Floats values(100'000);  // fewer than k that are not zero: no threshold above zero can find k
  values[70'000] = -1;
  Random random(1, 1);
  const Positions found = strongest_by_sample(values, 3, random);
  CHECK(found == Positions{0, 1, 70'000});
}

// 2 of 5: ten sets, 20,000 draws; each is expected 2000 times, standard deviation √(20000·0.1·0.9) = 42.4. Five of
// them.
TEST_CASE("random positions: every set equally often") {
  Random random(3, 0);
  std::map<Positions, int> seen;
  for (int draw = 0; draw < 20'000; ++draw) {
    const Positions positions = random_positions(5, 2, random);
    REQUIRE(positions.size() == 2);
    REQUIRE(positions[0] < positions[1]);
    ++seen[positions];
  }
  CHECK(seen.size() == 10);
  for (const auto& [positions, count] : seen) CHECK(std::abs(count - 2000) < 212);
  CHECK(random_positions(4, 4, random) == Positions{0, 1, 2, 3});
}

TEST_CASE("sums, masks and selections of sparse vectors") {
  const Sparse a{{1, 4, 6}, {1, -2, 3}}, b{{0, 4, 6, 9}, {5, 2, 1, -1}};
  const Sparse both = sum(a, b);
  CHECK(both == Sparse{{0, 1, 4, 6, 9}, {5, 1, 0, 4, -1}});  // at 4 they cancel; the entry stays
  CHECK(sum(a, {}) == a);
  CHECK(sum({}, a) == a);
  CHECK(masked(a, b, true) == Sparse{{4, 6}, {-2, 3}});
  CHECK(masked(a, b, false) == Sparse{{1}, {1}});
  const Selection selection = select(both, 3);
  CHECK(selection.kept == Sparse{{0, 1, 6}, {5, 1, 4}});  // 1 and −1 tie: the lower index
  CHECK(selection.dropped == Sparse{{4, 9}, {0, -1}});
  CHECK(select(a, 7).kept == a);
}

TEST_CASE("a sparse payload: all values, then all indices") {
  const Sparse a{{1, 258}, {1, -2}};
  const EncodedPayload payload = write_sparse(a);
  REQUIRE(payload.size() == 16);
  CHECK(read_sparse(payload) == a);
  Floats values(2);
  get<float>(payload, 0, values);
  CHECK(values == a.values);
  CHECK(payload[12] == std::byte{2});  // 258 = 0x0102, the low byte first
  CHECK(payload[13] == std::byte{1});
  CHECK_THROWS_AS(read_sparse(EncodedPayload(12)), std::logic_error);
}
