// gTop-k: Algorithm 3 against Algorithm 2 and a tree over dense vectors; what Algorithm 4 loses.
#include "sim/inputs/compression/gtopk.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/inputs/compression/vectors.hpp"

using namespace allreplay;

namespace {

Sparse top(const Floats& values, std::size_t k) { return entries_at(values, strongest(values, k)); }

Floats dense(const Sparse& entries, std::size_t n) {
  Floats values(n);
  add(entries, values);
  return values;
}

std::vector<Sparse> selections(std::size_t workers, std::size_t n, std::size_t k, std::int64_t most,
                               std::uint64_t seed) {
  std::vector<Sparse> local;
  for (std::size_t g = 0; g < workers; ++g) local.push_back(top(whole_numbers(n, most, 1000 * seed + g), k));
  return local;
}

// Algorithm 2, lines 9-13: gathers everything, and keeps the k strongest entries of the sum.
Sparse naive_gtopk(const std::vector<Sparse>& local, std::size_t k) {
  Sparse total;
  for (const Sparse& one : local) total = sum(total, one);
  return select(total, k).kept;
}

// Definition 1 over dense vectors, recursively: an independent Algorithm 3.
Floats tree(const std::vector<Sparse>& local, std::size_t first, std::size_t count, std::size_t n, std::size_t k) {
  if (count == 1) return dense(local[first], n);
  Floats total = tree(local, first, count / 2, n, k);
  const Floats other = tree(local, first + count / 2, count / 2, n, k);
  std::vector<bool> there(n);
  for (std::size_t i = 0; i < n; ++i) {
    total[i] += other[i];
    there[i] = total[i] != 0;
  }
  for (const std::uint32_t i : strongest(total, k)) there[i] = false;
  for (std::size_t i = 0; i < n; ++i)
    if (there[i]) total[i] = 0;
  return total;
}

Floats total_of(const std::vector<Sparse>& parts, std::size_t n) {
  Floats total(n);
  for (const Sparse& part : parts) add(part, total);
  return total;
}

}  // namespace

// Fig. 3's tree with k = 1: 3 at index 0 beats 2 at index 1 on ranks 0-1; ranks 2-3 agree on 2 + 2 at index 1. 4 at
// index 1 beats 3: rank 0 holds (1: 4), though all four together have 2 + 2 + 2 = 6 there.
TEST_CASE("Algorithm 3 by hand, with what it drops and Algorithm 4 loses") {
  const std::vector<Sparse> local{{{0}, {3}}, {{1}, {2}}, {{1}, {2}}, {{1}, {2}}};
  const GlobalTopK all = gtopk_allreduce(local, 1);
  CHECK(all.result == Sparse{{1}, {4}});
  CHECK(all.dropped[0] == Sparse{{0, 1}, {3, 2}});
  CHECK(all.dropped[1] == Sparse{});
  CHECK(all.dropped[2] == Sparse{});
  CHECK(naive_gtopk(local, 1) == Sparse{{1}, {6}});
  // As printed, rank 0 takes back 3 at index 0, and no rank takes back the 2 that rank 1 had at index 1.
  CHECK(put_back(Residuals::AsPrinted, local[0], all, 0) == local[0]);
  for (std::size_t rank = 1; rank < 4; ++rank)
    CHECK(put_back(Residuals::AsPrinted, local[rank], all, rank) == Sparse{});
  // Conserving: the receiver keeps both.
  CHECK(put_back(Residuals::Conserving, local[0], all, 0) == Sparse{{0, 1}, {3, 2}});
}

TEST_CASE("Algorithm 3: pairs (0,1) (2,3), then (0,2)") {
  // Distinct indices show which ranks met: k = 1, the stronger of each pair goes on.
  const std::vector<Sparse> local{{{0}, {1}}, {{1}, {2}}, {{2}, {4}}, {{3}, {3}}};
  const GlobalTopK all = gtopk_allreduce(local, 1);
  CHECK(all.result == Sparse{{2}, {4}});
  CHECK(all.dropped[0] == Sparse{{0, 1}, {1, 2}});
  CHECK(all.dropped[2] == Sparse{{3}, {3}});
}

TEST_CASE("exactly k entries, as the dense tree has them, and nothing appears or vanishes inside") {
  for (const std::size_t workers : {1, 2, 4, 8, 16, 64})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      constexpr std::size_t n = 40;
      const std::size_t k = 1 + seed % 9;
      // Small numbers: ties and cancellations abound.
      const std::vector<Sparse> local = selections(workers, n, k, seed % 2 ? 3 : 50, seed);
      const GlobalTopK all = gtopk_allreduce(local, k);
      REQUIRE(all.result.size() == k);
      REQUIRE(std::is_sorted(all.result.indices.begin(), all.result.indices.end()));
      REQUIRE(dense(all.result, n) == tree(local, 0, workers, n, k));
      Floats applied_and_dropped = total_of(all.dropped, n);
      add(all.result, applied_and_dropped);
      REQUIRE(applied_and_dropped == total_of(local, n));
    }
}

TEST_CASE("naive and tree agree for two workers, disjoint supports, and equal supports") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    constexpr std::size_t n = 64, k = 4;
    const std::vector<Sparse> two = selections(2, n, k, 5, seed);
    REQUIRE(gtopk_allreduce(two, k).result == naive_gtopk(two, k));

    std::vector<Sparse> disjoint, equal;
    for (std::size_t g = 0; g < 16; ++g) {
      const Floats values = whole_numbers(k, 5, 16 * seed + g);
      const auto base =
          static_cast<std::uint32_t>((g * 5 % 16) * k);  // whose entries are where has nothing to do with g
      disjoint.push_back({{base, base + 1, base + 2, base + 3}, values});
      equal.push_back({{3, 5, 8, 13}, values});
    }
    REQUIRE(gtopk_allreduce(disjoint, k).result == naive_gtopk(disjoint, k));
    REQUIRE(gtopk_allreduce(equal, k).result == naive_gtopk(equal, k));
  }
}

// For every index, naive sum = tree's result + what was dropped on the way. So where the naive result has k entries
// that are not zero, the two agree exactly if, at each of its indices, what was dropped adds up to nothing. (If: the
// tree then has these k sums, and no room for more. Only if: the difference is what was dropped.)
TEST_CASE("naive and tree agree exactly if nothing of the naive result was dropped") {
  int agreed = 0, differed = 0;
  for (const std::size_t workers : {4, 8, 16})
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      constexpr std::size_t n = 12;
      const std::size_t k = 1 + seed % 6;
      const std::vector<Sparse> local = selections(workers, n, k, 4, seed);
      const GlobalTopK all = gtopk_allreduce(local, k);
      const Sparse naive = naive_gtopk(local, k);
      if (std::count(naive.values.begin(), naive.values.end(), 0.0f) > 0 || naive.size() < k) continue;
      const Floats dropped = total_of(all.dropped, n);
      const bool untouched =
          std::all_of(naive.indices.begin(), naive.indices.end(), [&](auto i) { return dropped[i] == 0; });
      REQUIRE((all.result == naive) == untouched);
      (untouched ? agreed : differed) += 1;
    }
  CHECK(agreed > 100);
  CHECK(differed > 100);
}

TEST_CASE("the residuals that each variant keeps") {
  for (const std::size_t workers : {2, 4, 8, 32})
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      constexpr std::size_t n = 30, k = 4;
      const std::vector<Sparse> local = selections(workers, n, k, 20, seed);
      const GlobalTopK all = gtopk_allreduce(local, k);
      const Floats in = total_of(local, n);
      const auto out = [&](Residuals residuals) {
        Floats sum = dense(all.result, n);
        for (std::size_t g = 0; g < workers; ++g) add(put_back(residuals, local[g], all, g), sum);
        return sum;
      };
      REQUIRE(out(Residuals::Conserving) == in);
      // As printed: outside the final mask all is taken back, inside it what the tree dropped is lost.
      const Floats dropped = total_of(all.dropped, n), printed = out(Residuals::AsPrinted);
      for (std::size_t i = 0; i < n; ++i) {
        const bool inside = std::binary_search(all.result.indices.begin(), all.result.indices.end(), i);
        REQUIRE(printed[i] == in[i] - (inside ? dropped[i] : 0));
      }
      if (workers == 2) REQUIRE(printed == in);
    }
}
