#include "sim/output/view/topology_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

namespace allreplay {

namespace {

// Divides the width recursively: spots connected within a row and those below it get a share of their own.
class Stretches {
 public:
  Stretches(const Sketch& sketch, const Box& field)
      : sketch_(sketch), beside_(sketch.spots.size()), x_(sketch.spots.size()) {
    for (const Cable& cable : sketch.cables) {
      beside_[cable.a].push_back(cable.b);
      beside_[cable.b].push_back(cable.a);
    }
    std::vector<std::size_t> all(sketch.spots.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    place(all, sketch.rows.size() - 1, field.x, field.width);
  }
  double x(std::size_t spot) const { return x_[spot]; }

 private:
  using Spots = std::vector<std::size_t>;

  Spots of_row(const Spots& spots, std::size_t row) const {
    Spots own;
    for (const std::size_t spot : spots)
      if (sketch_.spots[spot].row == row) own.push_back(spot);
    return own;
  }

  // Returns the connected components of these spots below a row.
  std::vector<Spots> below(const Spots& spots, std::size_t row) const {
    std::vector<Spots> parts;
    std::vector<bool> left(sketch_.spots.size(), false);
    for (const std::size_t spot : spots) left[spot] = sketch_.spots[spot].row < row;
    for (const std::size_t start : spots) {
      if (!left[start]) continue;
      Spots part{start};
      left[start] = false;
      for (std::size_t i = 0; i < part.size(); ++i)
        for (const std::size_t next : beside_[part[i]])
          if (left[next]) left[next] = false, part.push_back(next);
      std::sort(part.begin(), part.end());
      parts.push_back(std::move(part));
    }
    return parts;
  }

  // Returns the width that the spots need: the most that stand side by side, and one more for each frame.
  double weight(const Spots& spots, std::size_t row) {
    const auto [known, fresh] = weights_.emplace(std::pair(row, spots.front()), 0.0);
    if (!fresh) return known->second;
    double sum = 0;
    if (row > 0)
      for (const Spots& part : below(spots, row)) sum += weight(part, row - 1);
    const bool framed = std::any_of(sketch_.parts.begin(), sketch_.parts.end(),
                                    [&](const EqualParts& part) { return part.spots == spots; });
    return known->second = std::max(static_cast<double>(of_row(spots, row).size()), sum) + (framed ? 1 : 0);
  }

  void place(const Spots& spots, std::size_t row, double left, double width) {
    const Spots own = of_row(spots, row);
    for (std::size_t i = 0; i < own.size(); ++i)
      x_[own[i]] = left + width * (static_cast<double>(i) + 0.5) / static_cast<double>(own.size());
    if (row == 0) return;
    const std::vector<Spots> parts = below(spots, row);
    double sum = 0;
    for (const Spots& part : parts) sum += weight(part, row - 1);
    for (const Spots& part : parts) {
      const double share = width * weight(part, row - 1) / sum;
      place(part, row - 1, left, share);
      left += share;
    }
  }

  const Sketch& sketch_;
  std::vector<Spots> beside_;
  std::vector<double> x_;
  std::map<std::pair<std::size_t, std::size_t>, double> weights_;  // by row and first spot
};

TopologyLayout in_rows(const Sketch& sketch, const Box& field) {
  TopologyLayout layout;
  const auto rows = static_cast<double>(sketch.rows.size());
  const double apart = std::clamp(360 / (rows - 1), 76.0, 120.0);
  for (std::size_t row = 0; row < sketch.rows.size(); ++row)
    layout.row.push_back(field.y + 34 + apart * (rows - 1 - static_cast<double>(row)));
  const Stretches stretches(sketch, field);
  for (std::size_t spot = 0; spot < sketch.spots.size(); ++spot)
    layout.at.push_back({stretches.x(spot), layout.row[sketch.spots[spot].row]});
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
