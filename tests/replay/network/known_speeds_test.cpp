#include "sim/replay/network/known_speeds.hpp"

#include <map>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

TEST_CASE("speeds are known of those combinations that were kept, and of no other") {
  // Against a map, which is emptied when the list would be too long. Shapes 0 to 5, once to three times: some 200
  // combinations, so that each is asked for again and again, and the table grows.
  constexpr std::size_t most = 300;
  KnownSpeeds known(most);
  std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::pair<std::vector<double>, Meetings::Id>> model;
  std::size_t size = 0, found = 0, emptied = 0;
  Random random(1, 0);
  for (Meetings::Id meeting = 1; meeting <= 20'000; ++meeting) {
    std::vector<AlikeRounds> combination;
    for (std::uint32_t shape = 0; shape < 6; ++shape)
      if (random.below(2) == 0) combination.push_back({shape, static_cast<std::uint32_t>(1 + random.below(3))});
    if (combination.empty()) continue;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> key;
    for (const AlikeRounds& rounds : combination) key.emplace_back(rounds.shape, rounds.count);

    const Meetings::Id* recalled = known.recall(combination);
    const auto expected = model.find(key);
    REQUIRE((recalled != nullptr) == (expected != model.end()));
    if (recalled) {
      ++found;
      REQUIRE(*recalled == expected->second.second);
      for (std::size_t i = 0; i < combination.size(); ++i) REQUIRE(combination[i].speed == expected->second.first[i]);
      continue;
    }
    std::vector<double> speeds;
    for (AlikeRounds& rounds : combination) speeds.push_back(rounds.speed = random.uniform());
    known.keep(combination, meeting);
    if (size + key.size() > most) {
      model.clear();
      size = 0;
      ++emptied;
    }
    model[key] = {speeds, meeting};
    size += key.size();
  }
  CHECK(found > 100);
  CHECK(emptied > 10);
  known.forget();
  std::vector<AlikeRounds> one = {{0, 1}};
  CHECK(known.recall(one) == nullptr);
}
