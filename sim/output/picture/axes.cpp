#include "sim/output/picture/axes.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double tick_size = 10;      // of a tick's label
constexpr double row_of_labels = 30;  // least distance between ticks on the left
constexpr double between_labels = 7;  // least distance below
constexpr double row_below = 13;      // from one row of labels to the next

Path line(std::vector<Position> points, Colour colour, double width) {
  return {.points = std::move(points), .look = {.line = colour, .width = width}};
}

double widest_label(const ChartAxis& axis, const Scale& scale) {
  double widest = 0;
  for (const double tick : scale.ticks()) widest = std::max(widest, text_width(axis.label(tick), tick_size));
  return widest;
}

// Returns the least number of rows, up to four, in which labels `apart` from each other fit side by side.
template <class Place>
std::size_t rows_of_labels(const Scale& scale, const Place& place, double apart) {
  constexpr std::size_t most = 4;
  const std::vector<double>& ticks = scale.ticks();
  for (std::size_t rows = 1; rows < most; ++rows) {
    bool fit = true;
    for (std::size_t i = rows; i < ticks.size(); ++i) fit = fit && place(ticks[i]) - place(ticks[i - rows]) >= apart;
    if (fit) return rows;
  }
  return most;
}

}  // namespace

Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length) {
  for (std::size_t most = 12; most > 2; --most) {
    Scale scale(axis, shown.first, shown.second, most);
    const auto gaps = static_cast<double>(scale.ticks().size()) - 1;
    if (!axis.ticks.empty() || widest_label(axis, scale) + 10 <= length / std::max(gaps, 1.0)) return scale;
  }
  return {axis, shown.first, shown.second, 2};
}

double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale, double inset) {
  // As far from each other as the widest label needs, so that evenly spread ticks have evenly spread labels.
  const double apart = widest_label(axis, scale) + between_labels;
  const auto place = [&](double tick) { return field.x + inset + (field.width - 2 * inset) * scale.share(tick); };
  // Long names at the ends are moved to stay inside the drawing.
  const auto middle = [&](double tick) {
    const double half = text_width(axis.label(tick), tick_size) / 2 + 1;
    return axis.names_all ? std::max(half, std::min(place(tick), drawing.width - half)) : place(tick);
  };
  const std::size_t rows = axis.names_all ? rows_of_labels(scale, middle, apart) : 1;
  std::vector<double> free_from(rows, -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < scale.ticks().size(); ++i) {
    const double tick = scale.ticks()[i], x = place(tick);
    const std::size_t row = i % rows;
    drawing.add(line({{x, field.y}, {x, field.bottom()}}, style::grid, 0.7));
    drawing.add(line({{x, field.bottom()}, {x, field.bottom() + 4}}, style::ink, 0.8));
    if (middle(tick) < free_from[row]) continue;
    free_from[row] = middle(tick) + apart - 1e-6;
    drawing.add(Text{.at = {middle(tick), field.bottom() + 15 + row_below * static_cast<double>(row)},
                     .text = axis.label(tick),
                     .size = tick_size,
                     .align = Align::Middle,
                     .colour = style::ink,
                     .kind = "tick"});
  }
  const double more = row_below * static_cast<double>(rows - 1);
  drawing.add(line({{field.x, field.bottom()}, {field.right(), field.bottom()}}, style::ink, 0.8));
  drawing.add(Text{.at = {field.x + field.width / 2, field.bottom() + 31 + more},
                   .text = axis.name,
                   .align = Align::Middle,
                   .colour = style::ink,
                   .kind = "axis"});
  return field.bottom() + 36 + more;
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
  drawing.add(Text{.at = {field.x - width_of_axis_left(axis, scale), field.y - 9},
                   .text = axis.name,
                   .colour = style::ink,
                   .kind = "axis"});
}

double width_of_axis_left(const ChartAxis& axis, const Scale& scale) { return widest_label(axis, scale) + 8; }

std::size_t most_ticks(double height) { return static_cast<std::size_t>(height / row_of_labels); }

Axes::Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
           std::pair<double, double> along)
    : y_(y, along.first, along.second, most_ticks(room.height)),
      field_([&] {
        const double left = width_of_axis_left(y, y_);
        return Box{room.x + left, room.y + height_of_axis_name, room.width - left, room.height};
      }()),
      x_(scale_with_room(x, across, field_.width)),
      inset_(x.ticks.empty() ? 0 : 8) {
  bottom_ = add_axis_below(drawing, field_, x, x_, inset_);
  add_axis_left(drawing, field_, y, y_);
}

Position Axes::at(Position value) const {
  return {field_.x + inset_ + (field_.width - 2 * inset_) * x_.share(value.x),
          field_.bottom() - field_.height * y_.share(value.y)};
}

}  // namespace allreplay
