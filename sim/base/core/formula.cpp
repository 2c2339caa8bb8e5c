#include "sim/base/core/formula.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

// sum: product {(+|-) product}; product: factor {(*|/) factor}; factor: -factor, (sum), number, name, function(sum, …).
class FormulaReader {
 public:
  FormulaReader(std::string_view text, std::span<const std::string_view> names, std::span<const double> values,
                const SourceLocation& place, std::vector<bool>* used)
      : left_(text), names_(names), values_(values), place_(place), used_(used) {}

  double value() {
    const double result = sum();
    if (!left_.empty()) fail(fmt::format("cannot be read from '{}' on", left_));
    return result;
  }

 private:
  double sum() {
    double result = product();
    while (true)
      if (take("+"))
        result += product();
      else if (take("-"))
        result -= product();
      else
        return result;
  }

  double product() {
    double result = factor();
    while (true)
      if (take("*"))
        result *= factor();
      else if (take("/"))
        result /= factor();
      else
        return result;
  }

  double factor() {
    if (take("-")) return -factor();
    if (take("(")) return ended(sum());
    if (take("ceil(")) return std::ceil(ended(sum()));
    for (const bool least : {true, false})
      if (take(least ? "min(" : "max(")) {
        double result = sum();
        while (take(",")) result = least ? std::min(result, sum()) : std::max(result, sum());
        return ended(result);
      }
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const std::string_view word = left_.substr(0, std::ranges::find_if_not(left_, is_letter) - left_.begin());
    double result = 0;
    if (const auto name = std::ranges::find(names_, word); name != names_.end()) {
      const auto index = static_cast<std::size_t>(name - names_.begin());
      result = values_[index];
      if (used_) (*used_)[index] = true;
      left_.remove_prefix(word.size());
    } else if (const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), result);
               word.empty() && error == std::errc()) {
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    } else {
      fail(left_.empty() ? "ends too early" : fmt::format("cannot be read from '{}' on", left_));
    }
    take("");
    return result;
  }

  // Takes the sign, and blanks around it.
  bool take(std::string_view sign) {
    const auto skip = [&] { left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size())); };
    skip();
    if (!left_.starts_with(sign)) return false;
    left_.remove_prefix(sign.size());
    skip();
    return true;
  }

  double ended(double result) {
    if (!take(")")) fail(left_.empty() ? "lacks a ')'" : fmt::format("lacks a ')' before '{}'", left_));
    return result;
  }

  [[noreturn]] void fail(const std::string& wrong) const {
    throw InputError(place_, wrong, fmt::format("numbers, {}, min(), max(), ceil(), + - * /", fmt::join(names_, ", ")));
  }

  std::string_view left_;
  std::span<const std::string_view> names_;
  std::span<const double> values_;
  const SourceLocation& place_;
  std::vector<bool>* used_;
};

}  // namespace

Formula::Formula(std::string text, std::vector<std::string_view> names, SourceLocation place)
    : text_(std::move(text)), names_(std::move(names)), place_(std::move(place)), used_(names_.size(), false) {
  constexpr std::size_t most = 1000;  // characters, which bounds the depth
  if (text_.size() > most) throw InputError(place_, "is too long", fmt::format("at most {} characters", most));
  FormulaReader(text_, names_, std::vector<double>(names_.size(), 1), place_, &used_).value();
}

double Formula::operator()(std::span<const double> values) const {
  return FormulaReader(text_, names_, values, place_, nullptr).value();
}

}  // namespace allreplay
