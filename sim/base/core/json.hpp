// Reads JSON that people wrote: every value knows its place in the file, so that every error can state it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

class Files;

/// A value in a parsed file. Cheap to copy; keeps its document alive. Every member function that reads throws
/// InputError, with the file and the JSON pointer, if the value is of another kind.
class Json {
 public:
  /// Throws InputError if the file cannot be read or is not JSON, or if an object has a key twice.
  static Json read(const Files& files, const std::string& file);
  static Json parse(std::string_view text, const std::string& file);

  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;

  // Objects.
  Json at(std::string_view key) const;
  std::optional<Json> find(std::string_view key) const;
  std::vector<std::pair<std::string, Json>> members() const;
  /// Throws InputError, with the nearest of `keys`, if the object has any other key.
  void allow_only(std::span<const std::string_view> keys) const;
  void allow_only(std::initializer_list<std::string_view> keys) const {
    allow_only(std::span(keys.begin(), keys.size()));
  }

  std::vector<Json> items() const;  // arrays

  std::string text() const;
  double number() const;  ///< finite
  /// Accepts any 64-bit number in digits, and one with a point or an exponent (1e6) if a double holds it exactly.
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  /// The same without limits; nothing if the value is not a whole number.
  std::optional<std::int64_t> whole() const;
  bool boolean() const;
  // Strings with a unit (units.hpp).
  double duration() const;
  Bytes size() const;
  double rate() const;
  double per_byte() const;

  /// The value as JSON on one line.
  std::string dump() const;

  SourceLocation place() const;
  [[noreturn]] void fail(std::string_view wrong, std::string_view right) const;

 private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const void* value, std::string path);
  Json child(const void* value, std::string_view key) const;
  std::string kind() const;

  std::shared_ptr<const Document> document_;
  const void* value_;
  std::string path_;
};

}  // namespace allreplay
