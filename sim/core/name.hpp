// Names that people gave, and other programs: of layers, tensors, devices, clusters, strategies.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/core/error.hpp"
#include "sim/core/json.hpp"

namespace allreplay {

inline constexpr std::size_t longest_name = 1000;  ///< bytes

/// Throws InputError at `place` unless the name can stand in a table, in a message and in a line of CSV: one line of
/// text, not too long, and no formula to a spreadsheet.
void require_name(std::string_view name, const SourceLocation& place);

/// The text there, a name. Throws InputError.
std::string read_name(const Json& json);

/// What another program called something, made a name.
std::string as_name(std::string_view text);

}  // namespace allreplay
