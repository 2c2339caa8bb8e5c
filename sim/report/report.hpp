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
/// "lower bound of any schedule without shards: 417.4 ms; of sharded ones, each its own: 416.4 ms to 420 ms"; "" where
/// none has one.
std::string bounds_text(const std::vector<Outcome>& outcomes);

/// Whether memory is among what there is to compare: some shard, or there is a limit.
bool shows_memory(const std::vector<Outcome>& outcomes);
/// Whose memory is the limit, or that there is none, and what memory is without; `shown`: so is memory.
std::string limit_note(const Outcome& one, bool shown);
/// Why an efficiency stands above 100 %, where one does; else "". A reference for each outcome.
std::string efficiency_note(const std::vector<Outcome>& outcomes, const std::vector<ScalingReference>& references);
/// What the numbers do not promise: who wins by chance, and what a search did not look at.
std::string doubts(const std::vector<Outcome>& outcomes);

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
