// The frame of a chart: a field with one axis below it and one on its left.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

class Axes {
 public:
  /// Draws grid, ticks, labels and names; the name of the vertical axis is above the field, so that it can be read
  /// horizontally. `room` begins at the top of the frame, is as high as the field, and as wide as everything but the
  /// right half of the last tick's label. The pairs are the least and the greatest value shown. Throws as Scale does.
  Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
       std::pair<double, double> along);

  Position at(Position value) const;
  const Box& field() const { return field_; }
  /// True if at() is in the field.
  bool shows(Position value) const;
  bool shows_across(double x) const;         ///< the same for the horizontal axis alone
  double bottom() const { return bottom_; }  ///< of everything drawn

 private:
  Scale y_;
  Box field_;
  Scale x_;
  double inset_ = 0;  // distance of points from the sides of the field
  double bottom_ = 0;
};

/// Returns a scale for an axis of this length, with so few ticks that their labels do not touch.
Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length,
                      std::string_view font = usual_font);

/// Draws an axis below `field`: grid lines through it, labels if they do not touch, and the name. Its ends are `inset`
/// inside the field. Returns the y at which the next part may begin.
double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale, double inset = 0);

/// A label below an axis, and where its middle is.
struct AxisLabel {
  double x = 0;
  std::string text;
};

/// Draws labels and their ticks below `top`, all upwards if they would touch otherwise. Returns the y at which the name
/// of the axis may begin.
double add_labels_below(Drawing& drawing, double top, const std::vector<AxisLabel>& labels);

/// Draws an axis on the left of `field`, with its name above.
void add_axis_left(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale);

/// The room that add_axis_left() takes on the left, and above.
double width_of_axis_left(const ChartAxis& axis, const Scale& scale, std::string_view font = usual_font);
constexpr double height_of_axis_name = 20;

/// The number of ticks for which an axis on the left has room.
std::size_t most_ticks(double height);

}  // namespace allreplay
