// What people read of one run, and notes that other reports share.
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

/// In seconds: that of any schedule that shards nothing, and the least of the sharded ones, of which each has its own.
struct LeastBounds {
  std::optional<double> any, sharded;
};
LeastBounds least_bounds(const std::vector<Outcome>& outcomes);
/// What compresses, and whose times those are; "" without a codec.
std::string codec_text(const Scenario& scenario);

/// "bucket_cap=25MiB, window=1": a value without its blank can be copied into a command.
std::string options_text(const NamedValues& options);

/// "" for measured and imported profiles; otherwise the line that tells readers what these times are.
std::string caveat(const Profile& profile);
std::string caveat(const std::string& profile, const std::string& origin);
/// The same with what they were made from, for pictures.
std::string caveat_with_source(const Profile& profile);

}  // namespace allreplay
