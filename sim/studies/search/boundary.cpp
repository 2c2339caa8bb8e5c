#include "sim/studies/search/boundary.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

namespace {

class BoundaryFinder {
 public:
  explicit BoundaryFinder(const BoundarySearch& search) : search_(search) {}

  Boundary find() {
    const std::size_t last = search_.count - 1;
    measure({0, last / 2, last});
    if (is_between(0, last / 2, last) && bisect(0, last)) {
      result_.is_monotone = true;
    } else {
      result_.is_monotone = false;
      scan();
    }
    const auto& all = result_.measured;
    result_.all_meet = std::all_of(all.begin(), all.end(), [&](const auto& one) { return meets(one.first); });
    return std::move(result_);
  }

 private:
  void measure(std::vector<std::size_t> wanted) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::erase_if(wanted, [&](std::size_t one) { return result_.measured.contains(one); });
    if (wanted.empty()) return;
    const std::vector<std::optional<double>> values = search_.measure(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) result_.measured[wanted[i]] = values[i];
  }

  bool meets(std::size_t one) const {
    const std::optional<double>& value = result_.measured.at(one);
    return value && search_.meets(*value);
  }

  // True if the value in the middle lies between the others, but for rounding.
  bool is_between(std::size_t low, std::size_t middle, std::size_t high) const {
    const auto &a = result_.measured.at(low), &b = result_.measured.at(middle), &c = result_.measured.at(high);
    if (!a || !b || !c) return false;
    const double slack = 1e-9 * std::max(std::abs(*a), std::abs(*c));
    return *b >= std::min(*a, *c) - slack && *b <= std::max(*a, *c) + slack;
  }

  // Finds the boundary between two measured values by bisection. Returns false if a value in between is not between.
  bool bisect(std::size_t low, std::size_t high) {
    if (meets(low) == meets(high)) {
      if (meets(low)) answer(search_.prefers_least ? low : high, search_.prefers_least);
      return true;
    }
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      measure({middle});
      if (!is_between(low, middle, high)) return false;
      (meets(middle) == meets(low) ? low : high) = middle;
    }
    answer(meets(low) ? low : high, !meets(low));
    return true;
  }

  void answer(std::size_t value, bool is_least) {
    result_.answer = value;
    result_.is_least = is_least;
  }

  void scan() {
    std::vector<std::size_t> some;
    const std::size_t last = search_.count - 1, steps = std::min(search_.count, search_.most_scanned) - 1;
    for (std::size_t i = 0; i <= steps; ++i) some.push_back(steps == 0 ? 0 : i * last / steps);
    measure(some);
    const bool first_meets = meets(0), last_meets = meets(last);
    const bool least = first_meets == last_meets ? search_.prefers_least : last_meets;
    std::vector<std::size_t> met;
    for (const auto& [value, quantity] : result_.measured)
      if (meets(value)) met.push_back(value);
    if (met.empty()) return;
    std::size_t best = least ? met.front() : met.back();
    // The neighbour that does not meet the target, if there is one: values between the two were not measured.
    const auto at = result_.measured.find(best);
    if (least ? at != result_.measured.begin() : std::next(at) != result_.measured.end()) {
      std::size_t other = least ? std::prev(at)->first : std::next(at)->first;
      while (std::max(best, other) - std::min(best, other) > 1) {
        const std::size_t middle = std::min(best, other) + (std::max(best, other) - std::min(best, other)) / 2;
        measure({middle});
        (meets(middle) ? best : other) = middle;
      }
    }
    answer(best, least);
  }

  const BoundarySearch& search_;
  Boundary result_;
};

}  // namespace

Boundary find_boundary(const BoundarySearch& search) { return BoundaryFinder(search).find(); }

}  // namespace allreplay
