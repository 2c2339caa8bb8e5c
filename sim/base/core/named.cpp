#include "sim/base/core/named.hpp"

#include <fmt/format.h>

namespace allreplay {

std::string choices(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

void fail_with_nearest(std::string_view name, const std::vector<std::string>& known, const SourceLocation& place,
                       std::string_view wrong) {
  throw InputError(place, fmt::format(fmt::runtime(wrong), name), suggest(name, known));
}

void fail_with_all(std::string_view name, const std::vector<std::string>& known, const SourceLocation& place,
                   std::string_view wrong) {
  throw InputError(place, fmt::format(fmt::runtime(wrong), name), choices(known));
}

}  // namespace allreplay
