#include <algorithm>

#include <fmt/format.h>

#include "sim/output/picture/scale.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

constexpr double memory_height = 58, peak_height = 15;  // the field's, and that of the peak's caption above it
const Look memory_look{.fill = colour(0xE4DDEC)};
constexpr Colour memory_ink = colour(0x6B4C8A);

class MemoryPainter : public TimelineCanvas {
 public:
  explicit MemoryPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

  // Draws memory over time, from 0 up: an area for the worker that needs most, lines for other ranks of a pipeline.
  double add_memory(double top) {
    const std::vector<MemoryCurve>& curves = timeline_.rows.memory;
    const MemoryPoint* most = nullptr;
    const MemoryCurve* highest = nullptr;
    for (const MemoryCurve& curve : curves)
      for (const MemoryPoint& point : curve.points) {
        if (most && point.bytes <= most->bytes) continue;
        most = &point;
        highest = &curve;
      }
    if (!most || !(most->bytes > 0)) return top;
    top += 4;
    const FittingUnit unit = unit_of_size(most->bytes);
    const ChartAxis axis{.name = fmt::format("memory ({})", unit.name), .from = 0, .to = most->bytes / unit.size};
    const Scale scale(axis, 0, *axis.to, 4);
    const Box field{left_, top + peak_height,
                    x(*std::max_element(timeline_.ends.begin(), timeline_.ends.end())) - left_, memory_height};
    const auto y = [&](double bytes) { return field.bottom() - field.height * scale.share(bytes / unit.size); };
    double widest = 0;
    for (const double tick : scale.ticks()) {
      const std::string text = axis.label(tick);
      widest = std::max(widest, text_width(text, style::small_size));
      const double at = y(tick * unit.size);
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

    const auto steps_of = [&](const MemoryCurve& curve) {
      std::vector<Position> steps{{field.x, y(curve.points.front().bytes)}};
      for (const MemoryPoint& point : outline(curve.points)) {
        const double at = x(timeline_.at(point.at));
        if (at > field.right() - 1e-6) break;  // changes at the iteration's end are not drawn
        steps.push_back({at, steps.back().y});
        steps.push_back({at, y(point.bytes)});
      }
      steps.push_back({field.right(), steps.back().y});
      return steps;
    };
    const std::vector<Position> steps = steps_of(*highest);
    std::vector<Position> area = steps;
    area.push_back({field.right(), field.bottom()});
    area.push_back({field.x, field.bottom()});
    const std::string peak = fmt::format("{:.4g} {}", most->bytes / unit.size, unit.name);
    drawing_.add(Path{.points = std::move(area),
                      .closed = true,
                      .look = memory_look,
                      .meaning = {"memory", fmt::format("{}'s memory: at most {}, at {}", name_of(*highest), peak,
                                                        format_duration(timeline_.at(most->at)))}});
    for (const MemoryCurve& curve : curves)
      if (&curve != highest && !curve.points.empty())
        drawing_.add(Path{.points = steps_of(curve),
                          .look = {.line = memory_ink, .width = 0.5},
                          .meaning = {"memory of others", name_of(curve) + "'s memory"}});
    drawing_.add(Path{.points = steps, .look = {.line = memory_ink, .width = 1}});
    drawing_.add(Path{.points = {{field.x, field.bottom()}, {field.right(), field.bottom()}},
                      .look = {.line = style::ink, .width = 0.8}});
    add_peak(timeline_.pipeline() ? fmt::format("peak {} on {}", peak, name_of(*highest)) : "peak " + peak,
             {x(timeline_.at(most->at)), y(most->bytes)}, field);
    return field.bottom();
  }

 private:
  std::string name_of(const MemoryCurve& curve) const {
    return timeline_.pipeline() ? timeline_.rows.streams[curve.row].name : "a worker";
  }

  // Marks the peak, with its caption above the curve, shifted as needed to stay within the field.
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

  // Returns the highest and the last point within each pixel, so that no peak is lost.
  std::vector<MemoryPoint> outline(const std::vector<MemoryPoint>& course) const {
    std::vector<MemoryPoint> drawn;
    for (std::size_t i = 0; i < course.size();) {
      const double begin = x(timeline_.at(course[i].at));
      MemoryPoint most = course[i];
      std::size_t next = i + 1;
      for (; next < course.size() && x(timeline_.at(course[next].at)) < begin + 1 / zoom_; ++next)
        most.bytes = std::max(most.bytes, course[next].bytes);
      drawn.push_back(most);
      if (next > i + 1) drawn.push_back(course[next - 1]);
      i = next;
    }
    return drawn;
  }
};

}  // namespace

double add_timeline_memory(const TimelineCanvas& canvas, double top) { return MemoryPainter(canvas).add_memory(top); }

}  // namespace allreplay
