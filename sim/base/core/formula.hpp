// Formulas of named numbers in users' files: "ceil(elements * bits / 8) + 4".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// Numbers, names, + - * /, parentheses, min, max and ceil. Nothing else: a formula ends, and touches nothing.
class Formula {
 public:
  /// Throws InputError at `place`, also for a name that is not in `names`.
  Formula(std::string text, std::vector<std::string_view> names, SourceLocation place);

  /// The value; `values` are those of the names, in their order. May be infinite or not a number.
  double operator()(std::span<const double> values) const;

  /// True if the name, by its place among the names, occurs in it.
  bool uses(std::size_t name) const { return used_[name]; }
  const std::string& text() const { return text_; }
  const SourceLocation& place() const { return place_; }

 private:
  std::string text_;
  std::vector<std::string_view> names_;
  SourceLocation place_;
  std::vector<bool> used_;
};

}  // namespace allreplay
