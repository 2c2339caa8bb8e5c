// Texts about a scenario that several reports share: titles, options, bounds and caveats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/scaling.hpp"
#include "sim/report/table.hpp"

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

/// Returns "bucket_cap=25MiB, window=1", without blanks in values, so that they can be pasted into commands.
std::string options_text(const NamedValues& options);

/// Returns a line saying that layer times were reconstructed or estimated; "" for measured and imported profiles.
std::string caveat(const Profile& profile);
std::string caveat(const std::string& profile, const std::string& origin);
/// Returns the same line with the source of the times, for pictures.
std::string caveat_with_source(const Profile& profile);

}  // namespace allreplay
