// Errors that a user can fix. Each states the place, what is wrong, and what would be right.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace allreplay {

/// The JSON pointer of member `key` of the object at `path`.
std::string member_path(std::string_view path, std::string_view key);

/// A place in an input: the file (or "command line"), and within it a JSON pointer ("/network/alpha"), a line
/// ("line 7"), an option ("--workers"), or nothing for the whole file.
struct SourceLocation {
  std::string file;
  std::string path;

  /// The place of member `key` of the JSON object at this place.
  SourceLocation operator/(std::string_view key) const;

  bool operator==(const SourceLocation&) const = default;
};

/// Bad input. what() is the one line that the user sees: `FILE: PLACE: what is wrong (what would be right)`.
class InputError : public std::runtime_error {
 public:
  InputError(const SourceLocation& place, std::string_view wrong, std::string_view right);
  /// Repeats the what() of another InputError, whose parts are not known.
  explicit InputError(const std::string& line);

  // The arguments of the constructor, unabridged.
  const SourceLocation& place() const { return parts_->place; }
  const std::string& wrong() const { return parts_->wrong; }
  const std::string& right() const { return parts_->right; }

 private:
  struct Parts {
    SourceLocation place;
    std::string wrong, right;
  };
  std::shared_ptr<const Parts> parts_;  // shared, since copying an exception must not throw
};

/// Times that are valid by themselves but whose sum or product exceeds the range of Time.
class TimeOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The candidate nearest to `name` by edit distance, or "" if none is near.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// "did you mean X?", or the list of candidates if none is near.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

}  // namespace allreplay
