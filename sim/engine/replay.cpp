#include "sim/engine/replay.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "sim/engine/event_queue.hpp"

namespace allreplay {

namespace {

class Replay {
 public:
  Replay(const TaskGraph& graph, const System& system)
      : graph_(graph),
        system_(system),
        events_(system.servers.size()),
        dirty_(system.servers.size(), false),
        slowdowns_(system.influences.size(), 1.0) {
    for (const ServerUse& use : system.servers) servers_.push_back(use.server);
    for (const QueueUse& queue : system.queues) {
      queues_.emplace_back(queue.rule);
      server_of_.push_back(queue.server);
      by_server_.push_back(static_cast<QueueId>(by_server_.size()));
    }
    std::stable_sort(by_server_.begin(), by_server_.end(),
                     [&](QueueId a, QueueId b) { return server_of_[a] < server_of_[b]; });
    first_.assign(servers_.size() + 1, 0);
    for (const std::uint32_t one : server_of_) ++first_[one + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    const auto counts = graph.predecessor_counts();
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
    for (const Server* server : servers_) timeline_.events += server->events();
    return std::move(timeline_);
  }

 private:
  void settle(Time instant) {
    while (const auto woken = events_.pop(instant)) {
      if (!servers_[*woken]->looks_ahead()) ++timeline_.events;
      done_.clear();
      servers_[*woken]->complete(instant, done_);
      for (const TaskId id : done_) {
        const Task& task = graph_.tasks()[id];
        timeline_.spans[id].end = instant;
        queues_[task.queue].completed(task);
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
    dirty_[index] = false;
    const bool shared = first_[index + 1] - first_[index] > 1;
    // Where several lanes share a server, what ends at once is settled before the next is chosen.
    while (start_first_admitted(index, instant))
      if (shared && servers_[index]->next_completion() == instant) break;
    wake(index);
  }

  bool start_first_admitted(std::uint32_t index, Time instant) {
    for (std::uint32_t place = first_[index]; place < first_[index + 1]; ++place) {
      Queue& queue = queues_[by_server_[place]];
      if (!queue.admits()) continue;
      const TaskId id = queue.pop(graph_);
      timeline_.spans[id].start = instant;
      servers_[index]->start(id, graph_.tasks()[id], instant);
      return true;
    }
    return false;
  }

  void wake(std::uint32_t index) { events_.schedule(index, servers_[index]->next_completion()); }

  // Once nothing more happens in this instant: who slows whom until the next.
  void influence(Time instant) {
    for (std::size_t i = 0; i < slowdowns_.size(); ++i) {
      const Influence& one = system_.influences[i];
      Load load;
      for (const std::uint32_t from : one.from) {
        const Load other = servers_[from]->load();
        load.in_flight += other.in_flight;
        load.rate += other.rate;
      }
      const double slowdown = one.slowdown(load);
      if (slowdown == slowdowns_[i]) continue;
      slowdowns_[i] = slowdown;
      for (const std::uint32_t on : one.on) {
        servers_[on]->slow(slowdown, instant);
        wake(on);
      }
    }
  }

  void make_ready(TaskId id, Time instant) {
    const Task& task = graph_.tasks()[id];
    timeline_.spans[id].ready = instant;
    queues_[task.queue].push(id, task, instant);
    touch(server_of_[task.queue]);
  }

  void touch(std::uint32_t index) {
    if (dirty_[index]) return;
    dirty_[index] = true;
    touched_[static_cast<std::size_t>(system_.servers[index].phase)].push_back(index);
  }

  void require_all_ended() const {
    if (ended_ == waiting_.size()) return;
    for (TaskId id = 0; id < waiting_.size(); ++id)
      if (timeline_.spans[id].start == never)
        throw Stuck(fmt::format("{} can never start on '{}': {}", graph_.name(id),
                                system_.queues[graph_.tasks()[id].queue].name,
                                waiting_[id] > 0 ? fmt::format("it waits for {} others", waiting_[id])
                                                 : std::string("its queue does not admit it")));
    throw std::logic_error("a server never ends a task that it started");
  }

  const TaskGraph& graph_;
  const System& system_;
  EventQueue events_;  // by server
  std::vector<Server*> servers_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> server_of_;               // by queue
  std::vector<QueueId> by_server_;                     // those of server 0, of server 1, …
  std::vector<std::uint32_t> first_;                   // where each server's start
  std::vector<std::uint32_t> waiting_;                 // predecessors that have not ended, by task
  std::vector<bool> dirty_;                            // whether a server is among the touched
  std::array<std::vector<std::uint32_t>, 2> touched_;  // by phase: servers that may have something to start
  std::vector<double> slowdowns_;                      // by influence
  std::vector<TaskId> done_;
  std::size_t ended_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline replay(const TaskGraph& graph, const System& system) { return Replay(graph, system).run(); }

}  // namespace allreplay
