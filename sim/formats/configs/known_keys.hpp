// Keys of frameworks' configurations that the readers do not look for, and misspelt ones.
#pragma once

#include <string_view>
#include <vector>

#include "sim/formats/configs/config_file.hpp"
#include "sim/formats/configs/entries.hpp"

namespace allreplay {

/// Sorts the keys that no reader looked for: those that are known to be harmless are ignored, all others are unknown.
/// Throws InputError for one that differs by a slip from a key that matters.
void sort_unread(const Entries& entries, std::string_view format, ConfigFile& config);

/// The keys of a format that matter only together with others.
std::vector<std::string_view> conditional_keys(std::string_view format);

}  // namespace allreplay
