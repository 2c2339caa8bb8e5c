// Answers to unknown names that users are likely to try, with what to use instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// The word for all strategies in a list of strategies.
inline constexpr std::string_view every_strategy = "all";

/// A word of a framework in ours: "is FSDP in groups of workers", "fsdp2 --shard-group F".
struct NameHint {
  std::string wrong, right;
};
/// The hint on a word that is not the name of a strategy; none: nobody uses it.
std::optional<NameHint> hint_on_word(std::string_view word);

/// Throws InputError at `place` if the word, given as a strategy, option, codec or flag, asks for something that is not
/// simulated or is set elsewhere, such as precision or asynchronous training.
void hint_at_absent_name(std::string_view word, const SourceLocation& place);

/// The same for a word given as a strategy; also answers words that exist under another name or are not strategies.
void hint_at_non_strategy(std::string_view word, const SourceLocation& place);

}  // namespace allreplay
