// Changes that make a training fit into a worker's memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/studies/experiment/request.hpp"

namespace allreplay {

struct MemoryRemedy {
  std::vector<std::string> flags;  ///< of `allreplay run`, in addition to those of the request
  double bytes = 0;                ///< that a worker then needs
};

/// Returns the first of these that fits: everything sharded (fsdp2), recomputation, both; a smaller batch, alone and
/// with both; the smallest batch with both on up to 64 times as many workers. None if nothing does, or for a plan.
std::optional<MemoryRemedy> memory_remedy(Library& library, const Request& request);

}  // namespace allreplay
