#include "sim/output/picture/column_chart.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double label_size = 10, label_height = 13;
constexpr double share_of_columns = 0.86;  // of a group's width

double height_of(const ChartColumn& column) {
  double height = 0;
  for (const ColumnPart& part : column.parts) height += part.value;
  return height;
}

// The height of the number above a column.
double reach_above(const ChartColumn& column, NumbersAbove numbers) {
  if (numbers == NumbersAbove::None) return 0;
  return numbers == NumbersAbove::Across ? 13 : text_width(column.above, 9.5) + 5;
}

// The layout of the groups' names below: in one row; alternating between several if they would touch; or upwards.
struct GroupNames {
  std::size_t rows = 1;
  std::vector<double> middles;  // by group; empty: upwards
  double height = label_height;
  std::size_t every = 1;  // upwards: only every so many names, so that they do not touch
};

double width_of(const ColumnGroup& group) { return text_width(group.name, label_size); }

class ColumnPainter {
 public:
  ColumnPainter(Drawing& drawing, const Box& room, const ColumnChart& chart)
      : drawing_(drawing), room_(room), chart_(chart), scale_(scale_of(chart)) {
    const double left = width_of_axis_left(chart.y, scale_);
    field_ = {room.x + left, room.y + height_of_axis_name, room.width - left - style::margin / 2, chart.height};
    std::size_t most = 0;
    for (const ColumnGroup& group : chart.groups) most = std::max(most, group.columns.size());
    pitch_ = field_.width / static_cast<double>(chart.groups.size());
    column_ = share_of_columns * pitch_ / static_cast<double>(std::max<std::size_t>(most, 1));
  }

  double paint() {
    add_axis_left(drawing_, field_, chart_.y, scale_);
    drawing_.add(Path{.points = {{field_.x, field_.bottom()}, {field_.right(), field_.bottom()}},
                      .look = {.line = style::ink, .width = 0.8}});
    for (std::size_t group = 0; group < chart_.groups.size(); ++group) {
      const auto& columns = chart_.groups[group].columns;
      for (std::size_t i = 0; i < columns.size(); ++i)
        paint(columns[i], chart_.groups[group].name,
              middle_of(group) + column_ * (static_cast<double>(i) - static_cast<double>(columns.size() - 1) / 2));
    }
    return add_names();
  }

  // True if every column has room for its name, or for its number.
  bool names_fit() const {
    return column_ >= 12 && every([&](const ChartColumn& column) {
             const double lowest = column.parts.empty() ? 0 : column.parts.front().value;
             return text_width(column.name, 9.5) + 6 <= field_.bottom() - y_of(lowest);
           });
  }
  bool numbers_fit() const {
    if (chart_.numbers == NumbersAbove::None) return true;
    return every([&](const ChartColumn& column) {
      const double width = chart_.numbers == NumbersAbove::Across ? text_width(column.above, 9.5) + 2 : 10.5;
      return !column.above.empty() && width <= column_;
    });
  }

 private:
  template <class Fits>
  bool every(const Fits& fits) const {
    for (const ColumnGroup& group : chart_.groups)
      for (const ChartColumn& column : group.columns)
        if (!fits(column)) return false;
    return true;
  }

  static Scale scale_of(const ColumnChart& chart) {
    double highest = 0, least = 0;
    std::size_t columns = 0;
    for (const ColumnGroup& group : chart.groups)
      for (const ChartColumn& column : group.columns) {
        for (const ColumnPart& part : column.parts) least = std::min(least, part.value);
        highest =
            std::max(highest, height_of(column) * chart.height / (chart.height - reach_above(column, chart.numbers)));
        ++columns;
      }
    if (columns == 0 || !(least >= 0) || chart.y.spacing != Spacing::Linear)
      throw std::logic_error("a column chart without columns, with negative ones, or not on a linear axis");
    ChartAxis axis = chart.y;
    if (axis.to && highest > *axis.to) axis.to.reset();
    return {axis, 0, highest, most_ticks(chart.height)};
  }

  double middle_of(std::size_t group) const { return field_.x + pitch_ * (static_cast<double>(group) + 0.5); }
  double y_of(double value) const { return field_.bottom() - field_.height * scale_.share(value); }

  void paint(const ChartColumn& column, const std::string& group, double middle) {
    const double width = 0.9 * column_;
    const std::size_t first = drawing_.shapes.size();
    double height = 0;
    for (const ColumnPart& part : column.parts) {
      const double top = y_of(height + part.value), bottom = y_of(height);
      if (part.value > 0)
        drawing_.add(Rectangle{{middle - width / 2, top, width, bottom - top},
                               part.look,
                               {"part", fmt::format("{}, {}: {}", group, part.name, chart_.y.label(part.value))}});
      height += part.value;
    }
    if (column.crossed) add_cross(drawing_, {middle, y_of(height) + 7});
    if (chart_.names_within) write(column.name, middle, field_.bottom() - 4, true);
    if (chart_.numbers != NumbersAbove::None)
      write(column.above, middle, y_of(height) - 3, chart_.numbers == NumbersAbove::Upwards);
    drawing_.mark_series(column.name, first);
  }

  void write(const std::string& text, double middle, double bottom, bool upwards) {
    drawing_.add(Text{.at = {upwards ? middle + 3.4 : middle, bottom},
                      .text = text,
                      .size = 9.5,
                      .align = upwards ? Align::Start : Align::Middle,
                      .colour = style::ink,
                      .upwards = upwards,
                      .kind = "number"});
  }

  // The middles of names below their groups, shifted to stay within the room; none if two would touch.
  std::vector<double> middles_in(std::size_t rows) const {
    std::vector<double> middles;
    for (std::size_t group = 0; group < chart_.groups.size(); ++group) {
      const double half = width_of(chart_.groups[group]) / 2;
      if (2 * half > room_.width) return {};
      middles.push_back(std::clamp(middle_of(group), room_.x + half, room_.right() - half));
      if (group < rows) continue;
      const std::size_t before = group - rows;
      if (middles[before] + width_of(chart_.groups[before]) / 2 + 6 > middles[group] - half) return {};
    }
    return middles;
  }

  GroupNames layout() const {
    for (std::size_t rows = 1; rows <= 3; ++rows)
      if (std::vector<double> middles = middles_in(rows); !middles.empty())
        return {rows, std::move(middles), label_height * static_cast<double>(rows)};
    double widest = 0;
    for (const ColumnGroup& group : chart_.groups) widest = std::max(widest, width_of(group));
    return {1, {}, widest + 2, static_cast<std::size_t>(std::ceil(label_height / pitch_))};
  }

  double add_names() {
    const GroupNames names = layout();
    const bool upwards = names.middles.empty();
    double bottom = field_.bottom() + 5;
    for (std::size_t group = 0; group < chart_.groups.size(); ++group) {
      const double middle = middle_of(group);
      if (upwards && group % names.every != 0) continue;
      const double row = label_height * static_cast<double>(group % names.rows);
      drawing_.add(Path{.points = {{middle, field_.bottom()}, {middle, bottom + row}},
                        .look = {.line = row > 0 ? style::grid : style::ink, .width = 0.8}});
      drawing_.add(
          Text{.at = upwards ? Position{middle + 3.6, bottom + 1} : Position{names.middles[group], bottom + row + 10},
               .text = chart_.groups[group].name,
               .size = label_size,
               .align = upwards ? Align::End : Align::Middle,
               .colour = style::ink,
               .upwards = upwards,
               .kind = "tick"});
    }
    bottom += names.height;
    drawing_.add(Text{.at = {field_.x + field_.width / 2, bottom + 13},
                      .text = chart_.x_name,
                      .align = Align::Middle,
                      .colour = style::ink,
                      .kind = "axis"});
    return bottom + 18;
  }

  Drawing& drawing_;
  Box room_;
  const ColumnChart& chart_;
  Scale scale_;
  Box field_;
  double pitch_ = 0, column_ = 0;
};

}  // namespace

void write_alike(std::vector<ColumnChart>& charts, double width) {
  Drawing unused;
  const auto fit_all = [&](bool (ColumnPainter::*fit)() const) {
    return std::all_of(charts.begin(), charts.end(), [&](const ColumnChart& chart) {
      return (ColumnPainter(unused, {0, 0, width, 0}, chart).*fit)();
    });
  };
  for (const NumbersAbove numbers : {NumbersAbove::Across, NumbersAbove::Upwards, NumbersAbove::None}) {
    for (ColumnChart& chart : charts) chart.numbers = numbers;
    if (fit_all(&ColumnPainter::numbers_fit)) break;
  }
  if (!fit_all(&ColumnPainter::names_fit))
    for (ColumnChart& chart : charts) chart.names_within = false;
}

double add_column_chart(Drawing& drawing, const Box& room, const ColumnChart& chart) {
  return ColumnPainter(drawing, room, chart).paint();
}

}  // namespace allreplay
