// The jobs that met on each full link, and for how long.
#include "sim/replay/network/meetings.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/catch.hpp"
#include "tests/replay/network/naive_message.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"

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

TEST_CASE("in message, jobs meet on full links for as long as a second simulator says") {
  const LinkSpec links = link(0.7e-9, 1e11);
  std::size_t met_at_all = 0;
  for (const auto& topology : {star(8, links), fat_tree(4, 8, links), leaf_spine(2, 4, 3, 1.7, links)})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      INFO(topology->links().size() << " links, seed " << seed);
      Random random(seed, 3);
      NaiveNetwork naive(*topology, 1.9e-9, 0);
      std::vector<std::shared_ptr<const RoutedRounds>> routed;
      std::vector<std::int64_t> bytes;
      std::vector<Time> starts;
      std::int64_t rounds_in_all = 0;
      for (const char* name : {"ring", "halving-doubling", "double-binary-tree"}) {
        const Rounds rounds =
            rounds_of(find_algorithm(name, {"test", ""}), 8, {.chunks = 3}, CollectiveOp::AllReduce, {"test", ""});
        rounds_in_all += rounds.length();
        bytes.push_back(static_cast<std::int64_t>(1 + random.below(200'000)));
        starts.emplace_back(static_cast<std::int64_t>(random.below(2'000'000)));
        naive.start(rounds, static_cast<double>(bytes.back()), static_cast<double>(starts.back().count()));
        routed.push_back(std::make_shared<RoutedRounds>(rounds, *topology, 1.9e-9));
      }
      naive.run();

      Meetings meetings;
      MessageNetwork network(routed, topology->links(), 0);
      network.serve({0, 1, 2}, &meetings);
      std::vector<TaskId> order{0, 1, 2}, done;
      std::sort(order.begin(), order.end(), [&](TaskId a, TaskId b) { return starts[a] < starts[b]; });
      auto next = order.begin();
      Time now{0};
      for (;;) {
        const Time at = std::min(next == order.end() ? never : starts[*next], network.next_completion());
        if (at == never) break;
        now = at;
        if (network.next_completion() == now) network.complete(now, done);
        for (; next != order.end() && starts[*next] == now; ++next)
          network.start(*next, {.bytes = bytes[*next], .call_id = *next}, now);
      }

      std::map<std::tuple<LinkId, std::size_t, std::size_t>, double> left = naive.met();
      for (std::uint32_t job = 0; job < 3; ++job)
        for (const Meetings::Met& found : meetings.of(job, {}, network.met(now)))
          left[{found.link, job, found.with}] -= found.ps;
      for (const auto& [where, ps] : naive.met()) met_at_all += ps > 1000 ? 1 : 0;
      // Instants are whole ps, and a link is full or not between any two of them.
      for (const auto& [where, ps] : left) CHECK(std::abs(ps) <= 4.0 * static_cast<double>(rounds_in_all) + 4);
    }
  CHECK(met_at_all > 100);
}
