// Reduces a topology to a size that a picture can show: rows from the workers up, with equal parts drawn once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace allreplay
