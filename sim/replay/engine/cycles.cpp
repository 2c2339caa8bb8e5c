#include "sim/replay/engine/cycles.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/replay/engine/replay_loop.hpp"

namespace allreplay {

namespace {

// The constant data of a graph: which tasks of the next replay depend on each of its tasks, how many predecessors each
// task has, and how many tasks each queue has.
struct Shape {
  const TaskGraph* graph = nullptr;
  std::vector<std::vector<TaskId>> carries;  // by task: its successors in the next replay
  std::size_t carried = 0;                   // their total number
  std::vector<std::uint32_t> needed;         // by task: its predecessors, including those in the previous replay
  std::vector<std::int64_t> in_queue;        // by queue: its tasks
  std::int64_t priorities = 0;               // one more than the largest

  Shape(const TaskGraph& tasks, const std::vector<Carried>& out, std::span<const Carried> in)
      : graph(&tasks), carries(tasks.tasks().size()), carried(out.size()) {
    for (const Carried& one : out) carries[one.before].push_back(one.after);
    if (!tasks.tasks().empty()) needed.assign(tasks.needed_counts().begin(), tasks.needed_counts().end());
    for (const Carried& one : in) ++needed[one.after];
    for (const Task& task : tasks.tasks()) {
      if (task.queue >= in_queue.size()) in_queue.resize(task.queue + 1, 0);
      ++in_queue[task.queue];
      priorities = std::max(priorities, task.priority + 1);
    }
  }
};

struct Shapes {
  Shape opening, first, later;  // of the opening, of the graph's first replay, and of all later ones
};

// A replay that has begun and has not ended.
struct Replay {
  std::uint32_t cycle = 0;
  std::int64_t number = 0;
  const Shape* shape = nullptr;
  std::vector<std::uint32_t> waiting;
  std::vector<Span> spans;
  std::vector<Task> tasks;  // with the durations of this replay
  std::size_t left = 0, carried_left = 0;
};

class ManyGraphs {
 public:
  ManyGraphs(const std::vector<Cycle>& cycles, const System& system, Observer& observer)
      : cycles_(cycles), system_(system), observer_(observer), live_(cycles.size()), begun_(cycles.size(), false) {
    std::size_t most = 1;
    for (const Cycle& cycle : cycles) {
      const bool opens = !cycle.opening.tasks().empty();
      shapes_.push_back(
          {Shape(cycle.opening, cycle.from_opening, {}),
           Shape(cycle.graph, cycle.carried, opens ? std::span(cycle.from_opening) : std::span<const Carried>()),
           Shape(cycle.graph, cycle.carried, cycle.carried)});
      most = std::max({most, cycle.graph.tasks().size(), cycle.opening.tasks().size()});
    }
    task_bits_ = static_cast<unsigned>(std::bit_width(most));
  }

  const Task& task(TaskId id) const { return of(id).tasks[local(id)]; }

  // The task's place in its queue across replays; the opening, whose number is −1, comes first.
  std::int64_t turn(TaskId id) const {
    const Replay& replay = of(id);
    const Task& task = replay.tasks[local(id)];
    return task.position + replay.number * replay.shape->in_queue[task.queue];
  }

  Time next() const {
    Time next = observer_.next_change();
    for (std::size_t cycle = 0; cycle < cycles_.size(); ++cycle)
      if (!begun_[cycle]) next = std::min(next, cycles_[cycle].start);
    return next;
  }

  template <class MakeReady>
  void arrive(Time instant, const MakeReady& make_ready) {
    for (std::uint32_t cycle = 0; cycle < cycles_.size(); ++cycle) {
      if (begun_[cycle] || cycles_[cycle].start > instant) continue;
      begun_[cycle] = true;
      const bool opens = !cycles_[cycle].opening.tasks().empty();
      if (!opens) observer_.passed(cycle, -1, instant);
      begin(cycle, opens ? -1 : 0, instant, make_ready);
    }
  }

  void start(TaskId id, Time instant) { of(id).spans[local(id)].start = instant; }

  template <class MakeReady>
  void end(TaskId id, Time instant, const MakeReady& make_ready) {
    const std::uint32_t slot = id >> task_bits_, here = local(id);
    replays_[slot].spans[here].end = instant;
    --replays_[slot].left;
    for (const TaskId successor : replays_[slot].shape->graph->successors(here))
      release(slot, successor, instant, make_ready);
    for (const TaskId successor : replays_[slot].shape->carries[here]) {
      if (const auto next = slot_of_next(slot, instant, make_ready)) release(*next, successor, instant, make_ready);
      Replay& replay = replays_[slot];
      if (--replay.carried_left == 0) observer_.passed(replay.cycle, replay.number, instant);
    }
    if (replays_[slot].left == 0) finish(slot);
  }

  template <class Loop>
  void change(Time instant, Loop& loop) {
    while (observer_.next_change() <= instant)
      for (const auto& [server, factor] : observer_.change(instant)) loop.slow(server, factor, instant);
  }

  bool enough(Time instant, bool more) {
    return stopped_ = !more && observer_.enough(instant, [&] { return state(instant); });
  }

  void require_none_stuck() const {
    if (stopped_) return;
    for (const auto& live : live_)
      for (const auto& [number, slot] : live)
        for (TaskId id = 0; id < replays_[slot].spans.size(); ++id)
          if (replays_[slot].spans[id].start == never)
            throw Stuck(fmt::format("{} can never start on '{}'", replays_[slot].shape->graph->name(id),
                                    system_.queues[replays_[slot].tasks[id].queue].name));
  }

 private:
  const Replay& of(TaskId id) const { return replays_[id >> task_bits_]; }
  Replay& of(TaskId id) { return replays_[id >> task_bits_]; }
  TaskId local(TaskId id) const { return id & ((TaskId{1} << task_bits_) - 1); }
  TaskId global(std::uint32_t slot, TaskId local) const { return (slot << task_bits_) | local; }

  template <class MakeReady>
  void release(std::uint32_t slot, TaskId task, Time instant, const MakeReady& make_ready) {
    if (--replays_[slot].waiting[task] > 0) return;
    replays_[slot].spans[task].ready = instant;
    make_ready(global(slot, task));
  }

  // The slot of the next replay of the same cycle, which is begun if necessary; nothing if the cycle does not go on.
  template <class MakeReady>
  std::optional<std::uint32_t> slot_of_next(std::uint32_t slot, Time instant, const MakeReady& make_ready) {
    const std::uint32_t cycle = replays_[slot].cycle;
    const std::int64_t number = replays_[slot].number + 1;
    const auto known = live_[cycle].find(number);
    if (known != live_[cycle].end()) return known->second;
    if (!observer_.should_continue(cycle, number)) return std::nullopt;
    return begin(cycle, number, instant, make_ready);
  }

  template <class MakeReady>
  std::uint32_t begin(std::uint32_t cycle, std::int64_t number, Time instant, const MakeReady& make_ready) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(replays_.size());
      if (slot >= (std::uint64_t{1} << (32 - task_bits_))) throw std::logic_error("too many simultaneous replays");
      replays_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    live_[cycle].emplace(number, slot);
    const Shapes& shapes = shapes_[cycle];
    Replay& replay = replays_[slot];
    replay.cycle = cycle;
    replay.number = number;
    replay.shape = number < 0 ? &shapes.opening : number == 0 ? &shapes.first : &shapes.later;
    replay.waiting = replay.shape->needed;
    const auto tasks = replay.shape->graph->tasks();
    replay.tasks.assign(tasks.begin(), tasks.end());
    for (Task& task : replay.tasks)  // tasks of an earlier replay have precedence
      if (system_.queues[task.queue].rule.order == Order::Priority) task.priority += number * replay.shape->priorities;
    replay.spans.assign(tasks.size(), Span());
    replay.left = tasks.size();
    replay.carried_left = replay.shape->carried;
    observer_.begins(cycle, number, replay.tasks);
    for (TaskId id = 0; id < replay.waiting.size(); ++id)
      if (replays_[slot].waiting[id] == 0) {
        replays_[slot].spans[id].ready = instant;
        make_ready(global(slot, id));
      }
    return slot;
  }

  void finish(std::uint32_t slot) {
    Replay& replay = replays_[slot];
    observer_.ended(replay.cycle, replay.number, replay.spans);
    live_[replay.cycle].erase(replay.number);
    free_.push_back(slot);
  }

  // Lists the progress of each task of each live replay, and the state of the servers.
  std::vector<std::int64_t> state(Time now) const {
    std::vector<std::int64_t> all;
    std::map<std::uint32_t, std::int64_t> place_of;  // by slot: its rank in the order of cycles and replays
    for (const auto& live : live_) {
      all.push_back(static_cast<std::int64_t>(live.size()));
      for (const auto& [number, slot] : live) {
        place_of.emplace(slot, static_cast<std::int64_t>(place_of.size()));
        const Replay& replay = replays_[slot];
        all.push_back(std::min<std::int64_t>(number, 1));
        for (std::size_t id = 0; id < replay.spans.size(); ++id) {
          const Span& span = replay.spans[id];
          if (span.end != never)
            all.push_back(-1);
          else if (span.start != never)
            all.push_back(-2);
          else if (span.ready != never)
            all.insert(all.end(), {-3, (span.ready - now).count()});
          else
            all.push_back(replay.waiting[id]);
        }
      }
    }
    const auto name = [&](TaskId id) {
      return (place_of.at(id >> task_bits_) << task_bits_) | static_cast<std::int64_t>(local(id));
    };
    for (const ServerUse& use : system_.servers) use.server->describe(now, name, all);
    return all;
  }

  const std::vector<Cycle>& cycles_;
  const System& system_;
  Observer& observer_;
  std::vector<Shapes> shapes_;
  std::vector<Replay> replays_;  // by slot
  std::vector<std::uint32_t> free_;
  std::vector<std::map<std::int64_t, std::uint32_t>> live_;  // by cycle: the slots of its replays, by number
  std::vector<bool> begun_;
  unsigned task_bits_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::int64_t replay_cycles(const std::vector<Cycle>& cycles, const System& system, Observer& observer) {
  ManyGraphs tasks(cycles, system, observer);
  const std::int64_t events = ReplayLoop(tasks, system).run();
  tasks.require_none_stuck();
  return events;
}

}  // namespace allreplay
