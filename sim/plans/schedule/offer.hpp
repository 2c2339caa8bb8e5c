// Frameworks and their own names for strategies and settings.
#pragma once

#include <vector>

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

extern const Offer offer_s_sgd, offer_wfbp, offer_sync_easgd, offer_optimal_merge, offer_ddp, offer_horovod,
    offer_bytescheduler, offer_us_byte, offer_p3, offer_byteps, offer_dear, offer_fsdp2, offer_fsdp1, offer_composer,
    offer_simple_fsdp, offer_zero1, offer_zero2, offer_zero3, offer_megatron, offer_megatron_fsdp, offer_local_sgd,
    offer_diloco;

/// A framework and the strategies that it implements.
struct Framework {
  std::string_view name;
  std::vector<const Strategy*> strategies;
};

/// In the order of the strategies.
std::vector<Framework> frameworks();

/// Includes frameworks that train with another framework's strategies.
std::vector<Framework> frameworks_by_any_name();

/// Finds one of frameworks_by_any_name(). Throws InputError at `place`, naming the nearest known one.
Framework find_framework(std::string_view name, const SourceLocation& place);

/// Returns how the strategy can be run. `zero`: sharded by option --zero, which no framework has for a plan of blocks.
Offered offered(const Strategy& strategy, bool zero);

/// The strategy that has replaced those that are Offered::Replaced.
inline constexpr std::string_view replacement = "fsdp2";

/// Returns settings, or code to paste, that make a framework send what the strategy plans; "" if there are none.
std::string settings_of(const Strategy& strategy, const StrategyOptions& options, const Profile& profile);

/// Shortens settings to one line for a table; code that begins with a comment becomes that comment.
std::string in_one_line(const std::string& settings);

}  // namespace allreplay
