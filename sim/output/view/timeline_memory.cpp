#include <algorithm>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

constexpr double memory_height = 58, peak_height = 15;  // the field's, and that of the peak's caption above it
const Look memory_look{.fill = colour(0xE4DDEC)};
constexpr Colour memory_ink = colour(0x6B4C8A);

const MemoryPoint& peak_of(const MemoryCurve& curve) {
  return *std::ranges::max_element(curve.points, {}, &MemoryPoint::bytes);
}

class MemoryPainter : public TimelineCanvas {
 public:
  explicit MemoryPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

  // Draws memory over time, from 0 up: an area for the worker that needs most, lines for other ranks of a pipeline.
  double add_memory(double top) {
    std::vector<const MemoryCurve*> curves;
    for (const MemoryCurve& curve : timeline_.rows.memory)
      if (!curve.points.empty()) curves.push_back(&curve);
    if (curves.empty()) return top;
    std::ranges::stable_sort(curves, std::ranges::greater{}, [](const auto* curve) { return peak_of(*curve).bytes; });
    const MemoryCurve& highest = *curves.front();
    most_ = peak_of(highest).bytes;
    if (!(most_ > 0)) return top;
    field_ = {left_, top + 4 + peak_height, x(*std::ranges::max_element(timeline_.ends)) - left_, memory_height};
    add_row_name(field_.y + field_.height / 2, "memory");
    add_area(highest);
    for (std::size_t i = 1; i < curves.size(); ++i)
      drawing_.add(Path{.points = steps_of(*curves[i]),
                        .look = {.line = memory_ink, .width = 0.5},
                        .meaning = {"memory of others", name_of(*curves[i]) + "'s memory"}});
    drawing_.add(Path{.points = steps_of(highest), .look = {.line = memory_ink, .width = 1}});
    drawing_.add(Path{.points = {{field_.x, field_.bottom()}, {field_.right(), field_.bottom()}},
                      .look = {.line = style::ink, .width = 0.8}});
    add_peak(highest);
    return field_.bottom();
  }

 private:
  std::string name_of(const MemoryCurve& curve) const {
    return timeline_.pipeline() ? timeline_.rows.streams[curve.row].name : "a worker";
  }

  double y(double bytes) const { return field_.bottom() - field_.height * bytes / most_; }

  std::vector<Position> steps_of(const MemoryCurve& curve) const {
    std::vector<Position> steps{{field_.x, y(curve.points.front().bytes)}};
    for (const MemoryPoint& point : outline(curve.points)) {
      const double at = x(timeline_.at(point.at));
      if (at > field_.right() - 1e-6) break;  // changes at the iteration's end are not drawn
      steps.push_back({at, steps.back().y});
      steps.push_back({at, y(point.bytes)});
    }
    steps.push_back({field_.right(), steps.back().y});
    return steps;
  }

  void add_area(const MemoryCurve& curve) {
    std::vector<Position> area = steps_of(curve);
    area.push_back({field_.right(), field_.bottom()});
    area.push_back({field_.x, field_.bottom()});
    drawing_.add(
        Path{.points = std::move(area),
             .closed = true,
             .look = memory_look,
             .meaning = {"memory", fmt::format("{}'s memory: at most {}, at {}", name_of(curve), format_size_of(most_),
                                               format_duration(timeline_.at(peak_of(curve).at)))}});
  }

  // Marks the peak, with its caption above the curve, shifted as needed to stay within the field.
  void add_peak(const MemoryCurve& curve) {
    const std::string text =
        fmt::format("peak {}{}", format_size_of(most_), timeline_.pipeline() ? " on " + name_of(curve) : "");
    const Position at{x(timeline_.at(peak_of(curve).at)), y(most_)};
    drawing_.add(Path{.points = {{field_.x, at.y}, {field_.right(), at.y}},
                      .look = {.line = memory_ink, .width = 0.8, .dashes = {3, 2}},
                      .meaning = {"peak", text}});
    drawing_.add(Circle{at, 2.2, {.fill = memory_ink}, {"peak", text}});
    const double half = text_width(text, style::small_size) / 2 + 4;
    const double middle = std::clamp(at.x, field_.x + half, std::max(field_.x + half, field_.right() - half));
    drawing_.add(Text{.at = {middle, at.y - 4.5},
                      .text = text,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = memory_ink,
                      .kind = "peak"});
  }

  static std::string format_size_of(double bytes) {
    const FittingUnit unit = unit_of_size(bytes);
    return fmt::format("{:.4g} {}", bytes / unit.size, unit.name);
  }

  // Returns the highest and the last point within each pixel, so that no peak is lost.
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

  double most_ = 0;  // bytes at the field's top
  Box field_;
};

}  // namespace

double add_timeline_memory(const TimelineCanvas& canvas, double top) { return MemoryPainter(canvas).add_memory(top); }

}  // namespace allreplay
