// The jobs that met on each full link, and for how long.
#include "sim/replay/network/meetings.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("a meeting covers all links that are full simultaneously, and lasts on each of them") {
  Meetings meetings;
  const auto number = [&](const std::vector<Meetings::Place>& places) { return meetings.number(places); };
  const auto place = [&](LinkId link, const std::vector<std::uint32_t>& jobs) { return meetings.place(link, jobs); };
  CHECK(number({}) == Meetings::none);
  const Meetings::Place three = place(3, {0, 1}), five = place(5, {0, 1, 2});
  const Meetings::Id both = number({three, five}), one = number({five});
  CHECK(both != one);
  CHECK(number({place(5, {0, 1, 2})}) == one);
  CHECK(number({place(5, {0, 2})}) != one);  // the same link, other jobs
  meetings.lasts(both, 10);
  meetings.lasts(one, 4);
  const std::vector<double> early = meetings.lasted();
  meetings.lasts(both, 1);
  // Job 1 meets job 0 on links 3 and 5, job 2 only on link 5: 10 on link 3, 10 + 4 on link 5.
  const std::vector<Meetings::Met> met = meetings.of(1, {}, early);
  REQUIRE(met.size() == 3);
  const auto is = [](const Meetings::Met& found, LinkId link, std::uint32_t with, double ps) {
    return found.link == link && found.with == with && found.ps == ps;
  };
  CHECK(is(met[0], 3, 0, 10));
  CHECK(is(met[1], 5, 0, 14));
  CHECK(is(met[2], 5, 2, 14));
  const std::vector<Meetings::Met> later = meetings.of(2, early, meetings.lasted());
  REQUIRE(later.size() == 2);
  CHECK(is(later[0], 5, 0, 1));
  CHECK(is(later[1], 5, 1, 1));
  CHECK(meetings.of(7, {}, early).empty());
}

// Each of n links may be full or not: there are far more meetings than links, and no link is kept twice.
TEST_CASE("a full link is kept once, in however many meetings it is") {
  Meetings meetings;
  const std::vector<std::uint32_t> jobs(100, 7);
  double first = 0;
  for (std::uint32_t set = 1; set < 1024; ++set) {
    std::vector<Meetings::Place> places;
    for (LinkId link = 0; link < 10; ++link)
      if (set >> link & 1) places.push_back(meetings.place(link, jobs));
    CHECK(meetings.number(places) == set);
    if (set == 512) first = meetings.bytes();  // all ten links are known
  }
  CHECK(meetings.bytes() - first < 511 * 200);
}
