#include "sim/replay/network/known_speeds.hpp"

#include <map>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

MovingRounds moving(const std::vector<std::uint32_t>& shapes) {
  MovingRounds rounds;
  for (const std::uint32_t shape : shapes) rounds.add(shape, 0, 1);
  return rounds;
}

}  // namespace

TEST_CASE("speeds are known of those combinations that were kept, and of no other") {
  // Against a map, which is emptied when the list would be too long. Shapes 0 to 5, up to three times: some 4,000
  // combinations of up to 18 rounds, so that many are asked for again, and the table grows. They are kept by fours.
  constexpr std::size_t most = 3000;
  KnownSpeeds known(most);
  std::map<std::vector<std::uint32_t>, std::pair<std::vector<double>, Meetings::Id>> model;
  std::size_t fours = 1, found = 0, found_with_one = 0, emptied = 0;
  Random random(1, 0);
  for (Meetings::Id meeting = 1; meeting <= 20'000; ++meeting) {
    std::vector<std::uint32_t> shapes;
    for (std::uint32_t shape = 0; shape < 6; ++shape)
      if (random.below(2) == 0) shapes.resize(shapes.size() + (random.below(8) == 0 ? 3 : 1), shape);
    if (shapes.empty()) continue;
    MovingRounds rounds = moving(shapes);

    const Meetings::Id* recalled = known.recall(rounds);
    const auto expected = model.find(shapes);
    REQUIRE((recalled != nullptr) == (expected != model.end()));
    if (recalled) {
      ++found;
      REQUIRE(*recalled == expected->second.second);
      for (std::size_t i = 0; i < shapes.size(); ++i) REQUIRE(rounds.speed[i] == expected->second.first[i]);
      // The same combination, as all but one of its rounds and that one.
      const std::size_t place = random.below(shapes.size());
      std::vector<std::uint32_t> others = shapes;
      std::erase(others, shapes[place]);
      if (others.size() + 1 != shapes.size()) continue;
      ++found_with_one;
      const auto with = known.recall(moving(others), shapes[place], place);
      REQUIRE(with.known);
      REQUIRE(with.known->meeting == expected->second.second);
      REQUIRE(with.its_speed() == expected->second.first[place]);
      for (std::size_t i = 0; i < others.size(); ++i)
        REQUIRE(with.speed_of(i) == expected->second.first[i + (i >= place ? 1 : 0)]);
      continue;
    }
    REQUIRE(!known.recall(moving({shapes.begin() + 1, shapes.end()}), shapes[0], 0).known);
    for (std::size_t i = 0; i < shapes.size(); ++i) rounds.speed[i] = random.uniform();
    known.keep(rounds, meeting);
    if (4 * fours + shapes.size() > most) {
      model.clear();
      fours = 1;
      ++emptied;
    }
    model[shapes] = {{rounds.speed.begin(), rounds.speed.begin() + static_cast<std::ptrdiff_t>(rounds.size)}, meeting};
    fours += (shapes.size() + 3) / 4;
  }
  CHECK(found > 100);
  CHECK(found_with_one > 100);
  CHECK(emptied > 1);
  known.forget();
  MovingRounds one = moving({0});
  CHECK(known.recall(one) == nullptr);
}
