#include "sim/view/timeline_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/experiment/row.hpp"
#include "sim/picture/axes.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"
#include "sim/report/apart.hpp"
#include "sim/view/activity_looks.hpp"
#include "sim/view/timeline_rows.hpp"

namespace allreplay {

namespace {

constexpr double page_width = 1000;
constexpr double compute_height = 26, codec_height = 14, lane_height = 20, most_lanes_height = 180;
constexpr double next_width = 26;     // of the beginning of the next iteration
constexpr double thin = 1.2;          // what is thinner is drawn together with its neighbours
constexpr std::size_t most_rows = 8;  // of classes of workers
constexpr std::size_t most_arrows = 24, most_lanes_with_arrows = 4;
constexpr double memory_height = 58, peak_height = 15;  // of the field, and of what stands above it
const Look next_look{.fill = colour(0xE3EDF4)};
const Look memory_look{.fill = colour(0xE4DDEC)};
constexpr Colour memory_ink = colour(0x6B4C8A);
constexpr double memory_names = 100;  // of the field's axis and its name
constexpr const char* gradients_are_ready = "gradients are ready ↓";

// [from, to) in seconds since the panel's time began.
struct Interval {
  double from = 0, to = 0;
};

// One outcome's last iteration.
struct Episodes {
  Episodes(const Outcome& one, std::string its_name)
      : outcome(one), name(std::move(its_name)), rows(timeline_rows(one, one.result.episodes.back())) {
    const Episode& episode = one.result.episodes.back();
    zero = episode.start;
    for (std::size_t c = 0; c < one.result.classes.size(); ++c) {
      starts.push_back(to_seconds(episode.timeline.spans[one.result.unrolled.lead_in(c)].end));
      ends.push_back(at(rows.streams[c].bars.back().end));
    }
    iteration = {*std::max_element(starts.begin(), starts.end()), *std::max_element(ends.begin(), ends.end())};
  }

  double at(Time time) const { return to_seconds(time - zero); }

  /// When class c has nothing to compute, between its B_L and its next one.
  std::vector<Interval> waits(std::size_t c) const {
    std::vector<Interval> waits;
    double until = starts[c];
    for (const Bar& bar : rows.streams[c].bars) {
      if (at(bar.start) > until) waits.push_back({until, at(bar.start)});
      until = at(bar.end);
    }
    return waits;
  }

  /// The class whose waiting is what metrics call exposed communication: the least slowed.
  std::size_t reference() const {
    const auto& classes = outcome.result.classes;
    const auto least = std::min_element(classes.begin(), classes.end(), [](const WorkerClass& a, const WorkerClass& b) {
      return a.slowdown < b.slowdown;
    });
    return static_cast<std::size_t>(least - classes.begin());
  }

  /// The classes that have a row in the picture: all, or those that end last.
  std::vector<std::size_t> shown() const {
    std::vector<std::size_t> shown(ends.size());
    for (std::size_t c = 0; c < shown.size(); ++c) shown[c] = c;
    if (shown.size() <= most_rows) return shown;
    std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) { return ends[a] > ends[b]; });
    shown.resize(most_rows);
    std::sort(shown.begin(), shown.end());
    return shown;
  }

  bool shards() const { return outcome.result.plan.step.zero > 0; }
  bool micro_batches() const { return outcome.result.plan.step.accumulate > 1; }

  /// Below a red arrow's end.
  std::string gate_says() const {
    if (outcome.result.unrolled.decodes) return "decoding may begin ↑";
    return shards() ? "computing may go on ↑" : "forward may go on ↑";
  }

  const Outcome& outcome;
  std::string name;  // what tells it from the others
  TimelineRows rows;
  Time zero;
  std::vector<double> starts, ends;  // of each class's own iteration
  Interval iteration;                // as the metrics define it: of the class that begins last
};

// The picture of one outcome, in pixels.
class Panel {
 public:
  Panel(Drawing& drawing, const Episodes& timeline, double left, double pixels_per_second)
      : drawing_(drawing), timeline_(timeline), left_(left), scale_(pixels_per_second) {}

  /// Draws from `top` on and returns where the next may begin.
  double draw(double top) {
    top = add_heading(top);
    top = add_measures(top);
    const std::vector<std::size_t> shown = timeline_.shown();
    for (const std::size_t c : shown) top = add_streams(c, top);
    if (shown.size() < timeline_.ends.size()) {
      note(top, fmt::format("and {} workers that end sooner", timeline_.ends.size() - shown.size()));
      top += 14;
    }
    const auto& lanes = timeline_.rows.network;
    if (!lanes.empty()) {
      const double arrows_top = top;
      const std::vector<Line> arrows = this->arrows();
      top += arrows.empty() ? 6 : 28;
      const std::vector<LaneRows> groups = lane_rows(top);
      if (!arrows.empty()) add_arrows(arrows, arrows_top, groups);
      for (const LaneRows& group : groups) top = add_lane(group);
    }
    if (!timeline_.rows.memory.empty()) top = add_memory(top + 4);
    return top + 4;
  }

 private:
  // Rows [first, last) of the network, which are one lane's.
  struct LaneRows {
    std::size_t first = 0, last = 0;
    double top = 0, height = 0;  // the height of a row
    double bottom() const { return top + height * static_cast<double>(last - first); }
  };

  std::vector<LaneRows> lane_rows(double top) const {
    constexpr double between = 4;
    const auto& rows = timeline_.rows.network;
    std::vector<LaneRows> groups;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (groups.empty() || rows[row].lane != rows[row - 1].lane) groups.push_back({row, row});
      groups.back().last = row + 1;
    }
    for (LaneRows& group : groups) {
      group.top = top;
      group.height = std::min(lane_height, most_lanes_height / static_cast<double>(group.last - group.first));
      top = group.bottom() + between;
    }
    return groups;
  }

  // Between a stream and a lane: what makes a block ready, or lets computing go on.
  struct Line {
    double from = 0, to = 0;  // seconds
    std::uint32_t lane = 0;
    bool ready = false;
    auto operator<=>(const Line&) const = default;
  };

  // None where they are too many.
  std::vector<Line> arrows() const {
    const TimelineRows& rows = timeline_.rows;
    if (rows.network.size() > most_lanes_with_arrows) return {};
    std::set<Line> seen;
    std::vector<Line> lines;
    for (const Arrow& made : rows.made) {
      const Line line{timeline_.at(rows.streams[made.before.row].bars[made.before.bar].end),
                      timeline_.at(rows.network[made.after.row].bars[made.after.bar].start),
                      rows.network[made.after.row].lane, true};
      if (seen.insert(line).second) lines.push_back(line);
    }
    for (const Arrow& gate : rows.gates) {
      const Bar& block = rows.network[gate.before.row].bars[gate.before.bar];
      if (rows.streams[gate.after.row].bars[gate.after.bar].start != block.end) continue;  // it came in time
      const double at = timeline_.at(block.end);
      lines.push_back({at, at, rows.network[gate.before.row].lane, false});
    }
    const std::size_t all = timeline_.shards() ? lines.size() : rows.made.size() + rows.gates.size();
    return all > 2 * most_arrows ? std::vector<Line>() : lines;
  }

  double x(double seconds) const { return left_ + scale_ * seconds; }

  void note(double top, const std::string& text) {
    drawing_.add(Text{
        .at = {left_, top + 10}, .text = text, .size = style::small_size, .colour = style::faint_ink, .italic = true});
  }

  void add_row_name(double middle, const std::string& name) {
    drawing_.add(Text{.at = {left_ - 8, middle + 3.5},
                      .text = fitted(name, 10, left_ - 8 - style::margin),
                      .size = 10,
                      .align = Align::End,
                      .colour = style::ink,
                      .kind = "row"});
  }

  double add_heading(double top) {
    const auto& [scenario, result, wall_s] = timeline_.outcome;
    const Metrics& metrics = result.metrics;
    std::string name = fmt::format("{}: iteration {}, exposed communication {}", timeline_.name,
                                   format_duration(metrics.iteration_s), format_duration(metrics.exposed_comm_s));
    if (metrics.codec_s > 0) name += ", codec " + format_duration(metrics.codec_s);
    drawing_.add(Rectangle{{0, top - 2, page_width, 18}, {.fill = colour(0xFFFFFF)}, {}});  // over the grid
    drawing_.add(Text{.at = {style::margin, top + 12},
                      .text = name,
                      .size = 11.5,
                      .colour = style::ink,
                      .bold = true,
                      .kind = "heading"});
    const double after = style::margin + text_width(name, 11.5, true) + 12;
    const std::string options = plain_text(identity(scenario).back().cell);
    drawing_.add(Text{.at = {after, top + 12},
                      .text = fitted(options, 10, page_width - style::margin - after),
                      .size = 10,
                      .colour = style::faint_ink});
    return top + 18;
  }

  // Arrows as long as the iteration and its lower bound.
  double add_measures(double top) {
    const Metrics& metrics = timeline_.outcome.result.metrics;
    const Interval& iteration = timeline_.iteration;
    const double length = iteration.to - iteration.from;
    std::string name = "iteration " + format_duration(length);
    if (std::abs(length / metrics.iteration_s - 1) > 1e-6)
      name = fmt::format("this iteration {}, the mean is {}", format_duration(length),
                         format_duration(metrics.iteration_s));
    add_measure(top + 8, iteration, name, "iteration");
    if (!metrics.lower_bound_s) return top + 16;
    add_measure(top + 22, {iteration.from, iteration.from + *metrics.lower_bound_s},
                "lower bound " + format_duration(*metrics.lower_bound_s), "bound");
    return top + 30;
  }

  void add_measure(double y, const Interval& time, const std::string& text, const std::string& kind) {
    const Look look{.line = kind == "bound" ? style::faint_ink : style::ink,
                    .width = 1,
                    .dashes = kind == "bound" ? std::vector<double>{4, 2} : std::vector<double>{}};
    const double from = x(time.from), to = x(time.to), width = text_width(text, 10);
    drawing_.add(Path{.points = {{from, y}, {to, y}}, .look = look, .meaning = {kind, text}});
    const Look end{.line = look.line, .width = 1};
    for (const double at : {from, to}) drawing_.add(Path{.points = {{at, y - 5}, {at, y + 5}}, .look = end});
    const double middle = to - from > width + 24 ? (from + to) / 2 : to + 8 + width / 2;
    drawing_.add(Rectangle{{middle - width / 2 - 4, y - 6, width + 8, 12}, {.fill = colour(0xFFFFFF)}, {}});
    drawing_.add(Text{
        .at = {middle, y + 3.6}, .text = text, .size = 10, .align = Align::Middle, .colour = *look.line, .kind = kind});
  }

  double add_streams(std::size_t c, double top) {
    top = add_compute(c, top);
    const std::size_t codec = timeline_.ends.size() + c;
    if (codec >= timeline_.rows.streams.size()) return top;
    const TimelineRow& row = timeline_.rows.streams[codec];
    add_row_name(top + codec_height / 2, row.name);
    add_bars(row, top, codec_height);
    add_labels(row, top, codec_height);
    return top + codec_height + 4;
  }

  double add_compute(std::size_t c, double top) {
    const TimelineRow& row = timeline_.rows.streams[c];
    if (timeline_.micro_batches()) top = add_micro_batches(row, top);
    const double bars = top + 13;
    for (std::uint32_t batch = 0; batch < timeline_.outcome.result.plan.step.accumulate; ++batch) {
      add_phase(row, Activity::Backward, batch, top);
      add_phase(row, Activity::Forward, batch, top);
    }
    add_phase(row, Activity::Update, 0, top);
    add_row_name(bars + compute_height / 2, row.name);
    for (const Interval& wait : timeline_.waits(c)) add_wait(wait, bars);
    add_bars(row, bars, compute_height);
    add_labels(row, bars, compute_height);
    const double end = x(timeline_.ends[c]);
    drawing_.add(Rectangle{{end, bars, next_width, compute_height}, next_look, {"next", "the next iteration"}});
    drawing_.add(Path{.points = {{end, bars - 2}, {end, bars + compute_height + 2}},
                      .look = {.line = style::ink, .width = 1.2}});
    return bars + compute_height + 4;
  }

  // "backward 255.9 ms" above what it says.
  void add_phase(const TimelineRow& row, Activity activity, std::uint32_t batch, double top) {
    Time sum{0}, from = never, to{0};
    for (const Bar& bar : row.bars) {
      if (bar.activity != activity || bar.batch != batch) continue;
      if (activity == Activity::Update && bar.item != everything) return;  // among the forward pass
      sum += bar.end - bar.start;
      from = std::min(from, bar.start);
      to = std::max(to, bar.end);
    }
    const std::string text = to_string(activity) + " " + format_duration(to_seconds(sum));
    const double left = x(timeline_.at(from)), right = x(timeline_.at(to));
    if (text_width(text, style::small_size) > right - left) return;
    if (scale_ * to_seconds(sum) < (right - left) / 2) return;  // mostly waiting: it would name that
    drawing_.add(Text{.at = {(left + right) / 2, top + 9.5},
                      .text = text,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = style::faint_ink,
                      .kind = "phase"});
  }

  // Brackets as long as the passes of each; an iteration may begin in the midst of one.
  double add_micro_batches(const TimelineRow& row, double top) {
    struct Passes {
      std::uint32_t batch = 0;
      Interval time;
    };
    std::vector<Passes> all;
    for (const Bar& bar : row.bars) {
      if (bar.activity != Activity::Backward && bar.activity != Activity::Forward) continue;
      if (all.empty() || all.back().batch != bar.batch) all.push_back({bar.batch, {timeline_.at(bar.start), 0}});
      all.back().time.to = timeline_.at(bar.end);
    }
    const double y = top + 7;
    const Look look{.line = style::faint_ink, .width = 0.8};
    for (const auto& [batch, time] : all) {
      const double from = x(time.from) + 1, to = x(time.to) - 1;
      if (to - from < 2) continue;
      const std::string name = fmt::format("micro-batch {}", batch + 1);
      drawing_.add(Path{
          .points = {{from, y + 4}, {from, y}, {to, y}, {to, y + 4}}, .look = look, .meaning = {"micro-batch", name}});
      for (const std::string& text : {name, std::to_string(batch + 1)}) {
        const double width = text_width(text, style::small_size) + 8, middle = (from + to) / 2;
        if (width + 12 > to - from) continue;
        drawing_.add(Rectangle{{middle - width / 2, y - 6, width, 12}, {.fill = colour(0xFFFFFF)}, {}});
        drawing_.add(Text{.at = {middle, y + 3.4},
                          .text = text,
                          .size = style::small_size,
                          .align = Align::Middle,
                          .colour = style::ink,
                          .kind = "micro-batch"});
        break;
      }
    }
    return top + 14;
  }

  void add_wait(const Interval& wait, double top) {
    const std::string length = format_duration(wait.to - wait.from);
    const double from = x(wait.from), width = x(wait.to) - from, wide = text_width(length, style::small_size) + 6;
    Look look = look_of_waiting();
    if (width < 3) look.line.reset();
    drawing_.add(Rectangle{{from, top, width, compute_height}, look, {"waiting", "computing waits " + length}});
    if (wide + 4 > width) return;
    drawing_.add(
        Rectangle{{from + (width - wide) / 2, top + 6, wide, compute_height - 12}, {.fill = colour(0xFFFFFF)}, {}});
    drawing_.add(Text{.at = {from + width / 2, top + compute_height / 2 + 3.4},
                      .text = length,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = style::vermilion,
                      .kind = "wait"});
  }

  void add_bars(const TimelineRow& row, double top, double height) {
    for (std::size_t first = 0; first < row.bars.size();) {
      const std::size_t last = last_of_group(row, first);
      if (row.bars[last].end > row.bars[first].start) add_group(row, first, last, top, height);
      first = last + 1;
    }
  }

  void add_labels(const TimelineRow& row, double top, double height) {
    for (const Bar& bar : row.bars)
      add_label(bar, {x(timeline_.at(bar.start)), top, scale_ * to_seconds(bar.end - bar.start), height});
  }

  // Bars that follow each other without a gap are one shape as long as that is thin.
  std::size_t last_of_group(const TimelineRow& row, std::size_t first) const {
    const auto width = [&](std::size_t from, std::size_t to) {
      return scale_ * to_seconds(row.bars[to].end - row.bars[from].start);
    };
    std::size_t last = first;
    while (last + 1 < row.bars.size() && row.bars[last + 1].activity == row.bars[first].activity &&
           row.bars[last + 1].start == row.bars[last].end &&
           (width(first, last) < thin || width(last + 1, last + 1) < thin) && width(first, last + 1) < 2 * thin)
      ++last;
    return last;
  }

  void add_group(const TimelineRow& row, std::size_t first, std::size_t last, double top, double height) {
    const Bar &from = row.bars[first], &to = row.bars[last];
    const double start = timeline_.at(from.start), end = timeline_.at(to.end), width = scale_ * (end - start);
    const std::string what = to_string(from.activity);
    std::string count = first == last ? "" : fmt::format(" and {} more", last - first);
    if (timeline_.micro_batches() && from.activity != Activity::Update)
      count += fmt::format(" (micro-batch {})", from.batch + 1);
    Look look = look_of(from.activity);
    if (width > 3 && height > 4) {
      look.line = colour(0xFFFFFF);
      look.width = 0.7;
    } else if (width < thin) {  // or it would fade
      look.line = look.fill;
      look.width = 0.6;
    }
    drawing_.add(
        Rectangle{{x(start), top, width, height},
                  look,
                  {what, fmt::format("{} {}{}: {}, from {} to {}", what, from.name, count, format_duration(end - start),
                                     format_duration(start), format_duration(end))}});
  }

  // The first of these that fits.
  void add_label(const Bar& bar, const Box& box) {
    constexpr double size = style::small_size;
    if (box.height < size + 2) return;
    const bool of_block =
        bar.activity != Activity::Backward && bar.activity != Activity::Forward && bar.activity != Activity::Update;
    const bool dark =
        bar.activity == Activity::Backward || bar.activity == Activity::Encode || bar.activity == Activity::Codec;
    std::vector<std::string> names{bar.name};
    if (of_block) names = {bar.tensors, fmt::format("block {}", bar.item), std::to_string(bar.item)};
    for (const std::string& name : names) {
      const double width = text_width(name, size) + 4, middle = box.x + box.width / 2;
      if (width + 2 > box.width) continue;
      const Box patch{middle - width / 2, box.y + 3, width, box.height - 6};  // hatches would cross the letters
      drawing_.add(Rectangle{patch, {.fill = look_of(bar.activity).fill}, {}});
      drawing_.add(Text{.at = {box.x + box.width / 2, box.y + box.height / 2 + 3.4},
                        .text = name,
                        .size = size,
                        .align = Align::Middle,
                        .colour = dark ? colour(0xFFFFFF) : style::ink,
                        .kind = "name"});
      return;
    }
  }

  double add_lane(const LaneRows& lane) {
    const std::size_t rows = lane.last - lane.first;
    const double gap = lane.height > 6 ? 2 : 0, total = lane.bottom() - lane.top;
    const auto& lanes = timeline_.outcome.result.plan.lanes;
    const std::string name = lanes.size() == 1 ? "communication" : timeline_.rows.network[lane.first].name;
    add_row_name(lane.top + (rows == 1 ? lane.height / 2 : std::min(total / 2, 8.0)), name);
    if (rows > 1 && total > 30)
      drawing_.add(Text{.at = {left_ - 8, lane.top + std::min(total / 2, 8.0) + 15},
                        .text = fmt::format("up to {} in flight", rows),
                        .size = style::small_size,
                        .align = Align::End,
                        .colour = style::faint_ink});
    double top = lane.top;
    for (std::size_t i = lane.first; i < lane.last; ++i) {
      const TimelineRow& row = timeline_.rows.network[i];
      add_bars(row, top, lane.height - gap);
      add_exposed(row, top, lane.height - gap);
      add_labels(row, top, lane.height - gap);
      top += lane.height;
    }
    return lane.bottom();
  }

  // What is in flight while computing waits.
  void add_exposed(const TimelineRow& lane, double top, double height) {
    std::vector<Interval> parts;
    for (const Interval& wait : timeline_.waits(timeline_.reference()))
      for (const Bar& bar : lane.bars) {
        const double from = std::max(wait.from, timeline_.at(bar.start)), to = std::min(wait.to, timeline_.at(bar.end));
        if (to <= from) continue;
        if (!parts.empty() && from <= parts.back().to + 1e-12)
          parts.back().to = to;
        else
          parts.push_back({from, to});
      }
    for (const Interval& part : parts)
      drawing_.add(Rectangle{{x(part.from), top, x(part.to) - x(part.from), height},
                             look_of_exposed(),
                             {"exposed", "exposed: computing waits"}});
  }

  // Between the rows, and behind the lanes that they cross.
  void add_arrows(const std::vector<Line>& arrows, double top, const std::vector<LaneRows>& lanes) {
    const auto explain = [&](double y, const std::string& text, Colour ink) {
      drawing_.add(
          Text{.at = {left_ - 8, y}, .text = text, .size = style::small_size, .align = Align::End, .colour = ink});
    };
    explain(top + 10, gradients_are_ready, style::faint_ink);
    explain(top + 22, timeline_.gate_says(), style::vermilion);
    const double bottom = lanes.front().top;
    for (const Line& arrow : arrows) {
      const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const LaneRows& one) {
        return timeline_.rows.network[one.first].lane == arrow.lane;
      });
      std::vector<Position> points{{x(arrow.from), top}, {x(arrow.to), bottom}};
      if (lane->top > bottom) points.push_back({x(arrow.to), lane->top});
      if (!arrow.ready) std::reverse(points.begin(), points.end());
      add_arrow(points, arrow.ready ? style::faint_ink : style::vermilion);
    }
  }

  void add_arrow(const std::vector<Position>& points, Colour ink) {
    drawing_.add(Path{.points = points, .look = {.line = ink, .width = 0.9}, .meaning = {"arrow", ""}});
    const Position &from = points[points.size() - 2], &to = points.back();
    const double length = std::hypot(to.x - from.x, to.y - from.y), head = 5;
    const double ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
    const Position base{to.x - head * ux, to.y - head * uy};
    drawing_.add(Path{.points = {to,
                                 {base.x - 0.45 * head * uy, base.y + 0.45 * head * ux},
                                 {base.x + 0.45 * head * uy, base.y - 0.45 * head * ux}},
                      .closed = true,
                      .look = {.fill = ink}});
  }

  // A worker's memory over time, from nothing up.
  double add_memory(double top) {
    const std::vector<MemoryPoint>& course = timeline_.rows.memory;
    const auto most = std::max_element(course.begin(), course.end(),
                                       [](const MemoryPoint& a, const MemoryPoint& b) { return a.bytes < b.bytes; });
    if (!(most->bytes > 0)) return top;
    const SizeUnit unit = size_unit_for(most->bytes);
    const ChartAxis axis{.name = fmt::format("memory ({})", unit.name), .from = 0, .to = most->bytes / unit.bytes};
    const Scale scale(axis, 0, *axis.to, 4);
    const Box field{left_, top + peak_height,
                    x(*std::max_element(timeline_.ends.begin(), timeline_.ends.end())) - left_, memory_height};
    const auto y = [&](double bytes) { return field.bottom() - field.height * scale.share(bytes / unit.bytes); };
    double widest = 0;
    for (const double tick : scale.ticks()) {
      const std::string text = axis.label(tick);
      widest = std::max(widest, text_width(text, style::small_size));
      const double at = y(tick * unit.bytes);
      drawing_.add(Path{.points = {{field.x, at}, {field.right(), at}}, .look = {.line = style::grid, .width = 0.7}});
      drawing_.add(Text{.at = {left_ - 8, at + 3.4},
                        .text = text,
                        .size = style::small_size,
                        .align = Align::End,
                        .colour = style::faint_ink,
                        .kind = "tick"});
    }
    const double name = left_ - 8 - widest - 8;
    drawing_.add(Text{.at = {name, field.y + field.height / 2 + 3.5},
                      .text = axis.name,
                      .size = 10,
                      .align = Align::End,
                      .colour = style::ink,
                      .kind = "row"});

    std::vector<Position> steps{{field.x, y(course.front().bytes)}};
    for (const MemoryPoint& point : outline(course)) {
      const double at = x(timeline_.at(point.at));
      if (at > field.right() - 1e-6) break;  // what ends with the iteration
      steps.push_back({at, steps.back().y});
      steps.push_back({at, y(point.bytes)});
    }
    steps.push_back({field.right(), steps.back().y});
    std::vector<Position> area = steps;
    area.push_back({field.right(), field.bottom()});
    area.push_back({field.x, field.bottom()});
    const std::string peak = fmt::format("{:.4g} {}", most->bytes / unit.bytes, unit.name);
    drawing_.add(Path{.points = std::move(area),
                      .closed = true,
                      .look = memory_look,
                      .meaning = {"memory", fmt::format("a worker's memory: at most {}, at {}", peak,
                                                        format_duration(timeline_.at(most->at)))}});
    drawing_.add(Path{.points = std::move(steps), .look = {.line = memory_ink, .width = 1}});
    drawing_.add(Path{.points = {{field.x, field.bottom()}, {field.right(), field.bottom()}},
                      .look = {.line = style::ink, .width = 0.8}});
    add_peak("peak " + peak, {x(timeline_.at(most->at)), y(most->bytes)}, field);
    return field.bottom();
  }

  // Above the curve, as far to the left or right as the field allows.
  void add_peak(const std::string& text, const Position& at, const Box& field) {
    drawing_.add(Path{.points = {{field.x, at.y}, {field.right(), at.y}},
                      .look = {.line = memory_ink, .width = 0.8, .dashes = {3, 2}},
                      .meaning = {"peak", text}});
    drawing_.add(Circle{at, 2.2, {.fill = memory_ink}, {"peak", text}});
    const double half = text_width(text, style::small_size) / 2 + 4;
    const double middle = std::clamp(at.x, field.x + half, std::max(field.x + half, field.right() - half));
    drawing_.add(Rectangle{{middle - half, at.y - 14, 2 * half, 11}, {.fill = colour(0xFFFFFF)}, {}});
    drawing_.add(Text{.at = {middle, at.y - 4.5},
                      .text = text,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = memory_ink,
                      .kind = "peak"});
  }

  // The most within each pixel, and what is left at its end: no peak is lost.
  std::vector<MemoryPoint> outline(const std::vector<MemoryPoint>& course) const {
    std::vector<MemoryPoint> drawn;
    for (std::size_t i = 0; i < course.size();) {
      const double begin = x(timeline_.at(course[i].at));
      MemoryPoint most = course[i];
      std::size_t next = i + 1;
      for (; next < course.size() && x(timeline_.at(course[next].at)) < begin + 1; ++next)
        most.bytes = std::max(most.bytes, course[next].bytes);
      drawn.push_back(most);
      if (next > i + 1) drawn.push_back(course[next - 1]);
      i = next;
    }
    return drawn;
  }

  Drawing& drawing_;
  const Episodes& timeline_;
  double left_, scale_;
};

std::vector<LegendEntry> legend_of(const std::vector<Episodes>& timelines) {
  std::set<Activity> activities;
  bool waits = false;
  for (const Episodes& one : timelines) {
    for (const auto& rows : {one.rows.streams, one.rows.network})
      for (const TimelineRow& row : rows)
        for (const Bar& bar : row.bars)
          if (bar.end > bar.start) activities.insert(bar.activity);
    for (std::size_t c = 0; c < one.ends.size(); ++c) waits = waits || !one.waits(c).empty();
  }
  // All that has a colour has one name.
  if (activities.contains(Activity::AllReduce)) activities.erase(Activity::Collective);
  std::vector<LegendEntry> legend;
  for (const Activity activity : activities) legend.push_back(swatch(to_string(activity), look_of(activity)));
  if (waits) {
    legend.push_back(swatch("computing waits", look_of_waiting()));
    if (activities.size() > 2) {
      Look exposed = look_of_exposed();
      const bool halves =
          timelines.size() == 1 && timelines.front().shards() && !activities.contains(Activity::AllReduce);
      exposed.fill = halves ? look_of(Activity::ReduceScatter).fill : style::orange;
      legend.push_back(swatch("exposed communication", exposed));
    }
  }
  legend.push_back(swatch("next iteration", next_look));
  return legend;
}

// What all of them begin with.
std::string beginning(const std::vector<Episodes>& timelines) {
  const auto backward = std::count_if(timelines.begin(), timelines.end(), [](const Episodes& one) {
    const std::vector<Work>& program = one.outcome.result.plan.program;
    return program.empty() || program.front().kind == WorkKind::Backward;
  });
  if (backward == 0) return "the forward pass";
  return backward == std::ssize(timelines) ? "the backward pass" : "the iteration";
}

}  // namespace

Drawing timeline_picture(const std::vector<Outcome>& outcomes) {
  const Apart apart_names = apart(outcomes);
  std::vector<Episodes> timelines;
  for (std::size_t i = 0; i < outcomes.size(); ++i) timelines.emplace_back(outcomes[i], apart_names.label(i));
  double longest = 0, names = text_width(gradients_are_ready, style::small_size);
  for (const Episodes& one : timelines) {
    if (one.shards()) names = std::max(names, text_width(one.gate_says(), style::small_size));
    if (!one.rows.memory.empty()) names = std::max(names, memory_names);
    for (const TimelineRow& row : one.rows.network) names = std::max(names, text_width(row.name, 10));
    longest = std::max(longest, *std::max_element(one.ends.begin(), one.ends.end()));
    for (const TimelineRow& row : one.rows.streams) names = std::max(names, text_width(row.name, 10));
  }
  const double left = style::margin + std::min(names, 190.0) + 8;
  const Box field{left, 0, page_width - left - style::margin - next_width, 0};
  const double scale = field.width / longest;

  Drawing drawing{.width = page_width, .title = apart_names.title()};
  double top = add_title(drawing, style::margin, apart_names.title());
  Drawing panels{.width = page_width};
  top = add_legend(drawing, top + 6, legend_of(timelines)) + 8;
  const double fields_top = top;
  for (const Episodes& one : timelines) top = Panel(panels, one, left, scale).draw(top) + 8;

  const TimeUnit unit = unit_for(longest);
  const ChartAxis axis{.name = fmt::format("time since {} began ({})", beginning(timelines), unit.name),
                       .from = 0,
                       .to = longest / unit.seconds};
  const Box whole{field.x, fields_top, field.width, top - fields_top};
  const double bottom =
      add_axis_below(drawing, whole, axis, scale_with_room(axis, {0, longest / unit.seconds}, field.width));
  for (Shape& shape : panels.shapes) drawing.add(std::move(shape));
  drawing.height =
      add_note(drawing, bottom + 4, caveat_with_source(outcomes.front().scenario.profile)) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
