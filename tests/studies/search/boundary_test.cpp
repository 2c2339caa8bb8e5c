// The least or the most value that meets a target: bisection against a full scan.
#include "sim/studies/search/boundary.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

struct Answer {
  Boundary found;
  std::size_t measured = 0;  // calls of values
};

Answer search(const std::vector<std::optional<double>>& values, double limit, bool below, std::size_t most = 33,
              bool prefers_least = true) {
  Answer answer;
  answer.found = find_boundary({.count = values.size(),
                                .measure =
                                    [&](const std::vector<std::size_t>& wanted) {
                                      std::vector<std::optional<double>> some;
                                      for (const std::size_t one : wanted) some.push_back(values[one]);
                                      answer.measured += wanted.size();
                                      return some;
                                    },
                                .meets = [&](double value) { return below ? value < limit : value > limit; },
                                .prefers_least = prefers_least,
                                .most_scanned = most});
  return answer;
}

// The same from all values.
std::optional<std::size_t> by_scan(const std::vector<std::optional<double>>& values, double limit, bool below,
                                   bool prefers_least = true) {
  std::vector<std::size_t> met;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] && (below ? *values[i] < limit : *values[i] > limit)) met.push_back(i);
  if (met.empty()) return std::nullopt;
  const bool first = met.front() == 0, last = met.back() + 1 == values.size();
  return (first == last ? prefers_least : last) ? met.front() : met.back();
}

}  // namespace

TEST_CASE("bisection agrees with a full scan on random monotone values, with logarithmically many measurements") {
  Random random(53, 0);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t count = 1 + random.below(600);
    const bool rises = random.below(2) == 0, below = random.below(2) == 0, least = random.below(2) == 0;
    std::vector<std::optional<double>> values{random.uniform()};
    // Now and then as before, so that plateaus occur.
    while (values.size() < count) values.push_back(*values.back() + (random.below(4) == 0 ? 0 : random.uniform()));
    if (!rises) std::reverse(values.begin(), values.end());
    const double limit = *values[random.below(count)] + (random.below(2) == 0 ? 0 : 0.3);
    const auto [found, measured] = search(values, limit, below, 33, least);
    REQUIRE(found.answer == by_scan(values, limit, below, least));
    CHECK(found.is_monotone);
    CHECK(measured <= 3 + 10);  // ends and middle, then log2(600) < 10
  }
}

TEST_CASE("of values that are not monotone all are measured if they are few") {
  Random random(54, 0);
  int scanned = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::optional<double>> values;
    for (std::size_t count = 1 + random.below(33); values.size() < count;)
      values.push_back(random.below(6) == 0 ? std::nullopt : std::optional(random.uniform()));
    const bool below = random.below(2) == 0;
    const Boundary found = search(values, 0.5, below).found;
    // Bisection that meets no contradiction does not see that others are not monotone.
    if (!found.is_monotone) CHECK(found.answer == by_scan(values, 0.5, below));
    if (found.answer) CHECK((below ? *values[*found.answer] < 0.5 : *values[*found.answer] > 0.5));
    scanned += !found.is_monotone;
  }
  CHECK(scanned > 1000);
}

TEST_CASE("a scan of many values ends between two neighbours, one of which meets the target") {
  // A valley: 0 at 700 of 1000, so |700 - i| < 150 from 551 to 849. Neither end meets it: the least, or the most.
  std::vector<std::optional<double>> values;
  for (int i = 0; i < 1000; ++i) values.push_back(std::abs(700 - i));
  CHECK(search(values, 150, true).found.answer == 551);
  CHECK(search(values, 150, true, 33, false).found.answer == 849);
  CHECK(!search(values, 150, true).found.is_monotone);
}

TEST_CASE("all meet, none meets, one value") {
  CHECK(search({{1.0}, {2.0}, {3.0}}, 5, true).found.answer == 0);
  CHECK(search({{1.0}, {2.0}, {3.0}}, 5, true).found.all_meet);
  CHECK(search({{1.0}, {2.0}, {3.0}}, 5, true, 33, false).found.answer == 2);
  CHECK(!search({{1.0}, {2.0}, {3.0}}, 5, false).found.answer);
  CHECK(search({{1.0}}, 5, true).found.answer == 0);
  CHECK(!search({std::nullopt}, 5, true).found.answer);
  CHECK(search({{1.0}, {2.0}, {3.0}}, 2, true).found.answer == 0);  // the most below 2
  CHECK(!search({{1.0}, {2.0}, {3.0}}, 2, true).found.is_least);
  CHECK(search({{1.0}, {2.0}, {3.0}}, 1.5, false).found.answer == 1);  // the least above 1.5
  CHECK(search({{1.0}, {2.0}, {3.0}}, 1.5, false).found.is_least);
}
