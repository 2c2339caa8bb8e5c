// Texts about a scenario that several reports share: titles, options, bounds and caveats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/output/report/table.hpp"
#include "sim/studies/experiment/scaling.hpp"

namespace allreplay {

/// "googlenet_k80_b32 on k80-10gbe: 64 workers, ring, alpha-beta".
std::string title(const Scenario& scenario);

/// The least lower bounds in seconds: of strategies that shard nothing, and of those that shard the optimizer.
struct LeastBounds {
  std::optional<double> any, sharded;
};
LeastBounds least_bounds(const std::vector<Outcome>& outcomes);
/// Describes the codec and the origin of its times; "" without a codec.
std::string codec_text(const Scenario& scenario);

/// Returns a line saying that layer times were reconstructed or estimated, with their source, for pictures; "" for
/// measured and imported profiles.
std::string caveat_with_source(const Profile& profile);

}  // namespace allreplay
