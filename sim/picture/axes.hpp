// The frame of a chart: a field with an axis below it and one on its left.
#pragma once

#include <utility>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

class Axes {
 public:
  /// Draws grid, ticks, labels and names; `room` is as wide as the page, as high as the field. Each pair is the least
  /// and the greatest number shown. Throws as Scale does.
  Axes(Drawing& drawing, const Box& room, const ChartAxis& x, std::pair<double, double> across, const ChartAxis& y,
       std::pair<double, double> along);

  Position at(Position value) const;
  const Box& field() const { return field_; }
  double bottom() const { return bottom_; }  ///< of all that was drawn

 private:
  Scale y_;
  Box field_;
  Scale x_;
  double bottom_ = 0;
};

/// The ticks of an axis of this length whose labels, side by side, do not touch.
Scale scale_with_room(const ChartAxis& axis, std::pair<double, double> shown, double length);

/// Draws an axis below `field`: grid lines through it, labels, the name. Returns where the next thing may begin.
double add_axis_below(Drawing& drawing, const Box& field, const ChartAxis& axis, const Scale& scale);

}  // namespace allreplay
