#include "sim/view/trace_events.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/view/activity_looks.hpp"
#include "sim/view/timeline_rows.hpp"

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

class Writer {
 public:
  explicit Writer(const Outcome& outcome)
      : outcome_(outcome), result_(outcome.result), network_(static_cast<int>(result_.classes.size())) {}

  Value write() {
    events_.push_back(metadata("process_name", network_, 0,
                               fmt::format("network: {}, {} workers", result_.collective, outcome_.scenario.workers)));
    for (const Episode& episode : result_.episodes) write(timeline_rows(outcome_, episode));
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

  void write(const TimelineRows& rows) {
    name_rows(rows);
    for (std::size_t row = 0; row < rows.streams.size(); ++row)
      for (const Bar& bar : rows.streams[row].bars)
        if (bar.end > bar.start)
          events_.push_back(slice(name_of(bar), to_string(bar.activity).c_str(), process(row), thread(row), bar.start,
                                  bar.end, Value::object()));
    for (std::size_t lane = 0; lane < rows.network.size(); ++lane)
      for (const Bar& bar : rows.network[lane].bars) write_collective(bar, static_cast<int>(lane));
    for (const Arrow& made : rows.made) write_arrow(rows, made);
  }

  // The streams of one class of workers are one process.
  int process(std::size_t row) const { return static_cast<int>(row) % network_; }
  int thread(std::size_t row) const { return static_cast<int>(row) / network_; }

  static std::string name_of(const Bar& bar) {
    switch (bar.activity) {
      case Activity::Backward:
        return "B " + bar.name;
      case Activity::Forward:
        return "F " + bar.name;
      case Activity::Collective:
        return bar.name;
      default:
        return to_string(bar.activity) + " of " + bar.name;
    }
  }

  // Each once: no block is in flight between two iterations, so each iteration begins with the first lane again.
  void name_rows(const TimelineRows& rows) {
    for (; named_streams_ < rows.streams.size(); ++named_streams_) {
      const int one = process(named_streams_), stream = thread(named_streams_);
      if (stream == 0) events_.push_back(metadata("process_name", one, 0, rows.streams[named_streams_].name));
      events_.push_back(metadata("thread_name", one, stream, stream == 0 ? "compute" : "codec"));
    }
    for (; named_lanes_ < rows.network.size(); ++named_lanes_)
      events_.push_back(
          metadata("thread_name", network_, static_cast<int>(named_lanes_), rows.network[named_lanes_].name));
  }

  void write_collective(const Bar& bar, int lane) {
    const Block& block = result_.plan.blocks[bar.item];
    events_.push_back(
        slice(name_of(bar), "collective", network_, lane, bar.start, bar.end,
              {{"bytes", bar.bytes}, {"waited_us", us(bar.start - bar.ready)}, {"tensors", block.slices.size()}}));
  }

  // The arrow starts inside what makes the block ready and ends at the collective.
  void write_arrow(const TimelineRows& rows, const Arrow& made) {
    const Bar& before = rows.streams[made.before.row].bars[made.before.bar];
    const Value common{{"name", "ready"}, {"cat", "flow"}, {"id", flows_++}};
    Value from = common, to = common;
    from.update({{"ph", "s"},
                 {"pid", process(made.before.row)},
                 {"tid", thread(made.before.row)},
                 {"ts", us(before.start + (before.end - before.start) / 2)}});
    to.update({{"ph", "f"},
               {"bp", "e"},
               {"pid", network_},
               {"tid", static_cast<int>(made.after.row)},
               {"ts", us(rows.network[made.after.row].bars[made.after.bar].start)}});
    events_.push_back(from);
    events_.push_back(to);
  }

  const Outcome& outcome_;
  const Result& result_;
  int network_;  // its process id; those before it are the worker classes
  std::size_t named_streams_ = 0, named_lanes_ = 0;
  int flows_ = 0;
  Value events_ = Value::array();
};

}  // namespace

std::string trace_events(const Outcome& outcome) { return Writer(outcome).write().dump(); }

}  // namespace allreplay
