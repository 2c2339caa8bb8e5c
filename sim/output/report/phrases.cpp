#include "sim/output/report/phrases.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/output/report/table.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

std::string percent(double ratio) { return sentence_text(cell::percent(ratio)); }

std::string gain_text(double gain) { return sentence_text(cell::gain(gain)); }

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

std::string longer_text(double times) {
  constexpr double hardly = 1.0005;  // below it, percent() shows 0.0 %
  constexpr double plainly = 1.1;    // below it, differences are shown in per cent
  if (times * hardly < 1) return percent(1 - times) + " shorter";
  if (times < hardly) return "as long";
  return times < plainly ? percent(times - 1) + " longer" : fmt::format("{:.2f} times as long", times);
}

std::string runs_text(const JsonValue& runs) {
  std::vector<std::string> texts;
  for (const JsonValue& run : runs) {
    const std::string winner = run.at("winner");
    const auto from = run.at("from").get<std::int64_t>(), to = run.at("to").get<std::int64_t>();
    const std::string where = from == to              ? fmt::format("on {}", from)
                              : &run == &runs.front() ? fmt::format("up to {}", to)
                              : &run == &runs.back()  ? fmt::format("from {} on", from)
                                                      : fmt::format("on {} to {}", from, to);
    texts.push_back(fmt::format("{} {}", winner.empty() ? "nothing fits" : winner, where));
  }
  return listed(std::move(texts));
}

}  // namespace allreplay
