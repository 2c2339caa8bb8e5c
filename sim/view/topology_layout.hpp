// Where the nodes of a sketched topology stand on a slide.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/topology_spec.hpp"
#include "sim/picture/drawing.hpp"
#include "sim/view/topology_sketch.hpp"

namespace allreplay {

/// A torus: rows of its last dimension; of three dimensions a slab for each place in the first, side by side.
struct TorusGrid {
  std::size_t across = 0, down = 1, slabs = 1;
  std::size_t abreast = 1;  ///< slabs
  double step = 0;          ///< between neighbours, pixels; 0 where they have no room, and of what is no torus

  TorusGrid(const TopologySpec& spec, double width);

  std::size_t slab(std::size_t node) const { return node / (across * down); }
  std::size_t column(std::size_t node) const { return slab(node) % abreast * (across + 1) + node % across; }
  std::size_t line(std::size_t node) const { return slab(node) / abreast * (down + 1) + node / across % down; }
};

struct TopologyLayout {
  std::vector<Position> at;  ///< by spot
  std::vector<double> row;   ///< heights
  double bottom = 0;
};

/// Below the top of `field`, as wide as that: several rows one above the other, the workers at the bottom, where what
/// hangs together below a row has a stretch of the width to itself; a torus on its grid, where that has room; else a
/// circle.
TopologyLayout lay_out(const Sketch& sketch, const TorusGrid& grid, const Box& field);

}  // namespace allreplay
