#include "sim/engine/replay.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/engine/event_queue.hpp"

namespace allreplay {

namespace {

class Replay {
 public:
  Replay(const TaskGraph& graph, const System& system)
      : graph_(graph), system_(system), events_(system.servers.size()), slowdowns_(system.influences.size(), 1.0) {
    for (const ServerUse& use : system.servers) servers_.push_back({use.server, use.phase, 0, 0, false});
    for (const QueueUse& queue : system.queues) {
      queues_.push_back({Queue(queue.rule), queue.server});
      by_server_.push_back(static_cast<QueueId>(by_server_.size()));
      ++servers_[queue.server].last;
    }
    std::stable_sort(by_server_.begin(), by_server_.end(),
                     [&](QueueId a, QueueId b) { return queues_[a].server < queues_[b].server; });
    std::uint32_t before = 0;
    for (Serving& one : servers_) {
      one.first = before;
      before = one.last += before;
    }
    const auto counts = graph.needed_counts();
    waiting_.assign(counts.begin(), counts.end());
    timeline_.spans.resize(graph.tasks().size());
  }

  Timeline run() {
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (waiting_[id] == 0) make_ready(id, Time(0));
    dispatch(Time(0));
    while (const auto instant = events_.next()) {
      settle(*instant);    // every completion of this instant releases its successors
      dispatch(*instant);  // only then do queues choose what to start
    }
    require_all_ended();
    for (const Serving& one : servers_) timeline_.events += one.server->events();
    return std::move(timeline_);
  }

 private:
  // A server, and where in by_server_ its queues are.
  struct Serving {
    Server* server;
    Phase phase;
    std::uint32_t first, last;
    bool touched;  // it may have something to start
  };
  struct Standing {
    Queue queue;
    std::uint32_t server;
  };

  void settle(Time instant) {
    while (const auto woken = events_.pop(instant)) {
      Server& server = *servers_[*woken].server;
      if (!server.wakeup_is_tentative()) ++timeline_.events;
      done_.clear();
      server.complete(instant, done_);
      for (const TaskId id : done_) {
        const Task& task = graph_.tasks()[id];
        timeline_.spans[id].end = instant;
        queues_[task.queue].queue.completed(task);
        ++ended_;
        for (const TaskId successor : graph_.successors(id))
          if (--waiting_[successor] == 0) make_ready(successor, instant);
      }
      touch(*woken);
    }
  }

  void dispatch(Time instant) {
    for (std::vector<std::uint32_t>& touched : touched_) {
      for (const std::uint32_t one : touched) start_admitted(one, instant);
      touched.clear();
      // Work without duration has ended already: it is settled before a later phase chooses.
      if (events_.next() == instant) return;
    }
    influence(instant);
  }

  void start_admitted(std::uint32_t index, Time instant) {
    Serving& serving = servers_[index];
    serving.touched = false;
    // Where several lanes share a server, what ends at once is settled before the next is chosen.
    const bool shared = serving.last - serving.first > 1;
    while (start_first_admitted(serving, instant))
      if (shared && serving.server->next_completion() == instant) break;
    wake(index);
  }

  bool start_first_admitted(const Serving& serving, Time instant) {
    for (std::uint32_t place = serving.first; place < serving.last; ++place) {
      Queue& queue = queues_[by_server_[place]].queue;
      if (!queue.admits()) continue;
      const TaskId id = queue.pop(graph_);
      timeline_.spans[id].start = instant;
      serving.server->start(id, graph_.tasks()[id], instant);
      return true;
    }
    return false;
  }

  void wake(std::uint32_t index) { events_.schedule(index, servers_[index].server->next_completion()); }

  // Once nothing more happens in this instant: who slows whom until the next.
  void influence(Time instant) {
    for (std::size_t i = 0; i < slowdowns_.size(); ++i) {
      const Influence& one = system_.influences[i];
      Load load;
      for (const std::uint32_t from : one.from) {
        const Load other = servers_[from].server->load();
        load.in_flight += other.in_flight;
        load.rate += other.rate;
      }
      const double slowdown = one.slowdown(load);
      if (slowdown == slowdowns_[i]) continue;
      slowdowns_[i] = slowdown;
      for (const std::uint32_t on : one.on) {
        servers_[on].server->slow(slowdown, instant);
        wake(on);
      }
    }
  }

  void make_ready(TaskId id, Time instant) {
    const Task& task = graph_.tasks()[id];
    timeline_.spans[id].ready = instant;
    Standing& standing = queues_[task.queue];
    standing.queue.push(id, task, instant);
    touch(standing.server);
  }

  void touch(std::uint32_t index) {
    Serving& serving = servers_[index];
    if (serving.touched) return;
    serving.touched = true;
    touched_[static_cast<std::size_t>(serving.phase)].push_back(index);
  }

  void require_all_ended() const {
    if (ended_ == waiting_.size()) return;
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (timeline_.spans[id].start == never)
        throw Stuck(fmt::format("{} can never start on '{}': {}", graph_.name(id),
                                system_.queues[graph_.tasks()[id].queue].name,
                                timeline_.spans[id].ready == never ? fmt::format("it waits for {} others", waiting_[id])
                                                                   : std::string("its queue does not admit it")));
    throw std::logic_error("a server never ends a task that it started");
  }

  const TaskGraph& graph_;
  const System& system_;
  EventQueue events_;  // by server
  std::vector<Serving> servers_;
  std::vector<Standing> queues_;
  std::vector<QueueId> by_server_;                     // those of server 0, of server 1, …
  std::vector<std::uint32_t> waiting_;                 // predecessors that must yet end, by task; then it goes round
  std::array<std::vector<std::uint32_t>, 2> touched_;  // by phase: servers that may have something to start
  std::vector<double> slowdowns_;                      // by influence
  std::vector<TaskId> done_;
  std::size_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline replay(const TaskGraph& graph, const System& system) { return Replay(graph, system).run(); }

}  // namespace allreplay
