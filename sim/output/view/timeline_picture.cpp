#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/timeline_canvas.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

namespace {

class HeadingPainter : public TimelineCanvas {
 public:
  explicit HeadingPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

  double add_heading(double top) {
    const auto& [scenario, result, wall_s] = timeline_.outcome;
    const Metrics& metrics = result.metrics;
    std::string name = fmt::format("{}: iteration {}, exposed communication {}", timeline_.name,
                                   format_duration(metrics.iteration_s), format_duration(metrics.exposed_comm_s));
    if (timeline_.pipeline()) name += ", bubble " + format_duration(result.parallel->bubble_s);
    if (metrics.straggler_s != 0) name += ", stragglers " + format_duration(metrics.straggler_s);
    if (metrics.codec_s > 0) name += ", codec " + format_duration(metrics.codec_s);
    drawing_.add(Rectangle{{0, top - 2, drawing_.width, 18}, {.fill = colour(0xFFFFFF)}, {}});  // hides the grid
    drawing_.add(Text{.at = {style::margin, top + 12},
                      .text = name,
                      .size = 11.5,
                      .colour = style::ink,
                      .bold = true,
                      .kind = "heading"});
    const double after = style::margin + text_width(name, 11.5, true) + 12;
    const std::string options = unquoted_text(options_in_effect(scenario));
    drawing_.add(Text{.at = {after, top + 12},
                      .text = fitted(options, 10, drawing_.width - style::margin - after),
                      .size = 10,
                      .colour = style::faint_ink,
                      .kind = "heading"});
    return top + 18;
  }

  // Draws double arrows as long as the iteration and its lower bound.
  double add_measures(double top) {
    const Metrics& metrics = timeline_.outcome.result.metrics;
    const Interval& iteration = timeline_.iteration;
    const double length = iteration.to - iteration.from;
    const auto steps = static_cast<double>(timeline_.outcome.result.plan.sharding.steps());
    std::string name = "iteration " + format_duration(length);
    if (steps > 1)
      name = fmt::format("round of {} steps {}", steps, format_duration(length));
    else if (std::abs(length / metrics.iteration_s - 1) > 1e-6)
      name = fmt::format("this iteration {}, the mean is {}", format_duration(length),
                         format_duration(metrics.iteration_s));
    add_measure(top + 8, iteration, name, "iteration");
    if (!metrics.lower_bound_s) return top + 16;
    const double bound = steps * *metrics.lower_bound_s;
    add_measure(top + 22, {iteration.from, iteration.from + bound}, "lower bound " + format_duration(bound), "bound");
    return top + 30;
  }

 private:
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
};

LegendEntry sample_of_sends() {
  return {title_of(Activity::Send), [](Drawing& drawing, const Box& box) {
            const double middle = box.y + box.height / 2;
            drawing.add(Path{.points = {{box.x, middle}, {box.right(), middle}}, .look = send_look});
          }};
}

std::vector<LegendEntry> legend_of(const std::vector<DrawnIteration>& timelines) {
  std::set<Activity> activities;
  bool waits = false, idle = false;
  for (const DrawnIteration& one : timelines) {
    for (const auto& rows : {one.rows.streams, one.rows.network})
      for (const TimelineRow& row : rows)
        for (const Bar& bar : row.bars)
          if (bar.end > bar.start) activities.insert(bar.activity);
    for (std::size_t c = 0; c < one.ends.size(); ++c) (one.pipeline() ? idle : waits) |= !one.waits(c).empty();
  }
  // Both have the same colour, hence one entry.
  if (activities.contains(Activity::AllReduce)) activities.erase(Activity::Transfer);
  std::vector<LegendEntry> legend;
  for (const Activity activity : activities)
    legend.push_back(activity == Activity::Send ? sample_of_sends() : swatch(title_of(activity), look_of(activity)));
  if (waits) legend.push_back(swatch("computation waits", look_of_waiting()));
  if (idle) legend.push_back(swatch("a rank waits", look_of_idle()));
  if ((waits || idle) && activities.size() > 2) {
    Look exposed = look_of_exposed();
    exposed.fill = style::orange;
    legend.push_back(swatch("exposed communication", exposed));
  }
  legend.push_back(swatch("next iteration", next_iteration_look));
  return legend;
}

double add_iteration(const TimelineCanvas& canvas, bool pipeline, double top) {
  HeadingPainter heading(canvas);
  top = heading.add_measures(heading.add_heading(top));
  top = pipeline ? add_timeline_ranks(canvas, top) : add_timeline_streams(canvas, top);
  return add_timeline_memory(canvas, add_timeline_lanes(canvas, top)) + 4;
}

std::string note_on(const std::vector<DrawnIteration>& timelines, bool is_narrow) {
  std::string note;
  if (std::ranges::any_of(timelines, &DrawnIteration::pipeline))
    note +=
        "Numbers on passes are micro-batches; a rank's later chunks, and backward passes next to forward ones, are "
        "lower. ";
  if (is_narrow) note += "Many passes are too narrow for a number: fewer micro-batches (--micro-batches) have room. ";
  if (std::ranges::any_of(timelines, [](const DrawnIteration& one) { return !one.rows.network.empty(); }))
    note += "Numbers on collectives are blocks of the plan, in its order. ";
  if (std::ranges::any_of(timelines, &DrawnIteration::has_inside))
    note += "Below passes: the part of their time that collectives inside layers take, short ones together. ";
  return note + caveat_with_source(timelines.front().outcome.scenario.profile);
}

}  // namespace

Drawing timeline_picture(const std::vector<Outcome>& outcomes) {
  const ScenarioLabels apart_names = labels_of(outcomes);
  std::vector<DrawnIteration> timelines;
  for (std::size_t i = 0; i < outcomes.size(); ++i) timelines.emplace_back(outcomes[i], apart_names.label(i));
  double longest = 0, names = text_width(gradients_are_ready, style::small_size);
  for (const DrawnIteration& one : timelines) {
    if (one.shards()) names = std::max(names, text_width(one.gate_text(), style::small_size));
    for (const TimelineRow& row : one.rows.network) names = std::max(names, text_width(row.name, 10));
    longest = std::max(longest, *std::max_element(one.ends.begin(), one.ends.end()));
    for (const TimelineRow& row : one.rows.network) longest = std::max(longest, one.at(row.bars.back().end));
    for (const TimelineRow& row : one.rows.streams) names = std::max(names, text_width(row.name, 10));
  }
  const double left = style::margin + std::min(names, 190.0) + 8,
               around_field = left + style::margin + next_iteration_width;
  double wanted = 0;
  for (const DrawnIteration& one : timelines) wanted = std::max(wanted, scale_of_passes(one));
  const double page = std::clamp(around_field + wanted * longest, timeline_page_width, widest_timeline_page);
  const Box field{left, 0, page - around_field, 0};
  const double scale = field.width / longest;
  const bool is_narrow = scale < wanted / 2;

  Drawing drawing{.width = page, .title = apart_names.title()};
  double top = add_title(drawing, style::margin, apart_names.title());
  Drawing panels{.width = page};
  top = add_legend(drawing, top + 6, legend_of(timelines)) + 8;
  const double fields_top = top;
  for (const DrawnIteration& one : timelines) top = add_iteration({panels, one, left, scale}, one.pipeline(), top) + 8;

  const FittingUnit unit = unit_of_duration(longest);
  const ChartAxis axis{.name = fmt::format("time ({})", unit.name), .from = 0, .to = longest / unit.size};
  const Box whole{field.x, fields_top, field.width, top - fields_top};
  const double bottom =
      add_axis_below(drawing, whole, axis, scale_with_room(axis, {0, longest / unit.size}, field.width));
  for (Shape& shape : panels.shapes) drawing.add(std::move(shape));
  drawing.height = add_note(drawing, bottom + 4, note_on(timelines, is_narrow)) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
