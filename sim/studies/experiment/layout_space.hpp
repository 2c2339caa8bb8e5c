// Enumerates the possible layouts of a transformer: degrees, schedules and micro-batches that divide evenly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

/// Why a layout is not possible. Checks are ordered from model to samples; failing a later one counts as nearer.
struct Obstacle {
  int check = 0;
  std::string flag, why;
};

struct Layouts {
  std::vector<ModelLayout> all;
  std::optional<Obstacle> nearest;   ///< the nearest impossible layout; none: no schedule matches
  std::vector<std::string> skipped;  ///< "pp 64: …": degrees that are in no layout, and why
};

/// Returns all layouts of the search. `node`: workers per node, the largest tensor-parallel group.
Layouts layouts_of(const LayoutSearch& search, std::int64_t node);

/// True if layers are cut as by Megatron-LM and torchtitan: equally many blocks in all chunks except the two ends.
bool is_cut_by_a_framework(std::string_view strategy);

}  // namespace allreplay
