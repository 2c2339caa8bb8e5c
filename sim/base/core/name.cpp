#include "sim/base/core/name.hpp"

#include <fmt/format.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr std::string_view starts_of_formulas = "=+-@";

}  // namespace

void require_name(std::string_view name, const SourceLocation& place) {
  if (name.size() > longest_name)
    throw InputError(place, fmt::format("a name of {} bytes", name.size()), fmt::format("at most {}", longest_name));
  if (!is_one_line(name) || name.find_first_of(starts_of_formulas) == 0)
    throw InputError(place, fmt::format("'{}' is not a valid name", name),
                     "one line of text that does not start with = + - or @, which spreadsheets take for a formula");
}

std::string read_name(const Json& json) {
  std::string name = json.text();
  require_name(name, json.place());
  return name;
}

std::string as_name(std::string_view text) {
  std::string name = one_line(text, longest_name);
  if (name.find_first_of(starts_of_formulas) == 0) name[0] = '_';
  return name;
}

}  // namespace allreplay
