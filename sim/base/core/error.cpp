#include "sim/base/core/error.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// Formats an error as one line of limited length without control characters, whatever the input contains.
std::string message(const SourceLocation& place, std::string_view wrong, std::string_view right) {
  constexpr std::size_t longest_path = 4096, longest_part = 1000;  // bytes
  std::string line = one_line(place.file, longest_path);
  if (!place.path.empty()) line += ": " + one_line(place.path, longest_part);
  line += ": " + one_line(wrong, longest_part);
  if (!right.empty()) line += " (" + one_line(right, longest_part) + ")";
  return line;
}

int lower(char c) { return std::tolower(static_cast<unsigned char>(c)); }

// The fewest letters inserted, removed, replaced or swapped with the next, ignoring case (optimal string alignment).
// Keeps three rows of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto is_same = [&](std::size_t x, std::size_t y) { return lower(a[x - 1]) == lower(b[y - 1]); };
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && is_same(i, j - 1) && is_same(i - 1, j)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string member_path(std::string_view path, std::string_view key) {
  std::string whole;
  whole.reserve(path.size() + 1 + key.size());
  whole.append(path).push_back('/');
  for (const char c : key)
    if (c == '~' || c == '/')
      whole += c == '~' ? "~0" : "~1";  // RFC 6901
    else
      whole += c;
  return whole;
}

SourceLocation SourceLocation::operator/(std::string_view key) const { return {file, member_path(path, key)}; }

InputError::InputError(const SourceLocation& place, std::string_view wrong, std::string_view right)
    : std::runtime_error(message(place, wrong, right)),
      parts_(std::make_shared<const Parts>(Parts{place, std::string(wrong), std::string(right)})) {}

InputError::InputError(const std::string& line)
    : std::runtime_error(line), parts_(std::make_shared<const Parts>(Parts{{}, line, ""})) {}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  constexpr std::size_t longest = 200;  // bytes; a longer text is not a misspelt name
  if (name.size() > longest) return best;
  std::size_t least = longest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t most = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance < least && distance <= most) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

namespace {

// "known: a, b, …", of `what`: known or similar.
std::string named_list(std::string_view what, std::span<const std::string> candidates) {
  constexpr std::size_t most = 160;  // characters
  std::size_t shown = 0;
  for (std::size_t length = 0; shown < candidates.size(); ++shown)
    if ((length += candidates[shown].size() + 2) > most) break;
  return fmt::format("{}: {}{}", what, fmt::join(candidates.first(shown), ", "),
                     shown == candidates.size() ? "" : ", …");
}

std::string kind_of(std::string_view name) { return std::string(name.substr(0, name.find('_'))); }

// The candidates whose part before the first underscore is nearest to that of `name`: "resnet50_k80_b16" and others
// that start with "resnet50_" for "resnet51".
std::vector<std::string> candidates_of_nearest_kind(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::string> kinds, similar;
  for (const std::string& one : candidates) kinds.push_back(kind_of(one));
  const std::string kind = nearest(kind_of(name), kinds);
  for (std::size_t i = 0; i < kinds.size() && !kind.empty(); ++i)
    if (kinds[i] == kind) similar.push_back(candidates[i]);
  return similar;
}

}  // namespace

std::string suggest(std::string_view name, std::span<const std::string> candidates) {
  const std::string best = nearest(name, candidates);
  if (!best.empty()) return fmt::format("did you mean '{}'?", best);
  if (candidates.empty()) return "there is none to choose from";
  // Candidates that begin with the name are the likeliest, then those that contain it.
  std::vector<std::string> begin, contain;
  for (const std::string& one : candidates) {
    const std::size_t at = name.empty() ? std::string::npos : one.find(name);
    if (at == 0) begin.push_back(one);
    if (at != std::string::npos) contain.push_back(one);
  }
  std::vector<std::string>& similar = begin.empty() ? contain : begin;
  if (similar.empty()) similar = candidates_of_nearest_kind(name, candidates);
  if (similar.size() == 1) return fmt::format("did you mean '{}'?", similar[0]);
  return similar.empty() ? named_list("known", candidates) : named_list("similar", similar);
}

}  // namespace allreplay
