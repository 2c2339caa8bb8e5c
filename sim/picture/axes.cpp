#include "sim/picture/axes.hpp"

#include <algorithm>

#include "sim/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double tick_size = 10;      // of a tick's label
constexpr double name_room = 18;      // of an axis' name at the left
constexpr double row_of_labels = 34;  // between ticks on the left, at least

Path line(std::vector<Position> points, Colour colour, double width) {
  return {.points = std::move(points), .look = {.line = colour, .width = width}};
}

double widest_label(const ChartAxis& axis, const Scale& scale) {
  double widest = 0;
  for (const double tick : scale.ticks()) widest = std::max(widest, text_width(axis.label(tick), tick_size));
  return widest;
}

}  // namespace

Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length) {
  for (std::size_t most = 12; most > 2; --most) {
    Scale scale(axis, shown.first, shown.second, most);
    const auto gaps = static_cast<double>(scale.ticks().size()) - 1;
    if (widest_label(axis, scale) + 10 <= length / std::max(gaps, 1.0)) return scale;
  }
  return {axis, shown.first, shown.second, 2};
}

double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale) {
  for (const double tick : scale.ticks()) {
    const double x = field.x + field.width * scale.share(tick);
    drawing.add(line({{x, field.y}, {x, field.bottom()}}, style::grid, 0.7));
    drawing.add(line({{x, field.bottom()}, {x, field.bottom() + 4}}, style::ink, 0.8));
    drawing.add(Text{.at = {x, field.bottom() + 15},
                     .text = axis.label(tick),
                     .size = tick_size,
                     .align = Align::Middle,
                     .colour = style::ink,
                     .kind = "tick"});
  }
  drawing.add(line({{field.x, field.bottom()}, {field.right(), field.bottom()}}, style::ink, 0.8));
  drawing.add(Text{.at = {field.x + field.width / 2, field.bottom() + 31},
                   .text = axis.name,
                   .align = Align::Middle,
                   .colour = style::ink,
                   .kind = "axis"});
  return field.bottom() + 36;
}

Axes::Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
           std::pair<double, double> along)
    : y_(y, along.first, along.second, static_cast<std::size_t>(room.height / row_of_labels)),
      field_([&] {
        const double left = style::margin + name_room + widest_label(y, y_) + 8;
        return Box{room.x + left, room.y, room.width - left - 2 * style::margin, room.height};
      }()),
      x_(scale_with_room(x, across, field_.width)) {
  bottom_ = add_axis_below(drawing, field_, x, x_);
  for (const double tick : y_.ticks()) {
    const double at = field_.bottom() - field_.height * y_.share(tick);
    drawing.add(line({{field_.x, at}, {field_.right(), at}}, style::grid, 0.7));
    drawing.add(line({{field_.x - 4, at}, {field_.x, at}}, style::ink, 0.8));
    drawing.add(Text{.at = {field_.x - 7, at + 3.6},
                     .text = y.label(tick),
                     .size = tick_size,
                     .align = Align::End,
                     .colour = style::ink,
                     .kind = "tick"});
  }
  drawing.add(line({{field_.x, field_.y}, {field_.x, field_.bottom()}}, style::ink, 0.8));
  drawing.add(Text{.at = {room.x + style::margin + 8, field_.y + field_.height / 2},
                   .text = y.name,
                   .align = Align::Middle,
                   .colour = style::ink,
                   .upwards = true,
                   .kind = "axis"});
}

Position Axes::at(Position value) const {
  return {field_.x + field_.width * x_.share(value.x), field_.bottom() - field_.height * y_.share(value.y)};
}

}  // namespace allreplay
