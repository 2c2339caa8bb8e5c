// Which layouts of a transformer are possible: degrees, schedules and micro-batches that divide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/experiment/layouts.hpp"

namespace allreplay {

/// Why a layout is not possible. The checks go from the model to the samples: who fails at a later one comes nearer.
struct Obstacle {
  int check = 0;
  std::string flag, why;
};

struct Layouts {
  std::vector<ModelLayout> all;
  std::optional<Obstacle> nearest;   ///< of what is not possible that which comes nearest; none: nothing was asked
  std::vector<std::string> skipped;  ///< "pp 64: …": degrees that no layout has, and why
};

/// All layouts of the search. `node`: workers of a node, inside which tensor groups stay.
Layouts layouts_of(const LayoutSearch& search, std::int64_t node);

/// True if layers are cut as Megatron-LM and torchtitan cut them: equally many blocks in each chunk but the first and
/// the last.
bool is_cut_by_a_framework(std::string_view strategy);

}  // namespace allreplay
