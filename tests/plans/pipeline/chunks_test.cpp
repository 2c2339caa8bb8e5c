// Cuts against every possible cut.
#include "sim/plans/pipeline/chunks.hpp"

#include <algorithm>
#include <random>
#include <tuple>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

Profile layers(const std::vector<int>& times) {
  Profile profile;
  profile.name = "p";
  for (const int time : times)
    profile.layers.push_back({"l" + std::to_string(profile.layers.size()), Time(time), Time(0)});
  return profile;
}

std::vector<std::int64_t> lengths(const std::vector<Chunk>& chunks) {
  std::vector<std::int64_t> all;
  for (const Chunk& one : chunks) all.push_back(one.layers());
  return all;
}

// All ways of writing `sum` as `count` numbers of at least 1.
void each_cut(std::int64_t sum, std::int64_t count, std::vector<std::int64_t>& so_far,
              const std::function<void(const std::vector<std::int64_t>&)>& use) {
  if (count == 1) {
    so_far.push_back(sum);
    use(so_far);
    so_far.pop_back();
    return;
  }
  for (std::int64_t first = 1; first + count - 1 <= sum; ++first) {
    so_far.push_back(first);
    each_cut(sum - first, count - 1, so_far, use);
    so_far.pop_back();
  }
}

// The rule as it is said: the largest chunk as small as can be, then the smallest as large, then the shortest first.
std::vector<std::int64_t> best_cut(const std::vector<int>& times, std::int64_t count) {
  std::tuple<std::int64_t, std::int64_t, std::vector<std::int64_t>> best;
  bool any = false;
  std::vector<std::int64_t> so_far;
  each_cut(std::ssize(times), count, so_far, [&](const std::vector<std::int64_t>& cut) {
    std::int64_t most = 0, least = 1'000'000;
    auto next = times.begin();
    for (const std::int64_t length : cut) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < length; ++i) sum += *next++;
      most = std::max(most, sum);
      least = std::min(least, sum);
    }
    const std::tuple one(most, -least, cut);
    if (!any || one < best) best = one;
    any = true;
  });
  return std::get<2>(best);
}

}  // namespace

TEST_CASE("balanced cuts are the best of all cuts") {
  std::mt19937 random(7);  // NOLINT(cert-*): the same cases every time
  for (int i = 0; i < 300; ++i) {
    std::vector<int> times(1 + random() % 9);
    for (int& one : times) one = static_cast<int>(random() % 5);
    const std::int64_t count = 1 + static_cast<std::int64_t>(random() % times.size());
    CAPTURE(times, count);
    CHECK(lengths(cut_into_chunks(layers(times), {}, count, {})) == best_cut(times, count));
  }
}

// 7 layers in 3 chunks: 2 each, and one more for the first.
TEST_CASE("equal cuts count layers") {
  CHECK(lengths(cut_into_chunks(layers({9, 1, 1, 1, 1, 1, 1}), parse_cut("equal", {}), 3, {})) ==
        std::vector<std::int64_t>{3, 2, 2});
}

TEST_CASE("given cuts are those of the model") {
  const Profile four = layers({1, 1, 1, 1});
  CHECK(lengths(cut_into_chunks(four, parse_cut("1,3", {}), 2, {})) == std::vector<std::int64_t>{1, 3});
  CHECK(write_cut(parse_cut("1, 3", {})) == "1/3");
  for (const char* text : {"1,2", "1,1,2", "5"})
    CHECK(error_place([&] { cut_into_chunks(four, parse_cut(text, {}), 2, {}); }) == "no place");
  CHECK(error_place([&] { cut_into_chunks(four, {}, 5, {}); }) == "no place");
  CHECK(error_place([&] { parse_cut("evenly", {}); }) == "no place");
}

// Groups a a | b | b and what follows without a name: units of 2 and 3 layers, whatever they take.
TEST_CASE("groups are not cut") {
  Profile grouped = layers({1, 1, 1, 1, 1});
  for (const auto& [layer, name] : {std::pair(0, "a"), {1, "a"}, {2, "b"}, {3, "b"}})
    grouped.layers[layer].group = name;
  CHECK(lengths(cut_into_chunks(grouped, {}, 2, {})) == std::vector<std::int64_t>{2, 3});
  CHECK(error_place([&] { cut_into_chunks(grouped, {}, 3, {}); }) == "no place");
}
