// The event loop of the engine, used to replay one graph once (replay.cpp) and several graphs repeatedly (cycles.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "sim/replay/engine/event_queue.hpp"
#include "sim/replay/engine/replay.hpp"

namespace allreplay {

/// `Tasks` provides the tasks: each by number (task, turn); the effects of a start and an end (start, end); tasks that
/// become ready by themselves (next, arrive); other changes before networks choose (change); when to stop (enough).
template <class Tasks>
class ReplayLoop {
 public:
  ReplayLoop(Tasks& tasks, const System& system)
      : tasks_(tasks),
        system_(system),
        events_(system.servers.size()),
        slowdown_of_influence_(system.influences.size(), 1.0) {
    for (const ServerUse& use : system.servers) servers_.push_back({use.server, use.phase, 0, 0, false, false});
    for (const QueueUse& queue : system.queues) {
      queues_.push_back({Queue(queue.rule), queue.server});
      by_server_.push_back(static_cast<QueueId>(by_server_.size()));
      ++servers_[queue.server].last;
    }
    std::stable_sort(by_server_.begin(), by_server_.end(),
                     [&](QueueId a, QueueId b) { return queues_[a].server < queues_[b].server; });
    influences_from_.resize(servers_.size());
    for (std::uint32_t i = 0; i < system.influences.size(); ++i) {
      influences_from_[system.influences[i].from].push_back(i);
      servers_[system.influences[i].from].has_influence = true;
    }
    influenced_slowdowns_.assign(servers_.size(), 1);
    own_slowdowns_.assign(servers_.size(), 1);
    std::uint32_t before = 0;
    for (Serving& one : servers_) {
      one.first = before;
      before = one.last += before;
    }
  }

  /// Runs until nothing more happens, or `Tasks` has seen enough. Returns the number of events (see Timeline::events).
  std::int64_t run() {
    for (Time instant = next(); instant != never; instant = next()) {
      settle(instant);    // every completion of this instant releases its successors
      dispatch(instant);  // only then do queues choose what to start
      if (tasks_.enough(instant, events_.next() == instant)) break;
    }
    for (const Serving& one : servers_) woken_ += one.server->events();
    return woken_;
  }

  /// Called by Tasks::change(): sets a server's own slowdown factor, which is multiplied by those of influences.
  void slow(std::uint32_t index, double factor, Time instant) {
    own_slowdowns_[index] = factor;
    servers_[index].server->slow(factor * influenced_slowdowns_[index], instant);
    wake(index);
  }
  /// Asks a server again for its next completion, after a change from outside.
  void wake(std::uint32_t index) {
    if (servers_[index].has_influence) load_changed_.push_back(index);
    schedule(index);
  }

 private:
  // A server, and the range of its queues in by_server_.
  struct Serving {
    Server* server;
    Phase phase;
    std::uint32_t first, last;
    bool touched;        // it may have something to start
    bool has_influence;  // it influences others
  };
  struct QueueAtServer {
    Queue queue;
    std::uint32_t server;
  };

  void schedule(std::uint32_t index) { events_.schedule(index, servers_[index].server->next_completion()); }

  Time next() const { return std::min(events_.next(), tasks_.next()); }

  void settle(Time instant) {
    const auto make_ready = [&](TaskId id) { this->make_ready(id, instant); };
    while (const auto woken = events_.pop(instant)) {
      Server& server = *servers_[*woken].server;
      if (!server.wakeup_is_tentative()) ++woken_;
      done_.clear();
      server.complete(instant, done_);
      for (const TaskId id : done_) {
        const auto& task = tasks_.task(id);
        queues_[task.queue].queue.completed(task);
        tasks_.end(id, instant, make_ready);
      }
      touch(*woken);
    }
    tasks_.arrive(instant, make_ready);
  }

  void dispatch(Time instant) {
    for (const Phase phase : {Phase::Compute, Phase::Exchange, Phase::Communication}) {
      if (phase == Phase::Communication) tasks_.change(instant, *this);
      std::vector<std::uint32_t>& touched = touched_[static_cast<std::size_t>(phase)];
      for (const std::uint32_t one : touched) start_admitted(one, instant);
      touched.clear();
      // Tasks without duration have ended already: settles them before a later phase chooses.
      if (events_.next() == instant) return;
    }
    influence(instant);
  }

  void start_admitted(std::uint32_t index, Time instant) {
    Serving& serving = servers_[index];
    serving.touched = false;
    // If queues share a server, settles a task that ends immediately before choosing the next.
    const bool shared = serving.last - serving.first > 1;
    while (start_first_admitted(serving, instant))
      if (shared && serving.server->next_completion() == instant) break;
    schedule(index);
  }

  bool start_first_admitted(const Serving& serving, Time instant) {
    for (std::uint32_t place = serving.first; place < serving.last; ++place) {
      Queue& queue = queues_[by_server_[place]].queue;
      if (!queue.admits()) continue;
      const TaskId id = queue.next();
      const auto& task = tasks_.task(id);
      queue.pop(task);
      tasks_.start(id, instant);
      serving.server->start(id, task, instant);
      return true;
    }
    return false;
  }

  // Updates the slowdowns by influences, at the end of an instant.
  void influence(Time instant) {
    for (const std::uint32_t from : load_changed_)
      for (const std::uint32_t i : influences_from_[from]) {
        const Influence& one = system_.influences[i];
        const double slowdown = one.slowdown(one.load_of(*servers_[from].server));
        if (slowdown == slowdown_of_influence_[i]) continue;
        slowdown_of_influence_[i] = slowdown;
        for (const std::uint32_t on : one.on) {
          influenced_slowdowns_[on] = slowdown;
          servers_[on].server->slow(slowdown * own_slowdowns_[on], instant);
          schedule(on);
        }
      }
    load_changed_.clear();
  }

  void make_ready(TaskId id, Time instant) {
    const auto& task = tasks_.task(id);
    QueueAtServer& entry = queues_[task.queue];
    entry.queue.push(id, task, tasks_.turn(id), instant);
    touch(entry.server);
  }

  void touch(std::uint32_t index) {
    Serving& serving = servers_[index];
    if (serving.touched) return;
    serving.touched = true;
    if (serving.has_influence) load_changed_.push_back(index);
    touched_[static_cast<std::size_t>(serving.phase)].push_back(index);
  }

  Tasks& tasks_;
  const System& system_;
  EventQueue events_;  // by server
  std::vector<Serving> servers_;
  std::vector<QueueAtServer> queues_;
  std::vector<QueueId> by_server_;                            // the queues of server 0, of server 1, …
  std::array<std::vector<std::uint32_t>, 3> touched_;         // by phase: servers that may have something to start
  std::vector<std::vector<std::uint32_t>> influences_from_;   // by server: the influences that start from it
  std::vector<std::uint32_t> load_changed_;                   // servers with influences whose load may have changed
  std::vector<double> slowdown_of_influence_;                 // by influence
  std::vector<double> influenced_slowdowns_, own_slowdowns_;  // by server
  std::vector<TaskId> done_;
  std::int64_t woken_ = 0;
};

}  // namespace allreplay
