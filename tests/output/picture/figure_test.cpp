#include "sim/output/picture/figure.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/picture/chart.hpp"
#include "sim/output/picture/column_chart.hpp"
#include "sim/output/picture/end_names.hpp"
#include "sim/output/picture/series_look.hpp"

using namespace allreplay;

namespace {

template <class Wanted>
std::vector<Wanted> shapes(const Drawing& drawing, const std::string& kind) {
  std::vector<Wanted> found;
  for (const Shape& shape : drawing.shapes) {
    const auto* one = std::get_if<Wanted>(&shape);
    if constexpr (std::is_same_v<Wanted, Text>) {
      if (one && one->kind == kind) found.push_back(*one);
    } else {
      if (one && one->meaning.kind == kind) found.push_back(*one);
    }
  }
  return found;
}

// Curves that all end within a factor of 1.2.
Chart crowded(std::size_t curves) {
  Chart chart;
  chart.x = {.name = "workers", .spacing = Spacing::Log2, .ticks = {8, 32, 128}};
  chart.y = {.name = "time per iteration (ms)", .from_zero = false};
  chart.height = 205;
  chart.names_at_ends = true;
  for (std::size_t i = 0; i < curves; ++i) {
    const auto n = static_cast<double>(i);
    chart.series.push_back({.name = "curve " + std::to_string(i), .points = {{8, 1}, {32, 3 + n}, {128, 10 + n / 8}}});
  }
  return chart;
}

Drawing drawn(const Chart& chart) {
  return draw(
      Figure{.panels = {{"a panel", [&](Drawing& on, const Box& room) { return add_chart(on, room, chart); }}}});
}

}  // namespace

TEST_CASE("names at the ends of curves touch neither each other nor the curves") {
  for (const std::size_t curves : {1U, 2U, 7U, 16U}) {
    INFO(curves);
    const Chart chart = crowded(curves);
    CHECK(names_fit(chart, 408));
    const Drawing drawing = drawn(chart);
    require_legible(drawing);
    const auto names = shapes<Text>(drawing, "series");
    REQUIRE(names.size() == curves);
    double field_ends = 0;
    for (const Path& line : shapes<Path>(drawing, "line"))
      for (const Position& point : line.points) field_ends = std::max(field_ends, point.x);
    for (const Text& name : names) CHECK(name.at.x > field_ends + 8);
    // The later a curve, the higher it ends: from above, the names stand in that order.
    for (std::size_t i = 1; i < names.size(); ++i) {
      CHECK(names[i].at.y > names[i - 1].at.y);
      CHECK(names[i - 1].text == "curve " + std::to_string(curves - i));
    }
  }
  CHECK(!names_fit(crowded(17), 408));  // 17 names of 13 pixels are higher than 205 and one of them
  Chart wordy = crowded(2);
  wordy.series[0].name = std::string(40, 'w');
  CHECK(!names_fit(wordy, 408));
}

TEST_CASE("a single name stands at the height of its curve's end") {
  const Drawing drawing = drawn(crowded(1));
  const auto lead = shapes<Path>(drawing, "lead");
  REQUIRE(lead.size() == 1);
  CHECK(lead[0].points[0].y == Approx(lead[0].points[1].y));
  CHECK(lead[0].points[0].y == Approx(shapes<Path>(drawing, "line")[0].points.back().y));
}

TEST_CASE("names that would touch are moved as one, by least squares") {
  // 13 pixels apart. 65 and 66 would be 59 and 72, which touches 50 + 13; all three as 50, 63, 76 less their distances
  // from the first, (50 + (65 - 13) + (66 - 26))/3 = 47.33.
  Drawing drawing;
  add_end_names(drawing, {0, 0, 100, 200}, {{"a", {}, {100, 50}}, {"b", {}, {100, 65}}, {"c", {}, {100, 66}}});
  const auto names = shapes<Text>(drawing, "series");
  REQUIRE(names.size() == 3);
  const double base = 3.6;  // of the letters, below the middle of a name
  for (std::size_t i = 0; i < 3; ++i) CHECK(names[i].at.y == Approx(142 / 3. + 13. * static_cast<double>(i) + base));
}

TEST_CASE("panels stand in rows of two, their charts at one height") {
  Figure figure;
  for (int i = 0; i < 3; ++i) {
    const std::string title =
        i == 0 ? "a title that is wider than the panel, and so takes a second line of it, or even more" : "b";
    figure.panels.push_back({title, [](Drawing& on, const Box& room) { return add_chart(on, room, crowded(3)); }});
  }
  const Drawing drawing = draw(figure);
  require_legible(drawing);
  const auto lines = shapes<Path>(drawing, "line");
  REQUIRE(lines.size() == 9);
  CHECK(lines[0].points[0].y == Approx(lines[3].points[0].y));
  CHECK(lines[6].points[0].y > lines[0].points[0].y);
  CHECK(lines[6].points[0].x == Approx(lines[0].points[0].x));
  CHECK_THROWS_AS(draw(Figure{}), std::logic_error);
}

TEST_CASE("columns are as high as their numbers, in groups whose names do not touch") {
  for (const auto& [groups, word] : std::vector<std::pair<std::size_t, std::string>>{{1, "EFSignSGD "},
                                                                                     {4, "EFSignSGD "},
                                                                                     {6, "a leaf-spine, adaptive "},
                                                                                     {11, "EFSignSGD "},
                                                                                     {40, "EFSignSGD "}}) {
    INFO(groups);
    ColumnChart chart{.x_name = "codec", .y = {.name = "efficiency (%)", .to = 100}};
    for (std::size_t g = 0; g < groups; ++g) {
      chart.groups.push_back({word + std::to_string(g), {}});
      for (const double value : {25.0, 50.0})
        chart.groups.back().columns.push_back({"", {{value, bar_look(series_look(0)), "one"}}, "25"});
    }
    std::vector<ColumnChart> charts{chart};
    write_alike(charts, Figure().panel_width);
    const Drawing drawing = draw(
        Figure{.panels = {{"", [&](Drawing& on, const Box& room) { return add_column_chart(on, room, charts[0]); }}}});
    require_legible(drawing);
    for (const Text& name : shapes<Text>(drawing, "tick"))  // the last one's, too, which is wider than its columns
      if (!name.upwards && name.align == Align::Middle) {
        const double half = text_width(name.text, name.size) / 2;
        CHECK(name.at.x - half >= 0);
        CHECK(name.at.x + half <= drawing.width);
      }
    const auto parts = shapes<Rectangle>(drawing, "part");
    REQUIRE(parts.size() == 2 * groups);
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      CHECK(parts[i + 1].box.height == Approx(2 * parts[i].box.height));
      CHECK(parts[i].box.height == Approx(chart.height / 4));
      CHECK(parts[i + 1].box.x >= parts[i].box.right());
    }
  }
  ColumnChart bad{.groups = {{"a", {{"", {{-1, {}, ""}}, ""}}}}};
  Drawing page;
  CHECK_THROWS_AS(add_column_chart(page, {0, 0, 100, 0}, bad), std::logic_error);
}

TEST_CASE("numbers stand above the columns of all panels, in one way, or of none") {
  // Room for 408 points: two columns are far wider than "123.4" (some 30 points), each of 24 is some 15 points wide,
  // which takes a number upwards, and each of 60 is narrower than the height of a number.
  const auto chart = [](std::size_t columns, double value) {
    ColumnChart one{.x_name = "strategy", .y = {.name = "time (ms)"}};
    for (std::size_t i = 0; i < columns; ++i)
      one.groups.push_back({std::to_string(i), {{"", {{value, bar_look(series_look(0)), "one"}}, "123.4"}}});
    return one;
  };
  const auto drawn = [&](std::vector<ColumnChart> charts) {
    Figure figure;
    write_alike(charts, figure.panel_width);
    for (const ColumnChart& one : charts)
      figure.panels.push_back({"", [&](Drawing& on, const Box& room) { return add_column_chart(on, room, one); }});
    const Drawing drawing = draw(figure);
    require_legible(drawing);
    return shapes<Text>(drawing, "number");
  };
  const auto across = drawn({chart(2, 123.4), chart(3, 123.4)});
  REQUIRE(across.size() == 5);
  CHECK_FALSE(across.front().upwards);
  const auto upwards = drawn({chart(2, 123.4), chart(24, 123.4)});
  REQUIRE(upwards.size() == 26);
  CHECK(std::all_of(upwards.begin(), upwards.end(), [](const Text& one) { return one.upwards; }));
  CHECK(drawn({chart(2, 123.4), chart(60, 123.4)}).empty());
  // 1000 is as high as an axis to 1000 (the least that reads well) is: the axis goes on, so that it has its number.
  CHECK(drawn({chart(24, 600), chart(24, 1000)}).size() == 48);
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
