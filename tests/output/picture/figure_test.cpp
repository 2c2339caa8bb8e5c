#include "sim/output/picture/figure.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/picture/series_look.hpp"

using namespace allreplay;

namespace {

Chart curves(std::size_t count) {
  Chart chart;
  chart.x = {.name = "workers", .spacing = Spacing::Log2, .ticks = {8, 32, 128}};
  chart.y = {.name = "time per iteration (ms)", .from_zero = false};
  chart.height = 205;
  for (std::size_t i = 0; i < count; ++i)
    chart.series.push_back(
        {.name = "curve " + std::to_string(i), .points = {{8, 1}, {32, 3 + static_cast<double>(i)}, {128, 10}}});
  return chart;
}

}  // namespace

TEST_CASE("panels are in rows of two, with their charts at one height") {
  Figure figure;
  for (int i = 0; i < 3; ++i) {
    const std::string title =
        i == 0 ? "a title that is wider than the panel, and so takes a second line of it, or even more" : "b";
    add_panel(figure, title, curves(3));
  }
  const Drawing drawing = draw(figure);
  require_legible(drawing);
  const auto lines = shapes<Path>(drawing, "line");
  REQUIRE(lines.size() == 9);
  CHECK(lines[0].points[0].y == Approx(lines[3].points[0].y));
  CHECK(lines[6].points[0].y > lines[0].points[0].y);
  CHECK(lines[6].points[0].x == Approx(lines[0].points[0].x));
  CHECK(shapes<Text>(drawing, "legend").size() == 3);  // the series of all panels have the same names
  CHECK_THROWS_AS(draw(Figure{}), std::logic_error);
}

TEST_CASE("a marker is its own mirror image, and is drawn around its point") {
  const auto mirrored = [](const std::vector<Position>& marker, double x, double y) {
    return std::all_of(marker.begin(), marker.end(), [&](const Position& a) {
      return std::any_of(marker.begin(), marker.end(),
                         [&](const Position& b) { return std::hypot(a.x * x - b.x, a.y * y - b.y) < 1e-9; });
    });
  };
  double radius = 0;
  for (std::size_t i = 0; i < different_looks; ++i) {
    INFO(i);
    const SeriesLook look = series_look(i);
    CHECK((mirrored(look.marker, -1, 1) || mirrored(look.marker, 1, -1)));
    Drawing drawing;
    add_marker(drawing, look, {100, 50}, {"point", ""});
    REQUIRE(drawing.shapes.size() == 1);
    const auto* path = std::get_if<Path>(&drawing.shapes[0]);
    if (!path) {
      radius = std::get<Circle>(drawing.shapes[0]).radius;
      continue;
    }
    REQUIRE(radius > 0);  // the first look's
    REQUIRE(path->points.size() == look.marker.size());
    for (std::size_t corner = 0; corner < path->points.size(); ++corner) {
      CHECK(path->points[corner].x == Approx(100 + radius * look.marker[corner].x));
      CHECK(path->points[corner].y == Approx(50 + radius * look.marker[corner].y));
    }
  }
}

TEST_CASE("no two looks share a colour, or a marker; neighbours differ in grey") {
  const auto grey = [](Colour c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue; };
  for (std::size_t i = 0; i < different_looks; ++i) {
    const SeriesLook one = series_look(i);
    for (std::size_t j = 0; j < i; ++j) {
      INFO(j << " and " << i);
      const SeriesLook other = series_look(j);
      CHECK(!(one.colour == other.colour));
      const auto same = [](const Position& a, const Position& b) { return a.x == b.x && a.y == b.y; };
      const bool same_marker = one.hollow == other.hollow && std::equal(one.marker.begin(), one.marker.end(),
                                                                        other.marker.begin(), other.marker.end(), same);
      CHECK(!same_marker);
    }
    INFO(i);
    CHECK(grey(one.colour) < 185);  // seen on white
  }
}

TEST_CASE("long names in a legend are broken into lines, whatever the width and wherever the legend is") {
  for (const LegendPlace place : {LegendPlace::Top, LegendPlace::Right, LegendPlace::Bottom})
    for (const std::optional<double> width : {std::optional<double>(), std::optional(330.0), std::optional(680.0)}) {
      INFO(static_cast<int>(place) << ", " << width.value_or(0));
      Figure figure{.columns = 1, .legend_place = place, .width = width};
      Chart chart = curves(12);
      for (std::size_t i = 0; i < chart.series.size(); ++i) {
        chart.series[i].name =
            "fsdp2 (reduce=replicas-last, prefetch=3, reduce_buffers=12, l=" + std::to_string(i) + ")";
        REQUIRE(chart.series[i].name.size() >= 60);
      }
      add_panel(figure, "a panel", chart);
      const Drawing drawing = draw(figure);
      require_legible(drawing);
      CHECK(panel_width_of(figure) >= 150);
      std::string letters;  // without blanks: a long word may be broken, too
      for (const std::string& line : texts(drawing, "legend")) letters += line;
      std::erase(letters, ' ');
      for (Series& series : chart.series) {
        std::erase(series.name, ' ');
        CHECK(letters.find(series.name) != std::string::npos);
      }
    }
}

TEST_CASE("long names of rows are broken into lines, and none is cut off") {
  Figure figure{.columns = 1, .width = 330};
  RowChart chart{.x = {.name = "time"}, .row_height = 16};
  for (int i = 0; i < 12; ++i)
    chart.rows.push_back(
        {.name = "16, fsdp2 (reduce=replicas-last, prefetch=3, reduce_buffers=1, l=" + std::to_string(i) + ")",
         .parts = {{"part", 1.0 + i, {}}},
         .end = std::to_string(i)});
  add_panel(figure, "a panel", chart);
  const Drawing drawing = draw(figure);
  require_legible(drawing);
  std::string words;
  for (const std::string& line : texts(drawing, "row")) words += (words.empty() ? "" : " ") + line;
  for (const ChartRow& row : chart.rows) CHECK(words.find(row.name) != std::string::npos);
}
