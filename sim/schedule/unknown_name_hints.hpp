// What people ask for by a name that is not there, and what there is instead.
#pragma once

#include <string_view>

#include "sim/core/error.hpp"

namespace allreplay {

/// What stands for every strategy, where a list of them is asked for.
inline constexpr std::string_view every_strategy = "all";

/// Throws InputError at `place` if the word, of a strategy, an option, a codec or a flag, asks for something that
/// nothing here simulates: another parallelism, precision, asynchrony.
void hint_at_what_is_absent(std::string_view word, const SourceLocation& place);

/// The same for a strategy's name, and for what is there under another name, or elsewhere than among strategies.
void hint_at_what_is_no_strategy(std::string_view word, const SourceLocation& place);

}  // namespace allreplay
