// One worker's memory over time.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/training/simulate.hpp"

namespace allreplay {

/// Changes over time, on top of what is always there.
class Ledger {
 public:
  enum Part : std::size_t { Gathered, InReduction, Activations, parts };

  void hold(Part part, Time from, Time to, double bytes) {
    if (bytes == 0 || from == to) return;
    changes_.push_back({from, part, bytes});
    changes_.push_back({to, part, -bytes});
  }

  /// Ends come before starts of the same instant.
  void settle(double always, MemoryUse& use) {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change& a, const Change& b) { return a.at != b.at ? a.at < b.at : a.bytes < b.bytes; });
    std::array<double, parts> now{}, most{};
    MemoryUse own;
    own.peak = always;
    own.course = {{Time(0), always}};
    for (const Change& change : changes_) {
      now[change.part] += change.bytes;
      most[change.part] = std::max(most[change.part], now[change.part]);
      double sum = always;
      for (const double part : now) sum += part;
      own.peak = std::max(own.peak, sum);
      if (own.course.back().at != change.at) own.course.push_back({change.at, sum});
      own.course.back().bytes = sum;
    }
    use.parts.gathered = std::max(use.parts.gathered, most[Gathered]);
    use.parts.in_reduction = std::max(use.parts.in_reduction, most[InReduction]);
    if (use.parts.activations) use.parts.activations = std::max(*use.parts.activations, most[Activations]);
    if (own.peak > use.peak) {
      use.peak = own.peak;
      use.course = std::move(own.course);
    }
  }

 private:
  struct Change {
    Time at;
    Part part;
    double bytes;
  };
  std::vector<Change> changes_;
};

}  // namespace allreplay
