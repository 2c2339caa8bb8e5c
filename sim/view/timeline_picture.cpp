#include "sim/view/timeline_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/experiment/row.hpp"
#include "sim/picture/axes.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"
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
const Look next_look{.fill = colour(0xE3EDF4)};

// [from, to) in seconds since the panel's time began.
struct Interval {
  double from = 0, to = 0;
};

// One outcome's last iteration.
struct Episodes {
  explicit Episodes(const Outcome& one) : outcome(one), rows(timeline_rows(one, one.result.episodes.back())) {
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

  const Outcome& outcome;
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
    if (lanes.empty()) return top + 4;
    const double arrows_top = top;
    top += with_arrows() ? 28 : 6;
    if (with_arrows()) add_arrows(arrows_top, top);
    return add_lanes(top) + 4;
  }

 private:
  bool with_arrows() const {
    const TimelineRows& rows = timeline_.rows;
    return rows.network.size() <= most_lanes_with_arrows && rows.made.size() + rows.gates.size() <= 2 * most_arrows;
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
    std::string name = fmt::format("{}: iteration {}, exposed communication {}", scenario.strategy->name,
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
    const double bars = top + 13;
    add_phase(row, Activity::Backward, top);
    add_phase(row, Activity::Forward, top);
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
  void add_phase(const TimelineRow& row, Activity activity, double top) {
    Time sum{0}, from = never, to{0};
    for (const Bar& bar : row.bars) {
      if (bar.activity != activity) continue;
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
    const std::string what = to_string(from.activity),
                      count = first == last ? "" : fmt::format(" and {} more", last - first);
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
    const bool of_block = bar.activity != Activity::Backward && bar.activity != Activity::Forward;
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

  double add_lanes(double top) {
    const auto& lanes = timeline_.rows.network;
    const double height = std::min(lane_height, most_lanes_height / static_cast<double>(lanes.size()));
    const double gap = height > 6 ? 2 : 0;
    const double total = height * static_cast<double>(lanes.size());
    add_row_name(top + (lanes.size() == 1 ? height / 2 : std::min(total / 2, 8.0)), "communication");
    if (lanes.size() > 1 && total > 30)
      drawing_.add(Text{.at = {left_ - 8, top + std::min(total / 2, 8.0) + 15},
                        .text = fmt::format("up to {} in flight", lanes.size()),
                        .size = style::small_size,
                        .align = Align::End,
                        .colour = style::faint_ink});
    for (const TimelineRow& lane : lanes) {
      add_bars(lane, top, height - gap);
      add_exposed(lane, top, height - gap);
      add_labels(lane, top, height - gap);
      top += height;
    }
    return top;
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

  // Between the rows: what makes a block ready, and what lets the next forward go on.
  void add_arrows(double top, double bottom) {
    const TimelineRows& rows = timeline_.rows;
    const auto explain = [&](double y, const std::string& text, Colour ink) {
      drawing_.add(
          Text{.at = {left_ - 8, y}, .text = text, .size = style::small_size, .align = Align::End, .colour = ink});
    };
    explain(top + 10, "gradients are ready ↓", style::faint_ink);
    explain(top + 22, timeline_.outcome.result.unrolled.decodes ? "decoding may begin ↑" : "forward may go on ↑",
            style::vermilion);
    std::set<std::pair<double, double>> drawn;
    for (const Arrow& made : rows.made) {
      const double from = x(timeline_.at(rows.streams[made.before.row].bars[made.before.bar].end));
      const double to = x(timeline_.at(rows.network[made.after.row].bars[made.after.bar].start));
      if (drawn.emplace(from, to).second) add_arrow({from, top}, {to, bottom}, style::faint_ink);
    }
    for (const Arrow& gate : rows.gates) {
      const Bar& block = rows.network[gate.before.row].bars[gate.before.bar];
      if (rows.streams[gate.after.row].bars[gate.after.bar].start != block.end) continue;  // it came in time
      const double at = x(timeline_.at(block.end));
      add_arrow({at, bottom}, {at, top}, style::vermilion);
    }
  }

  void add_arrow(Position from, Position to, Colour ink) {
    drawing_.add(Path{.points = {from, to}, .look = {.line = ink, .width = 0.9}, .meaning = {"arrow", ""}});
    const double length = std::hypot(to.x - from.x, to.y - from.y), head = 5;
    const double ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
    const Position base{to.x - head * ux, to.y - head * uy};
    drawing_.add(Path{.points = {to,
                                 {base.x - 0.45 * head * uy, base.y + 0.45 * head * ux},
                                 {base.x + 0.45 * head * uy, base.y - 0.45 * head * ux}},
                      .closed = true,
                      .look = {.fill = ink}});
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
        for (const Bar& bar : row.bars) activities.insert(bar.activity);
    for (std::size_t c = 0; c < one.ends.size(); ++c) waits = waits || !one.waits(c).empty();
  }
  std::vector<LegendEntry> legend;
  for (const Activity activity : activities) legend.push_back(swatch(to_string(activity), look_of(activity)));
  if (waits) {
    legend.push_back(swatch("computing waits", look_of_waiting()));
    if (activities.size() > 2) {
      Look exposed = look_of_exposed();
      exposed.fill = style::orange;
      legend.push_back(swatch("exposed communication", exposed));
    }
  }
  legend.push_back(swatch("next iteration", next_look));
  return legend;
}

}  // namespace

Drawing timeline_picture(const std::vector<Outcome>& outcomes) {
  std::vector<Episodes> timelines(outcomes.begin(), outcomes.end());
  double longest = 0, names = text_width("gradients are ready ↓", style::small_size);
  for (const Episodes& one : timelines) {
    longest = std::max(longest, *std::max_element(one.ends.begin(), one.ends.end()));
    for (const TimelineRow& row : one.rows.streams) names = std::max(names, text_width(row.name, 10));
  }
  const double left = style::margin + std::min(names, 190.0) + 8;
  const Box field{left, 0, page_width - left - style::margin - next_width, 0};
  const double scale = field.width / longest;

  const auto& [scenario, result, wall_s] = outcomes.front();
  Drawing drawing{.width = page_width, .title = title(scenario, result)};
  double top = add_title(drawing, style::margin, title(scenario, result));
  Drawing panels{.width = page_width};
  top = add_legend(drawing, top + 6, legend_of(timelines)) + 8;
  const double fields_top = top;
  for (const Episodes& one : timelines) top = Panel(panels, one, left, scale).draw(top) + 8;

  const TimeUnit unit = unit_for(longest);
  const Axis axis{.name = fmt::format("time since the backward pass began ({})", unit.name),
                  .from = 0,
                  .to = longest / unit.seconds};
  const Box whole{field.x, fields_top, field.width, top - fields_top};
  const double bottom =
      add_axis_below(drawing, whole, axis, scale_with_room(axis, {0, longest / unit.seconds}, field.width));
  for (Shape& shape : panels.shapes) drawing.add(std::move(shape));
  drawing.height = add_note(drawing, bottom + 4, caveat(scenario.profile)) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
