// Errors that a user can mend. Each says where, what is wrong, and what would be right.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace allreplay {

/// Where an input stands: the file (or "command line"), and a place in it: a JSON pointer ("/network/alpha"),
/// a line ("line 7"), an option ("--workers"), or nothing for the whole file.
struct Place {
  std::string file;
  std::string path;

  /// The place of member `key` of the JSON object at this place.
  Place operator/(std::string_view key) const;
};

/// Bad input. what() is the one line that the user sees: `FILE: PLACE: what is wrong (what would be right)`.
class InputError : public std::runtime_error {
 public:
  InputError(const Place& place, std::string_view wrong, std::string_view right);
  /// What another one said, whole.
  explicit InputError(const std::string& line) : std::runtime_error(line) {}
};

/// Times that are each acceptable but together pass the end of the clock.
class TimeOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The candidate nearest to `name` by edit distance, or "" when none is near.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// "did you mean X?", or the list of candidates when none is near.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

}  // namespace allreplay
