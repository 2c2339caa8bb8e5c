// The order of events against a list that is searched from the beginning.
#include "sim/replay/network/instants.hpp"

#include <algorithm>

#include "tests/catch.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

// Pushes at random, now and while events are handled; what came out, by number.
template <class Queue>
std::vector<std::uint32_t> order_of(std::uint64_t seed, Queue queue) {
  Random random(seed, 0);
  std::uint32_t pushed = 0;
  std::vector<std::uint32_t> popped;
  Time now{0};
  const auto push = [&] {
    // Immediately, soon, at one of few instants, or up to centuries later: in any bucket.
    const std::uint64_t kind = random.below(4), bits = random.below(62);
    const std::uint64_t later = kind == 0   ? 0
                                : kind == 1 ? random.below(4)
                                : kind == 2 ? 100 * random.below(3)
                                            : random.below(std::uint64_t{1} << bits);
    if (later > static_cast<std::uint64_t>((never - now).count() - 1)) return;
    queue.push(now + Time(static_cast<std::int64_t>(later)), {pushed++, 0});
  };
  for (int i = 0; i < 400; ++i) {
    for (std::uint64_t more = random.below(6); more > 0; --more) push();
    if (queue.next() == never) continue;
    // Time may pass without an event, as where another server has one.
    now = random.below(2) == 0 ? now : queue.next();
    if (queue.next() != now) continue;
    queue.pop([&](Instants::Event event) {
      popped.push_back(event.subject);
      if (random.below(3) == 0) push();
    });
  }
  return popped;
}

class Searched {
 public:
  void push(Time at, Instants::Event event) { events_.push_back({at, event}); }
  Time next() const {
    Time least = never;
    for (const auto& [at, event] : events_) least = std::min(least, at);
    return least;
  }
  template <class Handle>
  void pop(const Handle& handle) {
    const Time now = next();
    for (std::size_t i = 0; i < events_.size();) {  // entries that arrive meanwhile come last
      if (events_[i].first != now) {
        ++i;
        continue;
      }
      const Instants::Event event = events_[i].second;
      events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
      handle(event);
    }
  }

 private:
  std::vector<std::pair<Time, Instants::Event>> events_;
};

}  // namespace

TEST_CASE("events come instant by instant, those of one instant in the order in which they were added") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<std::uint32_t> expected = order_of(seed, Searched());
    REQUIRE(expected.size() > 300);
    CHECK(order_of(seed, Instants()) == expected);
  }
}
