// Places the nodes of a sketched topology on a slide.
#pragma once

#include <string>
#include <vector>

#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/output/picture/drawing.hpp"
#include "sim/output/view/topology_sketch.hpp"

namespace allreplay {

/// The grid of a torus: each row runs along the last dimension. With three dimensions there is a slab for each
/// coordinate of the first, side by side.
struct TorusGrid {
  std::size_t across = 0, down = 1, slabs = 1;
  std::size_t abreast = 1;  ///< slabs side by side
  double step = 0;          ///< between neighbours, in pixels; 0 if there is no room or it is not a torus

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

/// Lays out the spots across the width of `field`, from its top down. A topology with several rows has the workers at
/// the bottom, and switches above what they connect. A torus becomes its grid if there is room; anything else with a
/// single row becomes a circle.
TopologyLayout lay_out(const Sketch& sketch, const TorusGrid& grid, const Box& field);

}  // namespace allreplay
