#include "sim/replay/network/numbered_lists.hpp"

#include <map>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

TEST_CASE("equal lists have one number, and others the next one") {
  // Against a map: up to four numbers below 8, some 4,700 lists, so that many are asked for again, and the table grows.
  NumberedLists lists;
  std::map<std::vector<std::uint32_t>, std::uint32_t> model{{{}, 0}};
  Random random(1, 0);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::uint32_t> list(random.below(5));
    for (std::uint32_t& number : list) number = static_cast<std::uint32_t>(random.below(8));
    const auto expected = model.emplace(list, static_cast<std::uint32_t>(model.size())).first;
    REQUIRE(lists.number(list) == expected->second);
  }
  REQUIRE(lists.size() == model.size());
  CHECK(lists.size() > 1000);
  CHECK(lists.size() < 5000);
  for (const auto& [list, number] : model) REQUIRE(std::ranges::equal(lists[number], list));
}
