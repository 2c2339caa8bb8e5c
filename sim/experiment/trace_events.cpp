#include "sim/experiment/trace_events.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/collective/stage.hpp"

namespace allreplay {

namespace {

using Value = nlohmann::ordered_json;

double us(Time time) { return static_cast<double>(time.count()) * 1e-6; }

Value metadata(const char* what, int pid, int tid, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

Value slice(const std::string& name, const char* category, int pid, int tid, Time start, Time end, Value args) {
  return {
      {"name", name},           {"cat", category},        {"ph", "X"}, {"pid", pid}, {"tid", tid}, {"ts", us(start)},
      {"dur", us(end - start)}, {"args", std::move(args)}};
}

std::string class_name(const WorkerClass& one) {
  const auto count = one.workers.size();
  std::string name = count == 1 ? fmt::format("worker {}", one.workers[0])
                                : fmt::format("{} workers like worker {}", count, one.workers[0]);
  return one.slowdown == 1 ? name : name + fmt::format(" (x{:g} as slow)", one.slowdown);
}

// Threads that show blocks side by side while more than one is in flight: each takes the first that is free.
class Lanes {
 public:
  int take(Time start, Time end) {
    const auto lane = std::find_if(busy_until_.begin(), busy_until_.end(), [&](Time until) { return until <= start; });
    const auto index = lane - busy_until_.begin();
    if (lane == busy_until_.end())
      busy_until_.push_back(end);
    else
      *lane = end;
    return static_cast<int>(index);
  }
  std::size_t count() const { return busy_until_.size(); }

 private:
  std::vector<Time> busy_until_;
};

class Writer {
 public:
  explicit Writer(const Outcome& outcome)
      : outcome_(outcome), result_(outcome.result), network_(static_cast<int>(result_.classes.size())) {}

  Value write() {
    for (int c = 0; c < network_; ++c) {
      events_.push_back(metadata("process_name", c, 0, class_name(result_.classes[static_cast<std::size_t>(c)])));
      events_.push_back(metadata("thread_name", c, 0, "compute"));
    }
    events_.push_back(metadata("process_name", network_, 0,
                               fmt::format("network: {}, {} workers", result_.collective, outcome_.scenario.workers)));
    for (const Episode& episode : result_.episodes) {
      write_compute(episode);
      write_blocks(episode);
    }
    for (std::size_t lane = 0; lane < lanes_.count(); ++lane)
      events_.push_back(metadata("thread_name", network_, static_cast<int>(lane),
                                 lanes_.count() == 1 ? "collectives" : fmt::format("collectives {}", lane)));
    return {{"displayTimeUnit", "ms"}, {"otherData", other_data()}, {"traceEvents", events_}};
  }

 private:
  Value other_data() const {
    const Scenario& scenario = outcome_.scenario;
    return {{"profile", scenario.profile.name},
            {"origin", to_string(scenario.profile.origin)},
            {"cluster", scenario.cluster.name},
            {"strategy", scenario.strategy->name},
            {"iteration_s", result_.metrics.iteration_s}};
  }

  void write_compute(const Episode& episode) {
    const Unrolled& unrolled = result_.unrolled;
    const auto write = [&](TaskId task, const std::string& name, const char* category, int pid) {
      const Span& span = episode.timeline.spans[task];
      if (span.end > span.start)
        events_.push_back(slice(name, category, pid, 0, add(episode.start, span.start), add(episode.start, span.end),
                                Value::object()));
    };
    for (int c = 0; c < network_; ++c)
      for (std::size_t layer = 0; layer < unrolled.layers; ++layer) {
        const std::string& name = outcome_.scenario.profile.layers[layer].name;
        write(unrolled.backward(static_cast<std::size_t>(c), layer), "B " + name, "backward", c);
        write(unrolled.forward(static_cast<std::size_t>(c), layer), "F " + name, "forward", c);
      }
  }

  void write_blocks(const Episode& episode) {
    const Unrolled& unrolled = result_.unrolled;
    std::vector<std::size_t> by_start(unrolled.collectives());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(episode.timeline.spans[unrolled.block(a)].start, a) <
             std::pair(episode.timeline.spans[unrolled.block(b)].start, b);
    });
    for (const std::size_t index : by_start) write_block(episode, index);
  }

  void write_block(const Episode& episode, std::size_t index) {
    const Profile& profile = outcome_.scenario.profile;
    const std::size_t blocks = result_.unrolled.blocks, stage = index / blocks;
    const Block& block = result_.plan.blocks[index % blocks];
    const Span& span = episode.timeline.spans[result_.unrolled.block(index)];
    const Time start = add(episode.start, span.start), end = add(episode.start, span.end);
    const int lane = lanes_.take(start, end);
    const std::string leg =
        result_.unrolled.stages == 1 ? "" : to_string(stage == 0 ? Stage::ReduceScatter : Stage::AllGather) + " of ";
    events_.push_back(slice(
        leg + describe(block, profile, index % blocks), "collective", network_, lane, start, end,
        {{"bytes", block.bytes()}, {"waited_us", us(span.start - span.ready)}, {"tensors", block.slices.size()}}));
    if (stage > 0) return;
    // The arrow starts inside the backward task of the class that was last to be ready, and ends at the collective.
    const LayerId layer = ready_layer(result_.plan, block, profile);
    std::size_t last = 0;
    const auto ended = [&](std::size_t c) { return episode.timeline.spans[result_.unrolled.backward(c, layer)].end; };
    for (std::size_t c = 1; c < result_.classes.size(); ++c)
      if (ended(c) > ended(last)) last = c;
    const Span& made = episode.timeline.spans[result_.unrolled.backward(last, layer)];
    const Value common{{"name", "ready"}, {"cat", "flow"}, {"id", flows_++}};
    Value from = common, to = common;
    from.update({{"ph", "s"},
                 {"pid", static_cast<int>(last)},
                 {"tid", 0},
                 {"ts", us(add(episode.start, made.start + (made.end - made.start) / 2))}});
    to.update({{"ph", "f"}, {"bp", "e"}, {"pid", network_}, {"tid", lane}, {"ts", us(start)}});
    events_.push_back(from);
    events_.push_back(to);
  }

  const Outcome& outcome_;
  const Result& result_;
  int network_;  // its process id; those before it are the worker classes
  Lanes lanes_;
  int flows_ = 0;
  Value events_ = Value::array();
};

}  // namespace

std::string trace_events(const Outcome& outcome) { return Writer(outcome).write().dump(); }

}  // namespace allreplay
