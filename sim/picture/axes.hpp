// The frame of a chart: a field with an axis below it and one on its left.
#pragma once

#include <utility>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

class Axes {
 public:
  /// Draws grid, ticks, labels and names; the vertical axis' name stands above the field, so that it is read like all
  /// else. `room` is as wide as all of it but the right half of the last tick's label, as high as the field, and begins
  /// at the top of all. Each pair is the least and the greatest number shown. Throws as Scale does.
  Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
       std::pair<double, double> along);

  Position at(Position value) const;
  const Box& field() const { return field_; }
  double bottom() const { return bottom_; }  ///< of all that was drawn

 private:
  Scale y_;
  Box field_;
  Scale x_;
  double inset_ = 0;  // of points from the sides of the field
  double bottom_ = 0;
};

/// The ticks of an axis of this length whose labels, side by side, do not touch.
Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length);

/// Draws an axis below `field`: grid lines through it, labels where they do not touch, the name. Its ends lie `inset`
/// within the field. Returns where the next thing may begin.
double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale, double inset = 0);

/// Draws an axis on the left of `field`, whose name stands above.
void add_axis_left(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale);

/// How much room add_axis_left() takes on the left, and above.
double width_of_axis_left(const ChartAxis& axis, const Scale& scale);
constexpr double height_of_axis_name = 20;

/// How many ticks an axis on the left has room for.
std::size_t most_ticks(double height);

}  // namespace allreplay
