// What frameworks call the settings of the strategies that they offer: the rows' Offer, and frameworks by name.
#pragma once

#include <vector>

#include "sim/schedule/strategy.hpp"

namespace allreplay {

extern const Offer offer_s_sgd, offer_wfbp, offer_sync_easgd, offer_optimal_merge, offer_ddp, offer_horovod,
    offer_bytescheduler, offer_us_byte, offer_p3, offer_byteps, offer_dear, offer_fsdp2, offer_fsdp1, offer_composer,
    offer_zero1, offer_zero2, offer_zero3, offer_megatron;

/// A framework, and the strategies that it offers.
struct Framework {
  std::string_view name;
  std::vector<const Strategy*> strategies;
};

/// In the order of the strategies.
std::vector<Framework> frameworks();

/// Also those that train with another framework's strategies.
std::vector<Framework> frameworks_by_any_name();

/// One of frameworks_by_any_name(). Throws InputError at `place`, naming the nearest known one.
Framework find_framework(std::string_view name, const SourceLocation& place);

/// `zero`: sharded by that option. Under a plan of blocks nobody offers that.
Offered offered(const Strategy& strategy, bool zero);

/// What to set, or to do, so that a framework sends what the strategy plans with these options: a line, or lines of
/// code to be pasted. "" where that takes the plan itself: nobody offers it, or not sharded like that.
std::string settings_of(const Strategy& strategy, const StrategyOptions& options, const Profile& profile);

/// The same in one line, for a table's cell; of code that opens with a comment, that.
std::string in_one_line(const std::string& settings);

}  // namespace allreplay
