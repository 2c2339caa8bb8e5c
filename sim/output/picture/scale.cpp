#include "sim/output/picture/scale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr double slack = 1e-9;  // of a step: tolerance for rounding

// The least of 1, 2, 5 times a power of ten that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - slack)) return factor * power;
  return 10 * power;
}

}  // namespace

std::string plain_number(double value) {
  std::string text = fmt::format("{:.6g}", value);
  if (const std::size_t e = text.find('e'); e != std::string::npos) {
    const std::string sign = text[e + 1] == '-' ? "-" : "";
    text = text.substr(0, e + 1) + sign + text.substr(std::min(text.find_first_not_of("+-0", e + 1), text.size() - 1));
  }
  return text;
}

Scale::Scale(const ChartAxis& axis, double least, double greatest, std::size_t most) {
  least = std::min(axis.from.value_or(least), axis.to.value_or(least));
  greatest = std::max(axis.to.value_or(greatest), axis.from.value_or(greatest));
  if (axis.from) least = *axis.from;
  if (axis.to) greatest = *axis.to;
  logarithmic_ = axis.spacing != Spacing::Linear;
  if (!std::isfinite(least) || !std::isfinite(greatest) || (logarithmic_ && !(least > 0)))
    throw std::logic_error(fmt::format("an axis cannot show {} to {}", least, greatest));
  most = std::max<std::size_t>(most, 2);
  if (!axis.ticks.empty())
    make_given(axis);
  else if (logarithmic_)
    make_logarithmic(axis, least, greatest, most, axis.spacing == Spacing::Log2 ? 2 : 10);
  else
    make_linear(axis, least, greatest, most);
}

double Scale::share(double value) const {
  const double at = logarithmic_ ? std::log(value) : value;
  const double from = logarithmic_ ? std::log(from_) : from_, to = logarithmic_ ? std::log(to_) : to_;
  return (at - from) / (to - from);
}

void Scale::make_given(const ChartAxis& axis) {
  ticks_ = axis.ticks;
  from_ = axis.from.value_or(ticks_.front());
  to_ = axis.to.value_or(ticks_.back());
  if (to_ > from_) return;
  from_ = logarithmic_ ? from_ / 2 : from_ - 1;  // a single tick is in the middle
  to_ = logarithmic_ ? to_ * 2 : to_ + 1;
}

void Scale::make_linear(const ChartAxis& axis, double least, double greatest, std::size_t most) {
  if (!axis.from && axis.from_zero) least = std::min(least, 0.0);
  if (!axis.to && axis.from_zero) greatest = std::max(greatest, 0.0);
  if (!(greatest > least)) greatest = least + std::max(1.0, std::abs(least));
  const double step = round_step((greatest - least) / static_cast<double>(most - 1));
  from_ = axis.from ? least : std::floor(least / step + slack) * step;
  to_ = axis.to ? greatest : std::ceil(greatest / step - slack) * step;
  for (double i = std::ceil(from_ / step - slack) + 0.0; i * step <= to_ + slack * step; ++i)
    ticks_.push_back(i * step);
}

// Ticks at powers of the base, or at every second, third, … of them; in less than two decades, or if there would be
// fewer than three, also at 2 and 5 times powers of ten.
void Scale::make_logarithmic(const ChartAxis& axis, double least, double greatest, std::size_t most, double base) {
  const bool decades = base == 10;
  std::size_t shown = 0;
  if (!decades || std::log10(greatest / least) >= 2.2) shown = make_multiples(axis, least, greatest, most, base, {1});
  if (decades && shown < 3) shown = make_multiples(axis, least, greatest, most, base, {1, 2, 5});
  if (shown < std::min<std::size_t>(most, 3)) make_evenly_spaced_ticks(most, base);
}

// Returns the number of multiples on the axis, of which at most `most` become ticks.
std::size_t Scale::make_multiples(const ChartAxis& axis, double least, double greatest, std::size_t most, double base,
                                  const std::vector<double>& factors) {
  const auto exponent = [&](double value) { return std::log(value) / std::log(base); };
  std::vector<double> all;
  for (double power = std::floor(exponent(least) + slack); power <= std::ceil(exponent(greatest) - slack); ++power)
    for (const double factor : factors) all.push_back(factor * std::pow(base, power));
  if (all.size() == 1) all.push_back(all[0] * base);
  // The axis begins at the last multiple before everything that is shown, and ends at the first one after it.
  auto first = std::upper_bound(all.begin(), all.end(), least * (1 + slack));
  if (first != all.begin()) --first;
  auto last = std::lower_bound(all.begin(), all.end(), greatest * (1 - slack));
  if (last == all.end()) --last;
  if (first == last) last == all.end() - 1 ? --first : ++last;
  from_ = axis.from.value_or(*first);
  to_ = axis.to.value_or(*last);
  const auto count = static_cast<std::size_t>(last - first) + 1;
  const std::size_t every = (count + most - 1) / most;
  std::size_t shown = 0;
  ticks_.clear();
  for (auto tick = first; tick <= last; ++tick) {
    if (*tick < from_ * (1 - slack) || *tick > to_ * (1 + slack)) continue;
    ++shown;
    if (static_cast<std::size_t>(tick - first) % every == 0) ticks_.push_back(*tick);
  }
  return shown;
}

// Ticks at equal distances, for an axis with room for few powers: quarters or halves between two powers of two.
void Scale::make_evenly_spaced_ticks(std::size_t most, double base) {
  double step = round_step((to_ - from_) / static_cast<double>(most));
  if (base == 2 && ticks_.size() == 2 && ticks_.front() == from_ && ticks_.back() == to_)
    step = (to_ - from_) / (most >= 5 ? 4 : 2);
  ticks_.clear();
  for (double i = std::ceil(from_ / step - slack); i * step <= to_ * (1 + slack); ++i) ticks_.push_back(i * step);
}

}  // namespace allreplay
