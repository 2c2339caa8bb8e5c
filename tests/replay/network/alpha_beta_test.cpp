#include "sim/replay/network/alpha_beta.hpp"

#include "tests/catch.hpp"

#include "sim/replay/engine/replay.hpp"

using namespace allreplay;

namespace {

// Blocks of the given bytes, all ready at 0, `window` of them in flight, on a channel with a = 10 ps and b = 1 ps/B.
template <class Channel>
std::vector<Time> ends(const std::vector<std::int64_t>& bytes, std::int64_t window) {
  TaskGraph graph;
  for (std::size_t i = 0; i < bytes.size(); ++i) graph.add({0, static_cast<std::int64_t>(i), 0, bytes[i], Time(0)});
  graph.link();
  Channel channel{CommCost(10e-12, 1e-12)};
  const System system{{{"channel", {Order::AsListed, {window}}, 0}}, {{&channel, Phase::Communication}}, {}};
  std::vector<Time> result;
  for (const Span& span : replay(graph, system).spans) result.push_back(span.end);
  return result;
}

using Times = std::vector<Time>;

}  // namespace

TEST_CASE("one at a time: a + b·M each") {
  CHECK(ends<SerialChannel>({100, 50}, 1) == Times{Time(110), Time(170)});
  CHECK(ends<FairChannel>({100, 50}, 1) == Times{Time(110), Time(170)});
}

TEST_CASE("serial: start-ups overlap, bytes follow one another in the order of admission") {
  // Three start up together (10); bytes pass from 10 to 110, 160, 260. A window of two admits the third at 110,
  // whose start-up ends at 120, before the second's bytes do at 160.
  CHECK(ends<SerialChannel>({100, 50, 100}, 3) == Times{Time(110), Time(160), Time(260)});
  CHECK(ends<SerialChannel>({100, 50, 100}, 2) == Times{Time(110), Time(160), Time(260)});
}

TEST_CASE("serial: a start-up that outlasts the transfers ahead leaves a gap") {
  // The second is admitted when the first ends at 12: start-up until 22, bytes until 27.
  CHECK(ends<SerialChannel>({2, 5}, 1) == Times{Time(12), Time(27)});
}

TEST_CASE("fair: blocks in flight share the bandwidth equally") {
  // From 10 on, 100 B and 50 B at half rate each: the second ends at 110 with the first at 50 B left, which
  // then goes at full rate until 160.
  CHECK(ends<FairChannel>({100, 50}, 2) == Times{Time(160), Time(110)});
  // A third of 30 B is admitted at 110, starts up while only the first moves bytes (10 ps: 40 B left), shares from 120
  // on: its 30 B take 60 ps until 180, the first has 10 B left and ends at 190.
  CHECK(ends<FairChannel>({100, 50, 30}, 2) == Times{Time(190), Time(110), Time(180)});
}

TEST_CASE("a load counts all transfers in flight, but only the rates of those whose bytes move") {
  const double full = 1e12;  // bytes per second: 1 ps/B
  const auto load_at = [](Server& channel, Time now) {
    std::vector<TaskId> done;
    if (now > Time(0)) channel.complete(now, done);
    return channel.load();
  };
  const ChannelCosts costs{{CommCost(10e-12, 1e-12)}};
  // 100 B from 10 to 110, then 50 B to 160; until 10 both start up, and the second waits until 110.
  SerialChannel serial(costs, true);
  // At half the rate each from 10 on, together at the full one; the second ends at 110, the first at 160.
  FairChannel fair(costs);
  for (Server* channel : {static_cast<Server*>(&serial), static_cast<Server*>(&fair)}) {
    channel->start(0, {.bytes = 100}, Time(0));
    channel->start(1, {.bytes = 50}, Time(0));
    struct Instant {
      std::int64_t now, in_flight;
      double rate;
      Time next;
    };
    for (const auto& [now, in_flight, rate, next] : std::vector<Instant>{
             {0, 2, 0, Time(10)}, {10, 2, full, Time(110)}, {110, 1, full, Time(160)}, {160, 0, 0, never}}) {
      const Load load = load_at(*channel, Time(now));
      CHECK(load.in_flight == in_flight);
      CHECK(load.rate == Approx(rate));
      CHECK(channel->next_completion() == next);
    }
  }
}

namespace {

// Each with bytes and a call: 0 inside nodes, 1 between them, 2 both; all ready at 0 and in flight together.
template <class Channel>
Times ends_on_two_levels(const std::vector<std::pair<std::int64_t, std::uint32_t>>& blocks) {
  const CommCost cost(10e-12, 1e-12);
  TaskGraph graph;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    graph.add({0, static_cast<std::int64_t>(i), 0, blocks[i].first, Time(0), blocks[i].second});
  graph.link();
  Channel channel(
      ChannelCosts{{cost, channel_inside}, {cost, channel_outside}, {cost, channel_inside | channel_outside}});
  const System system{{{"channel", {Order::AsListed, {Window::unlimited}}, 0}}, {{&channel, Phase::Communication}}, {}};
  Times result;
  for (const Span& span : replay(graph, system).spans) result.push_back(span.end);
  return result;
}

}  // namespace

TEST_CASE("two levels: bytes wait for those that share a channel, and empty transfers delay nothing") {
  // Inside 10-110, between 10-60; on both after either, 110-140; inside again 140-160. No bytes: immediately.
  CHECK(ends_on_two_levels<SerialChannel>({{100, 0}, {50, 1}, {30, 2}, {20, 0}, {0, 1}}) ==
        Times{Time(110), Time(60), Time(140), Time(160), Time(0)});
  // From 10 on two are on either channel: half rates until 70, when the 30 B on both have passed; then 70 B and 20 B.
  CHECK(ends_on_two_levels<FairChannel>({{100, 0}, {50, 1}, {30, 2}, {0, 2}}) ==
        Times{Time(140), Time(90), Time(70), Time(0)});
  // Two transfers share a channel of the two: at half rates from 10 to 70, then the rest of the other at full rate.
  CHECK(ends_on_two_levels<FairChannel>({{100, 0}, {30, 2}}) == Times{Time(140), Time(70)});
  CHECK(ends_on_two_levels<FairChannel>({{50, 1}, {30, 2}}) == Times{Time(90), Time(70)});
}
