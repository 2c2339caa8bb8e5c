#include <algorithm>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"

#include "sim/output/view/pictures.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

using namespace allreplay;

TEST_CASE("the map of workers has a cell for each, and a frame around them") {
  for (const std::uint32_t replicas : {3u, 200u}) {
    Diagnosis known;
    known.job.graph.stages = 4;
    known.job.graph.replicas = replicas;
    known.by_worker.assign(std::size_t{4} * replicas, 1.0);
    known.by_worker[5] = 1.25;
    known.job.ranks.resize(known.by_worker.size());
    std::iota(known.job.ranks.begin(), known.job.ranks.end(), 0);
    const Drawing drawing = workers_picture(known);
    require_legible(drawing);
    std::size_t cells = 0, frames = 0;
    double left = 1e9, top = 1e9, right = 0, bottom = 0;
    const auto each = [&](auto&& visit) {
      for (const Shape& shape : drawing.shapes)
        if (const auto* one = std::get_if<Rectangle>(&shape)) visit(*one);
    };
    each([&](const Rectangle& one) {
      if (one.meaning.kind != "worker") return;
      ++cells;
      left = std::min(left, one.box.x), right = std::max(right, one.box.right());
      top = std::min(top, one.box.y), bottom = std::max(bottom, one.box.bottom());
    });
    each([&](const Rectangle& one) {
      frames += !one.look.fill && one.look.line && one.box.x == Approx(left) && one.box.y == Approx(top) &&
                one.box.right() == Approx(right) && one.box.bottom() == Approx(bottom);
    });
    CHECK(cells == std::size_t{4} * replicas);
    CHECK(frames == 1);
  }
}
