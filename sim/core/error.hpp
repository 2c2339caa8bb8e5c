// Errors that a user can mend. Each says where, what is wrong, and what would be right.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace allreplay {

/// Where an input stands: the file (or "command line"), and a place in it: a JSON pointer ("/network/alpha"),
/// a line ("line 7"), an option ("--workers"), or nothing for the whole file.
struct SourceLocation {
  std::string file;
  std::string path;

  /// The place of member `key` of the JSON object at this place.
  SourceLocation operator/(std::string_view key) const;
};

/// Bad input. what() is the one line that the user sees: `FILE: PLACE: what is wrong (what would be right)`.
class InputError : public std::runtime_error {
 public:
  InputError(const SourceLocation& place, std::string_view wrong, std::string_view right);
  /// What another one said, whole.
  explicit InputError(const std::string& line);

  // The parts of that line, as they were given.
  const SourceLocation& place() const { return parts_->place; }
  const std::string& wrong() const { return parts_->wrong; }
  const std::string& right() const { return parts_->right; }

 private:
  struct Parts {
    SourceLocation place;
    std::string wrong, right;
  };
  std::shared_ptr<const Parts> parts_;  // an exception is copied without throwing another
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
