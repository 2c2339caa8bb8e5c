#include "sim/experiment/trace_events.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/collective/stage.hpp"
#include "sim/experiment/timeline_rows.hpp"

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
    for (std::size_t c = 0; c < rows.compute.size(); ++c)
      for (const Bar& bar : rows.compute[c].bars) {
        const bool backward = bar.activity == Activity::Backward;
        if (bar.end > bar.start)
          events_.push_back(slice((backward ? "B " : "F ") + bar.name, backward ? "backward" : "forward",
                                  static_cast<int>(c), 0, bar.start, bar.end, Value::object()));
      }
    for (std::size_t lane = 0; lane < rows.network.size(); ++lane)
      for (const Bar& bar : rows.network[lane].bars) write_collective(bar, static_cast<int>(lane));
    for (const Gate& made : rows.made) write_arrow(rows, made);
  }

  // Each once: no block is in flight between two iterations, so each iteration begins with the first lane again.
  void name_rows(const TimelineRows& rows) {
    for (; named_classes_ < rows.compute.size(); ++named_classes_) {
      const int c = static_cast<int>(named_classes_);
      events_.push_back(metadata("process_name", c, 0, rows.compute[named_classes_].name));
      events_.push_back(metadata("thread_name", c, 0, "compute"));
    }
    for (; named_lanes_ < rows.network.size(); ++named_lanes_)
      events_.push_back(
          metadata("thread_name", network_, static_cast<int>(named_lanes_), rows.network[named_lanes_].name));
  }

  void write_collective(const Bar& bar, int lane) {
    const Block& block = result_.plan.blocks[bar.item];
    const std::string leg = bar.activity == Activity::ReduceScatter ? to_string(Stage::ReduceScatter) + " of "
                            : bar.activity == Activity::AllGather   ? to_string(Stage::AllGather) + " of "
                                                                    : "";
    events_.push_back(
        slice(leg + bar.name, "collective", network_, lane, bar.start, bar.end,
              {{"bytes", block.bytes()}, {"waited_us", us(bar.start - bar.ready)}, {"tensors", block.slices.size()}}));
  }

  // The arrow starts inside the backward task and ends at the collective.
  void write_arrow(const TimelineRows& rows, const Gate& made) {
    const Bar& before = rows.compute[made.before.row].bars[made.before.bar];
    const Value common{{"name", "ready"}, {"cat", "flow"}, {"id", flows_++}};
    Value from = common, to = common;
    from.update({{"ph", "s"},
                 {"pid", static_cast<int>(made.before.row)},
                 {"tid", 0},
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
  std::size_t named_classes_ = 0, named_lanes_ = 0;
  int flows_ = 0;
  Value events_ = Value::array();
};

}  // namespace

std::string trace_events(const Outcome& outcome) { return Writer(outcome).write().dump(); }

}  // namespace allreplay
