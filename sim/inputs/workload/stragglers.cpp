#include "sim/inputs/workload/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"

namespace allreplay {

double deviation(JitterKind kind, double sigma, double z) {
  return kind == JitterKind::LogNormal ? std::exp(sigma * z - sigma * sigma / 2) : std::max(0.0, 1 + sigma * z);
}

double Jitter::draw(Random& random) const {
  if (kind == JitterKind::Uniform) return std::max(0.0, 1 + sigma * std::sqrt(3.0) * (2 * random.uniform() - 1));
  return deviation(kind, sigma, random.normal());
}

double Spread::factor(double z) const { return deviation(kind, sigma, z); }

double Spread::of(std::int64_t worker) const {
  return factor(Random(*seed, static_cast<std::uint64_t>(worker)).normal());
}

// The largest of N has the density N·φ(z)·Φ(z)^(N−1). It is analytic and vanishes at both ends, so that the trapezoidal
// rule converges faster than any power of its step (Trefethen and Weideman, SIAM Review 2014).
double Spread::expected_largest(std::int64_t workers) const {
  if (sigma == 0) return 1;
  constexpr double step = 1.0 / 64, end = 12;
  const double density = static_cast<double>(workers) / std::sqrt(2 * M_PI);
  double sum = 0;
  for (int i = -static_cast<int>(end / step); i <= static_cast<int>(end / step); ++i) {
    const double z = i * step, above = std::erfc(z / M_SQRT2) / 2;
    const double others = workers == 1 ? 1 : std::exp(static_cast<double>(workers - 1) * std::log1p(-above));
    const double value = kind == JitterKind::LogNormal ? std::exp(sigma * z - sigma * sigma / 2) : z;
    sum += value * std::exp(-z * z / 2) * others;
  }
  const double mean = sum * density * step;
  return kind == JitterKind::LogNormal ? mean : 1 + sigma * mean;
}

namespace {

Slowdown read_slowdown(const Json& json, std::int64_t workers) {
  json.allow_only({"worker", "slowdown"});
  Slowdown slow{json.at("worker").integer(0, std::int64_t{1} << 32), json.at("slowdown").number()};
  if (slow.worker >= workers)
    json.at("worker").fail(fmt::format("there is no worker {}", slow.worker),
                           fmt::format("0 to {} with {} workers", workers - 1, workers));
  if (!(slow.factor > 0 && slow.factor <= 1e6))
    json.at("slowdown").fail(fmt::format("{} is not a slowdown", slow.factor), "a factor above 0, such as 1.5");
  return slow;
}

Jitter read_jitter(const Json& json) {
  json.allow_only({"distribution", "sigma", "seed"});
  Jitter jitter;
  constexpr Word<JitterKind> kinds[] = {
      {JitterKind::Normal, "normal"}, {JitterKind::LogNormal, "lognormal"}, {JitterKind::Uniform, "uniform"}};
  const Json distribution = json.at("distribution");
  jitter.kind = choose_by_name(kinds, distribution.text(), distribution.place(), "unknown distribution '{}'").value;
  jitter.sigma = json.at("sigma").number();
  if (!(jitter.sigma >= 0 && jitter.sigma <= 10))
    json.at("sigma").fail(fmt::format("{} is not a relative deviation", jitter.sigma), "0 to 10, such as 0.05");
  if (const auto seed = json.find("seed"))
    jitter.seed = static_cast<std::uint64_t>(seed->integer(0, std::int64_t{1} << 53));
  return jitter;
}

Spread read_spread(const Json& json) {
  json.allow_only({"distribution", "sigma", "seed"});
  Spread spread;
  constexpr Word<JitterKind> kinds[] = {{JitterKind::Normal, "normal"}, {JitterKind::LogNormal, "lognormal"}};
  if (const auto kind = json.find("distribution"))
    spread.kind = choose_by_name(kinds, kind->text(), kind->place(), "unknown distribution '{}'").value;
  spread.sigma = json.at("sigma").number();
  if (!(spread.sigma >= 0 && spread.sigma <= 1))
    json.at("sigma").fail(fmt::format("{} is not a valid spread", spread.sigma), "0 to 1, such as 0.024");
  if (const auto seed = json.find("seed"))
    spread.seed = static_cast<std::uint64_t>(seed->integer(0, std::int64_t{1} << 53));
  return spread;
}

}  // namespace

Stragglers read_stragglers(const Json& cluster, std::int64_t workers) {
  Stragglers stragglers;
  if (const auto list = cluster.find("stragglers")) {
    std::set<std::int64_t> seen;
    for (const Json& item : list->items()) {
      stragglers.slow.push_back(read_slowdown(item, workers));
      if (!seen.insert(stragglers.slow.back().worker).second)
        item.fail("this worker is slowed twice", "one entry per worker");
    }
  }
  if (const auto jitter = cluster.find("jitter")) stragglers.jitter = read_jitter(*jitter);
  if (const auto spread = cluster.find("spread")) stragglers.spread = read_spread(*spread);
  return stragglers;
}

}  // namespace allreplay
