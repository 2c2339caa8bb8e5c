#include <set>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/picture/series_look.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/studies/calibration/validation.hpp"

using namespace allreplay;

TEST_CASE("points of each group look like no line and no other group") {
  Validation known;
  known.measured.quantity = Quantity::IterationTime;
  for (int place = 0; place < 6; ++place) {
    const std::string group = "g" + std::to_string(place / 2);
    MeasuredPoint point;
    point.group = group;
    point.value = 0.1 * (place + 1);
    known.measured.points.push_back(point);
    ValidatedPoint predicted;
    predicted.predicted.value = 0.11 * (place + 1);
    known.points.push_back(predicted);
    if (place % 2 == 0) known.groups.push_back({.name = group});
  }
  known.all.error.rows = 6;
  const Drawing drawing = validation_picture(known);
  require_legible(drawing);
  // "exact" and "within 25 %" have the first two looks.
  std::set<std::size_t> looks;
  const auto add = [&](const Look& look) {
    for (std::size_t place = 0; place < different_looks; ++place)
      if (look.fill == series_look(place).colour || look.line == series_look(place).colour) looks.insert(place);
  };
  for (const Shape& shape : drawing.shapes) {
    if (const auto* circle = std::get_if<Circle>(&shape)) add(circle->look);
    if (const auto* path = std::get_if<Path>(&shape); path && path->closed) add(path->look);
  }
  CHECK(looks == std::set<std::size_t>{2, 3, 4});
}
