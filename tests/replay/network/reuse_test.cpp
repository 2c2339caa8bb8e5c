#include "sim/replay/network/reuse.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

constexpr TaskId nobody = 1000;

// A network on which everything takes 10, and that counts its notifications. Each start is followed by an instant in
// which nothing happens.
class Counting final : public Server {
 public:
  explicit Counting(int& starts) : starts_(starts) {}
  void start(TaskId id, const Task&, Time now) override {
    ++starts_;
    ends_.emplace(add(now, Time(10)), id);
    ends_.emplace(add(now, Time(22)), nobody);
  }
  Time next_completion() const override { return ends_.empty() ? never : ends_.begin()->first; }
  void complete(Time now, std::vector<TaskId>& done) override {
    for (auto end = ends_.begin(); end != ends_.end() && end->first == now; end = ends_.erase(end))
      if (end->second != nobody) done.push_back(end->second);
  }

 private:
  int& starts_;
  std::multimap<Time, TaskId> ends_;
};

}  // namespace

TEST_CASE("only overlapping transfers reach the network; a single one afterwards is priced again") {
  int starts = 0, prices = 0;
  Reuse reuse([&] { return std::make_unique<Counting>(starts); },
              [&](const Task&, std::span<const Reuse::Joined>) {
                ++prices;
                return Reuse::Price{Time(10), 0};
              });
  std::vector<TaskId> done;
  reuse.start(0, {}, Time(0));
  CHECK(starts == 0);
  reuse.start(1, {}, Time(5));
  CHECK(starts == 2);  // also the first, which no longer has the network to itself
  for (const Time end : {Time(10), Time(15)}) {
    REQUIRE(reuse.next_completion() == end);
    reuse.complete(end, done);
  }
  CHECK(done == std::vector<TaskId>{0, 1});
  reuse.start(2, {}, Time(20));
  REQUIRE(reuse.next_completion() == Time(30));
  reuse.complete(Time(30), done);
  CHECK(done.back() == 2);
  CHECK(prices == 2);
  CHECK(starts == 2);
  // The instants that the idle network waited for, 22 and 27, are forgotten.
  CHECK(reuse.next_completion() == never);
  reuse.start(3, {}, Time(40));
  reuse.start(4, {}, Time(40));
  CHECK(starts == 4);
  CHECK(reuse.next_completion() == Time(50));
}

TEST_CASE("a task that starts in parties has a price once all have joined") {
  int starts = 0;
  std::optional<Reuse::Price> price = Reuse::Price{Time(40), 0};
  std::vector<Time> asked;
  const auto pricing = [&](const Task&, std::span<const Reuse::Joined> joined) {
    for (const Reuse::Joined& one : joined) asked.push_back(one.at);
    return price;
  };
  Reuse reuse([&] { return std::make_unique<Counting>(starts); }, pricing, 2);
  std::vector<TaskId> done;
  reuse.start(0, {}, Time(5));
  reuse.join(0, 1, Time(5));
  CHECK(reuse.next_completion() == never);
  reuse.join(0, 0, Time(30));
  CHECK(asked == std::vector<Time>{Time(0), Time(25)});  // after its start
  REQUIRE(reuse.next_completion() == Time(45));
  reuse.complete(Time(45), done);
  CHECK(done == std::vector<TaskId>{0});
  CHECK(starts == 0);
  // Without a price, the network receives the task and its parties.
  price.reset();
  reuse.start(1, {}, Time(50));
  reuse.join(1, 0, Time(50));
  CHECK(starts == 0);
  reuse.join(1, 1, Time(52));
  CHECK(starts == 1);
  CHECK(reuse.next_completion() == Time(60));
}
