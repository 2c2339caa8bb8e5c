// A topology as pictures show it: in rows from the workers up, equal parts once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/training/link_usage.hpp"

namespace allreplay {

/// A node of the picture.
struct Spot {
  NodeId node = 0;         ///< of several the first
  std::int64_t count = 1;  ///< so many side by side, drawn as one
  std::size_t row = 0;
};

/// A line of the picture, and the links that it stands for.
struct Cable {
  std::size_t a = 0, b = 0;            ///< spots
  std::size_t number = 0, beside = 1;  ///< which of how many between the same two nodes, as from several NICs
  LinkId link = 0;                     ///< from a to b; of several the first
  std::int64_t count = 0, down = 0;
  double there = 0, back = 0;  ///< utilisation: of several the most

  bool is_down() const { return down == count; }
};

/// Spots that stand for so many equal parts of the topology.
struct EqualParts {
  std::vector<std::size_t> spots;
  std::int64_t count = 1;
};

struct SketchRow {
  std::string kind;  ///< of its nodes, as node_kind() has it; "node" where they are of several kinds
  std::int64_t nodes = 0;
};

struct Sketch {
  std::vector<SketchRow> rows;      ///< from the workers up
  std::vector<std::size_t> row_of;  ///< by NodeId
  std::vector<Spot> spots;
  std::vector<Cable> cables;
  std::vector<EqualParts> parts;
};

/// How many spots there may be: in each of several rows, crowded where no fewer will do; or in all where there is one
/// row.
struct SketchLimits {
  std::size_t in_a_row = 32, crowded = 64, alone = 96;
};

/// Rows are by links to the nearest worker, then by kind where kinds have several nodes each. Where a row has too many,
/// parts are drawn once that hang on the same nodes by the same links, used alike; or, where that is not enough, used
/// as they may be; or, in the end, one node of each row.
Sketch sketch_of(const LinkUsage& usage, const SketchLimits& limits = {});

}  // namespace allreplay
