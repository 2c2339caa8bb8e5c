#include <cmath>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"
#include "sim/studies/results/row.hpp"

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

}  // namespace

double add_timeline_heading(const TimelineCanvas& canvas, double top) {
  HeadingPainter painter(canvas);
  return painter.add_measures(painter.add_heading(top));
}

}  // namespace allreplay
