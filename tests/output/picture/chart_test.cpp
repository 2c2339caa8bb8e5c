#include "sim/output/picture/chart.hpp"

#include <algorithm>
#include <limits>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/picture/row_chart.hpp"
#include "sim/output/picture/style.hpp"

using namespace allreplay;

namespace {

Chart example() {
  Chart chart;
  chart.title = "All-reduce, measured and fitted";
  chart.note = "a = 45 us, b = 2 ns/B";
  chart.x = {.name = "size (B)", .spacing = Spacing::Log2};
  chart.y = {.name = "time (s)", .spacing = Spacing::Log10};
  Series measured{.name = "measured", .line = false}, fitted{.name = "fit", .markers = false, .style = 0};
  for (double bytes = 8; bytes <= (1 << 30); bytes *= 2) {
    measured.points.push_back({bytes, 1.1 * (45e-6 + 2e-9 * bytes)});
    fitted.points.push_back({bytes, 45e-6 + 2e-9 * bytes});
  }
  chart.series = {measured, fitted};
  return chart;
}

}  // namespace

TEST_CASE("a chart shows each point at its place, below the legend") {
  const Drawing drawing = draw(example());
  require_legible(drawing);
  const auto points = shapes<Circle>(drawing, "point");
  REQUIRE(points.size() == 28);  // 2^3 … 2^30
  // On a logarithmic axis doublings are equally far apart.
  for (std::size_t i = 2; i < points.size(); ++i)
    CHECK(points[i].centre.x - points[i - 1].centre.x == Approx(points[1].centre.x - points[0].centre.x));
  // Every point lies a factor of 1.1 above the line: the same distance everywhere.
  const auto lines = shapes<Path>(drawing, "line");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].meaning.title == "fit");
  const double above = lines[0].points[0].y - points[0].centre.y;
  CHECK(above > 0);
  for (std::size_t i = 0; i < points.size(); ++i)
    CHECK(lines[0].points[i].y - points[i].centre.y == Approx(above).epsilon(1e-6));
  double legend = 0;
  for (const Text& entry : shapes<Text>(drawing, "legend")) legend = std::max(legend, entry.at.y);
  for (const Circle& point : points) CHECK(point.centre.y - point.radius > legend);
  CHECK(points[0].look.line == lines[0].look.line);  // the same style
}

TEST_CASE("many series and long names stay legible") {
  Chart chart = example();
  chart.series.clear();
  for (int i = 0; i < 9; ++i)
    chart.series.push_back(
        {.name = "a strategy of a long name, " + std::to_string(i), .points = {{1, 1.0 + i}, {1e9, 2}}});
  chart.title = std::string(60, 'x') + " " + std::string(60, 'y');
  chart.width = 480;
  const Drawing drawing = draw(chart);
  CHECK(shapes<Text>(drawing, "legend").size() == 9);
  require_legible(drawing);
}

TEST_CASE("a chart of nothing, or of what an axis cannot show, is a fault of the caller") {
  CHECK_THROWS_AS(draw(Chart{}), std::logic_error);
  Chart chart = example();
  chart.series[0].points[0].y = 0;
  CHECK_THROWS_AS(draw(chart), std::logic_error);
}

TEST_CASE("labels of the axis on the left stand beside their lines") {
  const Drawing drawing = draw(example());
  std::vector<double> lines;  // across the field
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Path>(&shape);
        one && one->points.size() == 2 && one->points[0].y == one->points[1].y)
      lines.push_back(one->points[0].y);
  int labels = 0;
  for (const Text& label : shapes<Text>(drawing, "tick")) {
    if (label.align != Align::End) continue;
    ++labels;
    // A third of the letters' height below the line: its middle is on it.
    CHECK(std::any_of(lines.begin(), lines.end(), [&](double y) { return label.at.y - y == Approx(3.6); }));
  }
  CHECK(labels > 2);
}

TEST_CASE("a chart fills its width between the margins") {
  const Drawing drawing = draw(example());
  double last = 0;
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Path>(&shape))
      for (const Position& point : one->points) last = std::max(last, point.x);
  const auto names = shapes<Text>(drawing, "axis");
  REQUIRE(names.size() == 2);
  CHECK(names[1].text == "time (s)");
  CHECK(names[1].at.x == Approx(style::margin));
  CHECK(last == Approx(drawing.width - 2 * style::margin));  // one more for what hangs over the axis' end
}

TEST_CASE("a legend's sample is a line across it, with the marker in its middle") {
  Chart chart = example();
  chart.series = {{.name = "both", .points = {{1, 1}}, .style = 0}};
  Drawing drawing;
  legend_of(chart)[0].sample(drawing, {10, 20, 30, 8});
  REQUIRE(drawing.shapes.size() == 2);
  const auto& line = std::get<Path>(drawing.shapes[0]);
  CHECK(line.points[0].x == 10);
  CHECK(line.points[1].x == 40);
  CHECK(line.points[0].y == 24);
  const auto& marker = std::get<Circle>(drawing.shapes[1]);
  CHECK(marker.centre.x == 25);
  CHECK(marker.centre.y == 24);
}

TEST_CASE("labels below an axis are evenly spread: of doublings none is missing alone") {
  Chart chart;
  chart.x = {.name = "workers", .spacing = Spacing::Log2};
  Series series{.name = "s"};
  for (double workers = 4; workers <= 2048; workers *= 2) {
    chart.x.ticks.push_back(workers);
    series.points.push_back({workers, workers});
  }
  chart.series = {series};
  for (chart.width = 200; chart.width <= 700; chart.width += 20) {
    const Drawing drawing = draw(chart);
    require_legible(drawing);
    std::vector<double> labels;
    for (const Text& one : shapes<Text>(drawing, "tick"))
      if (one.align == Align::Middle) labels.push_back(std::stod(one.text));
    REQUIRE(labels.size() > 1);
    for (std::size_t i = 2; i < labels.size(); ++i) CHECK(labels[i] / labels[i - 1] == labels[1] / labels[0]);
  }
}

TEST_CASE("names below an axis all keep their labels, upwards if they are long") {
  Chart chart;
  chart.x = {.name = "cluster", .names_all = true};
  chart.x.label = [](double at) { return "us-byte-cluster2-" + plain_number(10 * at) + "gbps"; };
  Series series{.name = "s"};
  for (double at = 0; at < 8; ++at) {
    chart.x.ticks.push_back(at);
    series.points.push_back({at, 1 + at});
  }
  chart.series = {series};
  for (chart.width = 500; chart.width <= 1100; chart.width += 150) {
    const Drawing drawing = draw(chart);
    require_legible(drawing);
    const std::vector<Text> labels = shapes<Text>(drawing, "tick");
    CHECK(std::count_if(labels.begin(), labels.end(), [](const Text& one) { return one.upwards; }) == 8);
  }
}

TEST_CASE("bars are as long as their values, parts end to end, below zero to the left") {
  const Look grey{.fill = colour(0x999999)}, blue{.fill = colour(0x0000FF)};
  RowChart chart{.title = "Time", .x = {.name = "time (ms)"}, .mark = RowMark{"bound", 25}};
  chart.rows = {{.name = "wfbp", .parts = {{"computing", 30, grey}, {"waiting", 20, blue}}, .end = "50 ms"},
                {.name = "mg-wfbp", .parts = {{"computing", 30, grey}, {"waiting", 0, blue}}, .end = "30 ms"},
                {.name = "saved", .parts = {{"less", -10, blue}}, .end = "-10 ms", .starts_group = true}};
  const Drawing drawing = draw(chart);
  require_legible(drawing);
  const auto parts = shapes<Rectangle>(drawing, "part");
  REQUIRE(parts.size() == 4);  // nothing is drawn for 0
  CHECK(parts[0].meaning.title == "wfbp, computing: 30");
  CHECK(parts[1].box.width == Approx(parts[0].box.width * 20 / 30));
  CHECK(parts[1].box.x == Approx(parts[0].box.right()));
  CHECK(parts[2].box.width == Approx(parts[0].box.width));
  CHECK(parts[3].box.width == Approx(parts[0].box.width * 10 / 30));
  CHECK(parts[3].box.right() == Approx(parts[0].box.x));
  CHECK(parts[3].box.y - parts[2].box.y > parts[2].box.y - parts[0].box.y);
  const auto mark = shapes<Path>(drawing, "mark");
  REQUIRE(mark.size() == 1);
  CHECK(mark[0].points[0].x - parts[0].box.x == Approx(parts[0].box.width * 25 / 30));
  CHECK(texts(drawing, "legend") == std::vector<std::string>{"computing", "waiting", "less", "bound"});

  chart.rows[0].parts[0].value = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(draw(chart), std::logic_error);
  CHECK_THROWS_AS(draw(RowChart{}), std::logic_error);
}

TEST_CASE("dots of a row stand at their values, on a logarithmic axis as well") {
  RowChart chart{.x = {.name = "time (ms)", .spacing = Spacing::Log10}};
  chart.rows = {{.name = "a", .dots = {{1, 0, "1"}, {10, 0, "10"}, {100, 0, "100"}}},
                {.name = "b", .dots = {{10, 0, "10", true}}}};
  const Drawing drawing = draw(chart);
  require_legible(drawing);
  const auto dots = shapes<Circle>(drawing, "point");
  REQUIRE(dots.size() == 4);
  CHECK(dots[1].centre.x - dots[0].centre.x == Approx(dots[2].centre.x - dots[1].centre.x));
  CHECK(dots[3].centre.x == Approx(dots[1].centre.x));
  CHECK(dots[3].centre.y > dots[1].centre.y);
  CHECK(shapes<Path>(drawing, "cross").size() == 4);
}

TEST_CASE("a line is cut off where it leaves the field, and goes on where it comes back") {
  const Box box{0, 0, 10, 10};
  const auto parts = clipped({{-10, 5}, {5, 5}, {5, 25}, {15, 25}, {9, 1}}, box);
  REQUIRE(parts.size() == 2);
  // From the left side to the corner at (5, 5), then down to the bottom.
  REQUIRE(parts[0].size() == 3);
  CHECK((parts[0][0].x == 0 && parts[0][0].y == 5));
  CHECK((parts[0][2].x == 5 && parts[0][2].y == 10));
  // From (15, 25) to (9, 1): x falls by 6 where y falls by 24, so x is 11.25 at the bottom and y is 5 at the right
  // side.
  REQUIRE(parts[1].size() == 2);
  CHECK(parts[1][0].x == Approx(10));
  CHECK(parts[1][0].y == Approx(5));
  CHECK(clipped({{-5, 12}, {15, 12}}, box).empty());
}

TEST_CASE("limits of an axis hide points, not the line to them") {
  Chart chart = example();
  chart.x.from = 1 << 10;
  chart.x.to = 1 << 20;
  const Drawing drawing = draw(chart);
  CHECK(shapes<Circle>(drawing, "point").size() == 11);  // 2^10 … 2^20
  const auto lines = shapes<Path>(drawing, "line");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].points.size() == 11);
}
