// Names of layers, tensors, devices, clusters and strategies, given by people or by other programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"

namespace allreplay {

inline constexpr std::size_t longest_name = 1000;  ///< bytes

/// Throws InputError at `place` unless the name fits into a table, a message and a line of CSV: one line of text, at
/// most longest_name bytes, and nothing that a spreadsheet takes for a formula.
void require_name(std::string_view name, const SourceLocation& place);

/// The string at `json`. Throws InputError unless require_name() accepts it.
std::string read_name(const Json& json);

/// Another program's name for something, made valid: shortened, and with offending characters replaced.
std::string as_name(std::string_view text);

}  // namespace allreplay
