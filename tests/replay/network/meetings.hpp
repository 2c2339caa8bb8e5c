// Runs collectives on a server whose parties arrive at different times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "sim/replay/engine/server.hpp"

namespace allreplay {

// A collective that starts when the first of its parties does.
struct Meeting {
  std::int64_t bytes = 0;
  std::vector<Time> parties;  // when each arrives
  Time start() const { return *std::min_element(parties.begin(), parties.end()); }
};

struct Happens {
  Time at;
  bool joins;  // after all starts of the instant
  TaskId task;
  std::uint32_t party;
  auto key() const { return std::tuple(at, joins, task, party); }
};

// Returns when each ends.
inline std::vector<Time> ends_of(Server& server, const std::vector<Meeting>& meetings) {
  std::vector<Happens> all;
  for (TaskId task = 0; task < meetings.size(); ++task) {
    all.push_back({meetings[task].start(), false, task, 0});
    for (std::uint32_t party = 0; party < meetings[task].parties.size(); ++party)
      all.push_back({meetings[task].parties[party], true, task, party});
  }
  std::sort(all.begin(), all.end(), [](const Happens& a, const Happens& b) { return a.key() < b.key(); });
  std::vector<Time> result(meetings.size(), never);
  std::vector<TaskId> done;
  auto next = all.begin();
  for (Time before{0};;) {
    const Time now = std::min(next == all.end() ? never : next->at, server.next_completion());
    if (now < before) throw std::logic_error("a server asks for an instant that is over");
    if (now == never) return result;
    before = now;
    while (server.next_completion() == now) {
      done.clear();
      server.complete(now, done);
      for (const TaskId id : done) result[id] = now;
    }
    for (; next != all.end() && next->at == now; ++next) {
      if (next->joins)
        server.join(next->task, next->party, now);
      else
        server.start(next->task, {.bytes = meetings[next->task].bytes}, now);
    }
  }
}

}  // namespace allreplay
