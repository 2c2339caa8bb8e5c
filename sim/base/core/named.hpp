// Looks up by name: rows of tables, and enumerations with a word for each value.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// A value of an enumeration, and its name in files, options and outputs.
template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

/// The names of the rows, in the order of the table.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

/// "a, b or c".
std::string choices(const std::vector<std::string>& names);

/// Throw InputError at `place` with the text `wrong`, whose {} is the name, and the nearest known name, or all of them.
[[noreturn]] void fail_with_nearest(std::string_view name, const std::vector<std::string>& known,
                                    const SourceLocation& place, std::string_view wrong);
[[noreturn]] void fail_with_all(std::string_view name, const std::vector<std::string>& known,
                                const SourceLocation& place, std::string_view wrong);

/// The row with that name, or nullptr.
template <class Rows>
auto row_named(const Rows& rows, std::string_view name) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.name == name; });
  return found == std::end(rows) ? nullptr : &*found;
}

/// The row with that name. Fails as fail_with_nearest() with `wrong`, such as "unknown strategy '{}'".
template <class Rows>
const auto& find_by_name(const Rows& rows, std::string_view name, const SourceLocation& place, std::string_view wrong) {
  if (const auto* row = row_named(rows, name)) return *row;
  fail_with_nearest(name, names_of(rows), place, wrong);
}

/// The same for tables with few names: the error lists all of them.
template <class Rows>
const auto& choose_by_name(const Rows& rows, std::string_view name, const SourceLocation& place,
                           std::string_view wrong) {
  if (const auto* row = row_named(rows, name)) return *row;
  fail_with_all(name, names_of(rows), place, wrong);
}

/// The word for a value. REQUIRES: the table has one.
template <class Words, class Enum>
constexpr std::string_view name_of(const Words& words, Enum value) {
  return std::find_if(std::begin(words), std::end(words), [&](const auto& word) { return word.value == value; })->name;
}

}  // namespace allreplay
