#include "sim/replay/network/launch.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

constexpr Bytes bytes = 1'000'000;

// The calls that the network is made for: all workers, workers of equal place in groups of all (one each), and the
// way to servers and back, which has a channel of its own.
constexpr std::int64_t workers = 4;
const Call all(CollectiveOp::AllReduce), alone(CollectiveOp::AllReduce, consecutive(1)),
    push(CollectiveOp::ReduceScatter), pull(CollectiveOp::AllGather);

// a = 1 us and b·M = 4 us, behind launches of 2 us.
LaunchedFabric fabric(Legs legs = {}) {
  const CommCost cost(1e-6, 4e-12);
  const ChannelCosts costs{{cost}, {cost}, {cost}, {cost, channel_back}};
  return {std::make_shared<AlphaBetaFabric>(std::vector{all, alone, push, pull}, workers, costs, Sharing::Serial),
          to_time(2e-6), std::move(legs)};
}

struct Asked {
  int at = 0;  // us
  QueueId lane = 0;
  Call call = all;
  Bytes size = bytes;
};

// When each ends, us.
std::vector<double> ends_of(const LaunchedFabric& fabric, const std::vector<Asked>& asked) {
  const std::unique_ptr<Server> server = fabric.server();
  std::vector<double> ends(asked.size(), 0);
  std::size_t next = 0;
  std::vector<TaskId> done;
  for (;;) {
    Time now = server->next_completion();
    if (next < asked.size()) now = std::min(now, to_time(asked[next].at * 1e-6));
    if (now == never) return ends;
    done.clear();
    if (server->next_completion() == now) server->complete(now, done);
    for (const TaskId id : done) ends[id] = to_seconds(now) * 1e6;
    for (; next < asked.size() && to_time(asked[next].at * 1e-6) == now; ++next) {
      Task task{.queue = asked[next].lane, .bytes = asked[next].size};
      task.call_id = fabric.id_of(asked[next].call);
      server->start(static_cast<TaskId>(next), task, now);
    }
  }
}

void check(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]));
}

}  // namespace

TEST_CASE("a lane's launches come one after another, while bytes move") {
  // Launched by 2, 4 and 6. The first ends at 2 + 5; the second's bytes follow, 7 + 4; the third's 11 + 4.
  check(ends_of(fabric(), {{}, {}, {}}), {7, 11, 15});
  // A launcher that is free again starts when it is asked.
  check(ends_of(fabric(), {{}, {.at = 30}}), {7, 37});
}

TEST_CASE("lanes launch in parallel, and launches that end together proceed in the order of requests") {
  check(ends_of(fabric(), {{}, {.lane = 1}, {.lane = 1}}), {7, 11, 15});
  check(ends_of(fabric(), {{.lane = 1}, {.lane = 0}}), {7, 11});
}

TEST_CASE("collectives of one rank or without bytes are not launched") {
  check(ends_of(fabric(), {{.call = alone}}), {5});
  check(ends_of(fabric(), {{.at = 3, .size = 0}, {.at = 3}}), {3, 10});
}

TEST_CASE("every leg is launched, on channels of its own") {
  const LaunchedFabric servers = fabric({{2, 3}});  // all: push and pull
  // Launched by 2 and 4; pushed by 7 and 11. The first's pull is launched from 7 to 9, and ends at 14; the second's
  // from 11 to 13: its start-up ends at 14, when the channel is free: 18.
  check(ends_of(servers, {{}, {}}), {14, 18});
  CHECK(servers.alone(bytes, CollectiveOp::AllReduce) == to_time(14e-6));
  CHECK(servers.price(CollectiveOp::AllReduce)(bytes) == to_time(9e-6));  // the whole's price, and two launches
  // At the best speed: 4 us on either channel, and the first launch.
  CHECK(servers.least(bytes, CollectiveOp::AllReduce, true) == to_time(6e-6));
  CHECK(servers.least(bytes, CollectiveOp::AllReduce, false) == to_time(14e-6));
}

TEST_CASE("planners count a launch as part of the start-up") {
  const LaunchedFabric launched = fabric();
  CHECK(launched.price(CollectiveOp::AllReduce)(bytes) == to_time(7e-6));
  CHECK(launched.price(CollectiveOp::AllReduce).transfer(bytes) == to_time(4e-6));
  CHECK(launched.alone(bytes, CollectiveOp::AllReduce) == to_time(7e-6));
  CHECK(launched.least(bytes, CollectiveOp::AllReduce, true) == to_time(7e-6));
  CHECK(launched.least_behind(bytes, CollectiveOp::AllGather, true) == to_time(4e-6));
  const std::vector<CostPoint> table{{1000, 1e-6}, {2'000'000, 9e-6}};
  const CommCost cost(table);
  CHECK(cost.after(to_time(2e-6))(1000) == to_time(3e-6));
  CHECK(cost.after(to_time(2e-6)).transfer(2'000'000) == cost.transfer(2'000'000));
}
