#include "sim/output/report/phrases.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

// Rounding may leave a time a picosecond below its bound: this prints 0.0 %, not -0.0 %.
std::string percent(double ratio) {
  const std::string text = fmt::format("{:.1f} %", 100 * ratio);
  return text == "-0.0 %" ? text.substr(1) : text;
}

std::string gain_text(double gain) { return fmt::format("{:+.1f} %", 100 * gain); }

std::string workers_text(std::int64_t workers) { return counted(workers, "worker"); }

std::string workers_text(std::int64_t least, std::int64_t most) {
  return least == most ? workers_text(most) : fmt::format("{} to {} workers", least, most);
}

namespace {

bool has_comma_outside_parentheses(std::string_view name) {
  int depth = 0;
  return std::any_of(name.begin(), name.end(), [&](char c) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    return c == ',' && depth == 0;
  });
}

}  // namespace

std::string listed(std::vector<std::string> names, std::size_t most) {
  if (names.size() > most) {
    const std::size_t more = names.size() - (most - 1);
    names.resize(most - 1);
    names.push_back(fmt::format("{} more", more));
  }
  const bool commas = std::any_of(names.begin(), names.end(), has_comma_outside_parentheses);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    if (i > 0) text += commas ? (last ? "; and " : "; ") : last ? " and " : ", ";
    text += names[i];
  }
  return text;
}

int rate_decimals(double per_second) { return per_second < 1 ? 3 : per_second < 10 ? 2 : 1; }

std::string rate_text(const std::optional<double>& samples_per_s, double batches_per_s) {
  const double rate = samples_per_s.value_or(batches_per_s);
  return fmt::format("{:.{}f} {}/s", rate, rate_decimals(rate), samples_per_s ? "samples" : "micro-batches");
}

namespace {

constexpr double hardly = 1.0005;  // below it, percent() shows 0.0 %
constexpr double plainly = 1.1;    // below it, differences are shown in per cent

}  // namespace

std::string longer_text(double times) {
  if (times < hardly) return "as long";
  return times < plainly ? percent(times - 1) + " longer" : fmt::format("{:.2f} times as long", times);
}

}  // namespace allreplay
