#include <cmath>
#include <map>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/output/view/pictures.hpp"
#include "sim/studies/calibration/calibration.hpp"

using namespace allreplay;

namespace {

// Two laws, distinguished at 64 KiB: the table has two pieces.
double seconds(Bytes bytes) {
  return bytes <= 65536 ? 20e-6 + 2e-9 * static_cast<double>(bytes) : 300e-6 + 0.5e-9 * static_cast<double>(bytes);
}

}  // namespace

TEST_CASE("a calibration is drawn as curves from its smallest to its largest size, and as their errors") {
  const auto sizes = test_logs::doublings(8, 64 << 20);
  const Calibration fitted = calibrate(read_measurements(test_logs::nccl_tests(sizes, seconds, 8), "f", {}), {});
  const Drawing drawing = calibration_picture({{fitted, "other", [](double bytes) { return 1e-3 + 1e-9 * bytes; }}});
  require_legible(drawing);
  std::map<std::string, std::vector<Position>> curves;
  for (const Path& path : shapes<Path>(drawing, "line")) curves[path.meaning.title] = path.points;
  REQUIRE(curves.size() == 3);  // the line, the table and the other line; measured points are not a curve
  REQUIRE(curves.contains("table"));
  REQUIRE(curves.contains("other"));
  for (const auto& [name, points] : curves) {
    INFO(name);
    REQUIRE(points.size() == 401);
    // With equal distances on an axis of powers, all from the left edge of the first to the right edge of the last.
    const double step = (points.back().x - points.front().x) / 400;
    CHECK(step > 0);
    for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].x - points[i - 1].x == Approx(step));
    CHECK(points.front().x == curves["other"].front().x);
    for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i].y <= points[i - 1].y);  // more takes longer
  }
  // On a logarithmic axis: the table rises by log10 of the ratio of the times for 64 MiB and 8 B, the other curve by
  // its own ratio.
  const auto rise = [&](const std::string& name) { return curves[name].front().y - curves[name].back().y; };
  const double table = std::log10(seconds(64 << 20) / seconds(8));
  const double other = std::log10((1e-3 + 1e-9 * (64 << 20)) / (1e-3 + 8e-9));
  CHECK(rise("table") / rise("other") == Approx(table / other).epsilon(1e-3));
}
