#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "sim/output/view/topology_sketch.hpp"

namespace allreplay {

namespace {

// Returns where spots stand across the field: workers evenly, others in the middle of those below that they are
// connected to, or evenly in that order if some would be too near to each other.
std::vector<double> places_across(const Sketch& sketch, const Box& field) {
  constexpr double least = 12;
  std::vector<double> x(sketch.spots.size(), field.x + field.width / 2);
  for (std::size_t row = 0; row < sketch.rows.size(); ++row) {
    std::vector<std::size_t> spots;
    for (std::size_t spot = 0; spot < sketch.spots.size(); ++spot)
      if (sketch.spots[spot].row == row) spots.push_back(spot);
    std::vector<std::pair<double, double>> below(sketch.spots.size(), {field.right(), field.x});  // least, greatest
    for (const Cable& cable : sketch.cables)
      for (const auto& [upper, lower] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)})
        if (sketch.spots[upper].row == row && sketch.spots[lower].row < row)
          below[upper] = {std::min(below[upper].first, x[lower]), std::max(below[upper].second, x[lower])};
    for (const std::size_t spot : spots) x[spot] = (below[spot].first + below[spot].second) / 2;
    std::ranges::stable_sort(spots, {}, [&](std::size_t spot) { return x[spot]; });
    bool near = false;
    for (std::size_t i = 1; i < spots.size(); ++i) near = near || x[spots[i]] - x[spots[i - 1]] < least;
    for (std::size_t i = 0; near && i < spots.size(); ++i)
      x[spots[i]] = field.x + field.width * (static_cast<double>(i) + 0.5) / static_cast<double>(spots.size());
  }
  return x;
}

TopologyLayout in_rows(const Sketch& sketch, const Box& field) {
  TopologyLayout layout;
  const auto rows = static_cast<double>(sketch.rows.size());
  const double apart = std::clamp(360 / (rows - 1), 76.0, 120.0);
  for (std::size_t row = 0; row < sketch.rows.size(); ++row)
    layout.row.push_back(field.y + 34 + apart * (rows - 1 - static_cast<double>(row)));
  const std::vector<double> across = places_across(sketch, field);
  for (std::size_t spot = 0; spot < sketch.spots.size(); ++spot)
    layout.at.push_back({across[spot], layout.row[sketch.spots[spot].row]});
  layout.bottom = layout.row.front() + 62;
  return layout;
}

TopologyLayout in_a_grid(const Sketch& sketch, const TorusGrid& grid, const Box& field) {
  TopologyLayout layout;
  const double top = field.y + 26;
  const double left = field.x + (field.width - grid.step * static_cast<double>(grid.abreast * (grid.across + 1))) / 2;
  for (std::size_t node = 0; node < sketch.spots.size(); ++node) {
    layout.at.push_back({left + grid.step * static_cast<double>(grid.column(node) + 1),
                         top + grid.step * static_cast<double>(grid.line(node))});
    layout.bottom = std::max(layout.bottom, layout.at.back().y + 44);
  }
  layout.row = {top};
  return layout;
}

TopologyLayout in_a_circle(const Sketch& sketch, const Box& field) {
  TopologyLayout layout;
  const auto count = static_cast<double>(sketch.spots.size());
  const double size = count == 1 ? 20 : std::clamp(14 * count / (2 * std::numbers::pi), 80.0, 200.0);
  const Position centre{field.x + field.width / 2, field.y + size + 24};
  for (std::size_t i = 0; i < sketch.spots.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / count;
    layout.at.push_back({centre.x + size * std::sin(angle), centre.y - size * std::cos(angle)});
  }
  layout.row = {field.y + 24};
  layout.bottom = centre.y + size + 40;
  return layout;
}

}  // namespace

TorusGrid::TorusGrid(const TopologySpec& spec, double width) {
  if (spec.kind != TopologyKind::Torus || spec.gpus_per_host > 1) return;
  const std::vector<std::int64_t>& sizes = spec.dimensions;
  across = static_cast<std::size_t>(sizes.back());
  down = static_cast<std::size_t>(sizes[sizes.size() - 2]);
  slabs = sizes.size() == 3 ? static_cast<std::size_t>(sizes.front()) : 1;
  abreast = static_cast<std::size_t>(std::ceil(std::sqrt(slabs)));
  const std::size_t lines = (slabs + abreast - 1) / abreast;
  constexpr double least = 8, most = 50, highest = 480;
  const double fits =
      std::min(width / static_cast<double>(abreast * (across + 1)), highest / static_cast<double>(lines * (down + 1)));
  step = fits < least ? 0 : std::min(fits, most);
}

TopologyLayout lay_out(const Sketch& sketch, const TorusGrid& grid, const Box& field) {
  if (sketch.rows.size() > 1) return in_rows(sketch, field);
  return grid.step > 0 ? in_a_grid(sketch, grid, field) : in_a_circle(sketch, field);
}

}  // namespace allreplay
