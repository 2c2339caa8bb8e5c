#include "sim/output/picture/axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double tick_size = 10;      // of a tick's label
constexpr double row_of_labels = 30;  // least distance between ticks on the left
constexpr double between_labels = 7;  // least distance below

Path line(std::vector<Position> points, Colour colour, double width) {
  return {.points = std::move(points), .look = {.line = colour, .width = width}};
}

bool is_on_axis(double share) {
  constexpr double slack = 1e-9;
  return share >= -slack && share <= 1 + slack;
}

double widest_label(const ChartAxis& axis, const Scale& scale, std::string_view font) {
  double widest = 0;
  for (const double tick : scale.ticks())
    widest = std::max(widest, text_width(axis.label(tick), tick_size, false, font));
  return widest;
}

}  // namespace

Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length, std::string_view font) {
  for (std::size_t most = 12; most > 2; --most) {
    Scale scale(axis, shown.first, shown.second, most);
    const auto gaps = static_cast<double>(scale.ticks().size()) - 1;
    if (!axis.ticks.empty() || widest_label(axis, scale, font) + 10 <= length / std::max(gaps, 1.0)) return scale;
  }
  return {axis, shown.first, shown.second, 2};
}

double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale, double inset) {
  const auto place = [&](double tick) { return field.x + inset + (field.width - 2 * inset) * scale.share(tick); };
  std::vector<AxisLabel> labels;
  // As far from each other as the widest label needs, so that evenly spread ticks have evenly spread labels.
  const double apart = axis.names_all ? 0 : widest_label(axis, scale, drawing.font) + between_labels;
  double free_from = -std::numeric_limits<double>::infinity();
  for (const double tick : scale.ticks()) {
    const double x = place(tick);
    drawing.add(line({{x, field.y}, {x, field.bottom()}}, style::grid, 0.7));
    if (x >= free_from) {
      labels.push_back({x, axis.label(tick)});
      free_from = x + apart - 1e-6;
    }
  }
  drawing.add(line({{field.x, field.bottom()}, {field.right(), field.bottom()}}, style::ink, 0.8));
  const double bottom = add_labels_below(drawing, field.bottom(), labels);
  drawing.add(Text{.at = {field.x + field.width / 2, bottom + 13},
                   .text = axis.name,
                   .align = Align::Middle,
                   .colour = style::ink,
                   .kind = "axis"});
  return bottom + 18;
}

double add_labels_below(Drawing& drawing, double top, const std::vector<AxisLabel>& labels) {
  double widest = 0, nearest = std::numeric_limits<double>::infinity();
  bool touch = false;
  const auto half = [&](const AxisLabel& label) { return text_width(label.text, tick_size, false, drawing.font) / 2; };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const AxisLabel& one = labels[i];
    widest = std::max(widest, 2 * half(one));
    touch = touch || one.x - half(one) < 1 || one.x + half(one) > drawing.width - 1;
    if (i == 0) continue;
    nearest = std::min(nearest, one.x - labels[i - 1].x);
    touch = touch || one.x - labels[i - 1].x < half(one) + half(labels[i - 1]) + between_labels - 1;
  }
  // Upwards if they would touch; if they would even then, only some.
  const std::size_t every = touch ? static_cast<std::size_t>(std::ceil(std::max(1.0, tick_size * 1.3 / nearest))) : 1;
  for (std::size_t i = 0; i < labels.size(); i += every) {
    const auto& [x, text] = labels[i];
    drawing.add(line({{x, top}, {x, top + 4}}, style::ink, 0.8));
    drawing.add(Text{.at = touch ? Position{x + 3.6, top + 6} : Position{x, top + 15},
                     .text = text,
                     .size = tick_size,
                     .align = touch ? Align::End : Align::Middle,
                     .colour = style::ink,
                     .upwards = touch,
                     .kind = "tick"});
  }
  return top + (touch ? widest + 7 : 18);
}

void add_axis_left(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale) {
  for (const double tick : scale.ticks()) {
    const double at = field.bottom() - field.height * scale.share(tick);
    drawing.add(line({{field.x, at}, {field.right(), at}}, style::grid, 0.7));
    drawing.add(line({{field.x - 4, at}, {field.x, at}}, style::ink, 0.8));
    drawing.add(Text{.at = {field.x - 7, at + 3.6},
                     .text = axis.label(tick),
                     .size = tick_size,
                     .align = Align::End,
                     .colour = style::ink,
                     .kind = "tick"});
  }
  drawing.add(line({{field.x, field.y}, {field.x, field.bottom()}}, style::ink, 0.8));
  drawing.add(Text{.at = {field.x - width_of_axis_left(axis, scale, drawing.font), field.y - 9},
                   .text = axis.name,
                   .colour = style::ink,
                   .kind = "axis"});
}

double width_of_axis_left(const ChartAxis& axis, const Scale& scale, std::string_view font) {
  return widest_label(axis, scale, font) + 8;
}

std::size_t most_ticks(double height) { return static_cast<std::size_t>(height / row_of_labels); }

Axes::Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
           std::pair<double, double> along)
    : y_(y, along.first, along.second, most_ticks(room.height)),
      field_([&] {
        const double left = width_of_axis_left(y, y_, drawing.font);
        return Box{room.x + left, room.y + height_of_axis_name, room.width - left, room.height};
      }()),
      x_(scale_with_room(x, across, field_.width, drawing.font)),
      inset_(x.ticks.empty() ? 0 : 8) {
  bottom_ = add_axis_below(drawing, field_, x, x_, inset_);
  add_axis_left(drawing, field_, y, y_);
}

Position Axes::at(Position value) const {
  return {field_.x + inset_ + (field_.width - 2 * inset_) * x_.share(value.x),
          field_.bottom() - field_.height * y_.share(value.y)};
}

bool Axes::shows(Position value) const { return shows_across(value.x) && is_on_axis(y_.share(value.y)); }

bool Axes::shows_across(double x) const { return is_on_axis(x_.share(x)); }

}  // namespace allreplay
