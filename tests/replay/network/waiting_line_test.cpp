#include "sim/replay/network/waiting_line.hpp"

#include <map>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

TEST_CASE("the entry with the earliest instant is next, in any order of arrival") {
  Random random(5, 0);
  for (int times = 0; times < 200; ++times) {
    WaitingLine line;
    std::multimap<double, std::uint32_t> all;
    const bool alike = random.below(2) == 0;  // each waits as long as the one before
    double now = 0;
    std::uint32_t names = 0;
    for (int i = 0; i < 300; ++i) {
      if (random.below(2) == 0) {
        const double at = now + (alike ? 50 : static_cast<double>(random.below(100)));
        line.push(at, names);
        all.emplace(at, names++);
      } else if (!all.empty()) {
        REQUIRE(line.next() == all.begin()->first);
        REQUIRE(line.first());
        REQUIRE(line.first()->at == line.next());
        REQUIRE(line.first()->index == line.next_index());
        REQUIRE(line.second() ==
                (all.size() == 1 ? std::numeric_limits<double>::infinity() : std::next(all.begin())->first));
        now = line.next();
        const std::uint32_t who = line.pop();
        auto found = all.begin();
        while (found->second != who) ++found;
        REQUIRE(found->first == now);
        all.erase(found);
      }
      if (i % 100 == 99) {  // all get other names
        std::vector<std::uint32_t> numbers(names);
        for (std::uint32_t who = 0; who < names; ++who) numbers[who] = names - 1 - who;
        line.renumber(numbers);
        for (auto& [at, who] : all) who = numbers[who];
      }
      REQUIRE(line.empty() == all.empty());
      REQUIRE((line.first() == nullptr) == all.empty());
    }
  }
}
