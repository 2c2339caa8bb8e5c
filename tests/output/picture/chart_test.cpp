#include "sim/output/picture/chart.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/picture/bar_chart.hpp"
#include "sim/output/picture/style.hpp"

using namespace allreplay;

namespace {

template <class Wanted>
std::vector<Wanted> all(const Drawing& drawing, const std::string& kind) {
  std::vector<Wanted> found;
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Wanted>(&shape); one && one->meaning.kind == kind) found.push_back(*one);
  return found;
}

std::vector<Text> texts(const Drawing& drawing, const std::string& kind) {
  std::vector<Text> found;
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Text>(&shape); one && one->kind == kind) found.push_back(*one);
  return found;
}

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
  const auto points = all<Circle>(drawing, "point");
  REQUIRE(points.size() == 28);  // 2^3 … 2^30
  // On a logarithmic axis doublings are equally far apart.
  for (std::size_t i = 2; i < points.size(); ++i)
    CHECK(points[i].centre.x - points[i - 1].centre.x == Approx(points[1].centre.x - points[0].centre.x));
  // Every point lies a factor of 1.1 above the line: the same distance everywhere.
  const auto lines = all<Path>(drawing, "line");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].meaning.title == "fit");
  const double above = lines[0].points[0].y - points[0].centre.y;
  CHECK(above > 0);
  for (std::size_t i = 0; i < points.size(); ++i)
    CHECK(lines[0].points[i].y - points[i].centre.y == Approx(above).epsilon(1e-6));
  double legend = 0;
  for (const Text& entry : texts(drawing, "legend")) legend = std::max(legend, entry.at.y);
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
  CHECK(texts(drawing, "legend").size() == 9);
  require_legible(drawing);
}

TEST_CASE("a chart of nothing, or of what an axis cannot show, is a fault of the caller") {
  CHECK_THROWS_AS(draw(Chart{}), std::logic_error);
  Chart chart = example();
  chart.series[0].points[0].y = 0;
  CHECK_THROWS_AS(draw(chart), std::logic_error);
}

TEST_CASE("bars are as long as their values, parts end to end or side by side") {
  BarChart chart;
  chart.title = "Time";
  chart.value.name = "time (ms)";
  chart.bars = {"wfbp", "mg-wfbp"};
  chart.parts = {{"computing", {30, 30}, {}}, {"waiting", {20, 0}, {}}};
  chart.ends = {"50 ms", "30 ms"};
  chart.mark = BarMark{"bound", 25};
  const Drawing drawing = draw(chart);
  require_legible(drawing);
  const auto parts = all<Rectangle>(drawing, "part");
  REQUIRE(parts.size() == 3);  // nothing is drawn for 0
  CHECK(parts[0].meaning.title == "wfbp, computing: 30");
  CHECK(parts[1].box.width == Approx(parts[0].box.width * 20 / 30));
  CHECK(parts[1].box.x == Approx(parts[0].box.right()));
  CHECK(parts[2].box.width == Approx(parts[0].box.width));
  const auto mark = all<Path>(drawing, "mark");
  REQUIRE(mark.size() == 1);
  CHECK(mark[0].points[0].x - parts[0].box.x == Approx(parts[0].box.width * 25 / 30));

  chart.parts[0].values.pop_back();
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
  for (const Text& label : texts(drawing, "tick")) {
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
  const auto names = texts(drawing, "axis");
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

TEST_CASE("bars of a tornado go from zero to both sides; the legend says what their looks mean") {
  const BarChart chart{.title = "gains",
                       .value = {.name = "gain (%)"},
                       .bars = {"much", "less", "worse"},
                       .parts = {{"more", {40, 20, 0}}, {"below", {0, 0, -10}}},
                       .ends = {"+40", "+20", "-10"}};
  const Drawing drawing = draw(chart);
  require_legible(drawing);
  const auto bars = all<Rectangle>(drawing, "part");
  REQUIRE(bars.size() == 3);
  CHECK(bars[0].box.width == Approx(2 * bars[1].box.width));
  CHECK(bars[0].box.width == Approx(4 * bars[2].box.width));
  CHECK(bars[0].box.x == Approx(bars[1].box.x));
  CHECK(bars[2].box.right() == Approx(bars[0].box.x));
  std::vector<Rectangle> swatches;  // of the legend: what is drawn before the bars with a fill and means nothing
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Rectangle>(&shape); one && one->meaning.kind.empty() && one->look.fill)
      swatches.push_back(*one);
  REQUIRE(swatches.size() >= 2);
  CHECK(swatches[0].look.fill == bars[0].look.fill);
  CHECK(swatches[1].look.fill == bars[2].look.fill);
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
    for (const Text& one : texts(drawing, "tick"))
      if (one.align == Align::Middle) labels.push_back(std::stod(one.text));
    REQUIRE(labels.size() > 1);
    for (std::size_t i = 2; i < labels.size(); ++i) CHECK(labels[i] / labels[i - 1] == labels[1] / labels[0]);
  }
}

TEST_CASE("names below an axis all keep their labels, in rows if they are long") {
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
    const std::vector<Text> labels = texts(drawing, "tick");
    CHECK(std::count_if(labels.begin(), labels.end(), [](const Text& one) { return one.align == Align::Middle; }) == 8);
  }
}

TEST_CASE("a bar that goes on beyond the axis is cut off at its end, and broken") {
  BarChart chart;
  chart.value = {.name = "time (ms)", .to = 10};
  chart.bars = {"short", "long"};
  chart.parts = {{"computing", {4, 6}}, {"waiting", {5, 94}}};
  chart.ends = {"9 ms", "100 ms"};
  const Drawing drawing = draw(chart);
  require_legible(drawing);
  const auto parts = all<Rectangle>(drawing, "part");
  REQUIRE(parts.size() == 4);
  // The scale is that of the axis: 9 of its 10 are nine tenths of what 10 are, and 100 are no more.
  const double from = parts[0].box.x, whole = parts[3].box.right() - from;
  CHECK(parts[1].box.right() - from == Approx(0.9 * whole));
  CHECK(all<Path>(drawing, "break").size() == 2);
}
