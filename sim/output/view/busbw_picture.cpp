#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/statistics.hpp"
#include "sim/base/core/units.hpp"
#include "sim/output/picture/chart.hpp"
#include "sim/output/report/collective_report.hpp"
#include "sim/output/view/pictures.hpp"

namespace allreplay {

namespace {

const CollectiveRow& priced_row(const std::vector<PricedCollective>& all, std::size_t one, std::size_t size) {
  return all[one].pricing.rows[size];
}

Bytes whole_bytes(double bytes) { return static_cast<Bytes>(std::llround(bytes)); }

// Returns a size rounded to four digits, in binary units as on the axis.
std::string binary_size(double bytes) {
  for (const auto& [size, name] : {std::pair(0x1p30, "GiB"), std::pair(0x1p20, "MiB"), std::pair(0x1p10, "KiB")})
    if (bytes >= size) return fmt::format("{:.4g} {}", bytes / size, name);
  return fmt::format("{:.4g} B", bytes);
}

// A size at which another collective becomes the fastest, between two priced ones.
struct Crossover {
  double bytes = 0, busbw_GBps = 0;
  std::size_t after = 0;  // which collective is the fastest from there on
};

// Between two sizes each curve is a straight line on logarithmic axes, as it is drawn: they meet at the share t of the
// way where log a + t·(log a' − log a) = log b + t·(log b' − log b).
std::vector<Crossover> crossovers_of(const std::vector<PricedCollective>& all, const std::vector<std::size_t>& rivals) {
  const std::vector<std::size_t> fastest = fastest_by_size(all, rivals);
  std::vector<Crossover> crossovers;
  for (std::size_t size = 1; size < fastest.size(); ++size) {
    const std::size_t before = fastest[size - 1], after = fastest[size];
    if (before == after) continue;
    const auto log_busbw = [&](std::size_t one, std::size_t at) {
      return std::log(priced_row(all, one, at).busbw_GBps);
    };
    const double lead = log_busbw(before, size - 1) - log_busbw(after, size - 1);
    const double lost = log_busbw(after, size) - log_busbw(before, size);
    const double share = lead + lost > 0 ? lead / (lead + lost) : 0;
    if (!std::isfinite(share)) continue;  // one takes no time, or the sizes have none
    const auto from = static_cast<double>(priced_row(all, before, size - 1).bytes),
               to = static_cast<double>(priced_row(all, before, size).bytes);
    const double height = log_busbw(before, size - 1);
    crossovers.push_back(
        {from * std::pow(to / from, share), std::exp(height + share * (log_busbw(before, size) - height)), after});
  }
  return crossovers;
}

// Half the 95 % interval of the mean time over seeds, relative to it; the rate's is as wide, to first order.
double relative_confidence(const CollectiveRow& row) {
  if (row.by_seed.size() < 2) return 0;
  return summary_of(row.by_seed).confidence.value_or(0) / row.time_s;
}

}  // namespace

Drawing busbw_picture(const std::vector<PricedCollective>& all, const std::string& title) {
  Chart chart{.title = title,
              .x = {.name = "message size",
                    .spacing = Spacing::Log2,
                    .label = [](double bytes) { return write_size(whole_bytes(bytes)); }},
              .y = {.name = "bus bandwidth (GB/s)", .spacing = Spacing::Log10}};
  const std::vector<std::string> names = names_of(all);
  for (std::size_t one = 0; one < all.size(); ++one) {
    Series series{.name = names[one], .style = one};
    for (const CollectiveRow& row : all[one].pricing.rows)
      if (row.busbw_GBps > 0) {
        const Position point{static_cast<double>(row.bytes), row.busbw_GBps};
        series.points.push_back(point);
        if (const double half = point.y * relative_confidence(row); half > 0)
          series.errors.push_back({point.x, point.y - half, point.y + half});
      }
    chart.series.push_back(std::move(series));
  }
  std::vector<std::string> sizes;
  Series marks{.name = "crossover", .line = false, .style = all.size()};
  const std::vector<std::vector<std::size_t>> problems = rivals_of(all);
  for (const std::vector<std::size_t>& rivals : problems)
    for (const Crossover& one : crossovers_of(all, rivals)) {
      marks.points.push_back({one.bytes, one.busbw_GBps});
      sizes.push_back(fmt::format("{} from {}", names[one.after], binary_size(one.bytes)));
    }
  if (sizes.empty()) return draw(chart);
  chart.series.push_back(std::move(marks));
  constexpr std::size_t most = 4;
  const std::size_t more = sizes.size() - std::min(most, sizes.size());
  sizes.resize(sizes.size() - more);
  if (problems.size() == 1) sizes.insert(sizes.begin(), names[fastest_by_size(all, problems.front()).front()]);
  chart.note =
      fmt::format("fastest: {}{}", fmt::join(sizes, "; "), more > 0 ? fmt::format("; and {} more changes", more) : "");
  return draw(chart);
}

}  // namespace allreplay
