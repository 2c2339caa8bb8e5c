// Reduces a topology to a size that a picture can show, rows from the workers up with equal parts drawn once, and
// places its nodes on a slide.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/output/picture/drawing.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

/// A node of the picture.
struct Spot {
  NodeId node = 0;         ///< the first, if it stands for several
  std::int64_t count = 1;  ///< nodes that are drawn as this one
  std::size_t row = 0;
};

/// A line of the picture, and the links that it stands for.
struct Cable {
  std::size_t a = 0, b = 0;  ///< spots
  LinkId link = 0;           ///< from a to b; the first, if it stands for several
  std::int64_t count = 0, down = 0;
  double there = 0, back = 0;  ///< the highest utilisation from a to b, and from b to a

  bool is_down() const { return down == count; }
};

/// A part of the topology that is drawn once for `count` equal ones.
struct EqualParts {
  std::vector<std::size_t> spots;
  std::int64_t count = 1;
};

struct SketchRow {
  std::string kind;  ///< node_kind() of its nodes; "node" if they are of several kinds
  std::int64_t nodes = 0;
};

struct Sketch {
  std::vector<SketchRow> rows;      ///< from the workers up
  std::vector<std::size_t> row_of;  ///< by NodeId
  std::vector<Spot> spots;
  std::vector<Cable> cables;
  std::vector<EqualParts> parts;
};

/// The largest number of spots in a row: `in_a_row`, or `crowded` if that many cannot be avoided; `alone` if there is a
/// single row.
struct SketchLimits {
  std::size_t in_a_row = 32, crowded = 64, alone = 96;
};

/// Sorts nodes into rows by their number of hops to the nearest worker, then by kind if each kind has several nodes. If
/// a row has too many nodes, parts with equal links to the same nodes and equal utilisation are drawn once; if that is
/// not enough, parts with any utilisation; in the end, one node of each row.
Sketch sketch_of(const LinkUsage& usage, const SketchLimits& limits = {});

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
