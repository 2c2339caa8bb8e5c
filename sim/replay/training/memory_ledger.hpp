// Adds up one worker's memory over time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Collects changes on top of the memory that is always held.
class Ledger {
 public:
  enum Part : std::size_t { Gathered, InReduction, Activations, Step, Secondary, Matrices, Outer, parts };

  void hold(Part part, Time from, Time to, double bytes) {
    if (bytes == 0 || from == to) return;
    changes_.push_back({from, Order::Take, part, bytes});
    changes_.push_back({to, Order::Free, part, -bytes});
  }

  /// Holds temporaries of an update, which may take no time. At its instant, frees come before it and takes after it.
  void hold_step(Time from, Time to, double bytes) {
    if (bytes == 0) return;
    changes_.push_back({from, Order::Update, Step, bytes});
    changes_.push_back({to, from == to ? Order::Updated : Order::Free, Step, -bytes});
  }

  /// Raises the parts and the peak in `use` to this worker's.
  void settle(double always, MemoryUse& use) {
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::tie(a.at, a.order, a.bytes) < std::tie(b.at, b.order, b.bytes);
    });
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
      // An update that takes no time has its own point.
      if (own.course.back().at != change.at || change.order == Order::Updated) own.course.push_back({change.at, sum});
      own.course.back().bytes = sum;
    }
    use.parts.gathered = std::max(use.parts.gathered, most[Gathered]);
    use.parts.in_reduction = std::max(use.parts.in_reduction, most[InReduction]);
    use.parts.step = std::max(use.parts.step, most[Step]);
    use.parts.secondary = std::max(use.parts.secondary, most[Secondary]);
    use.parts.matrices = std::max(use.parts.matrices, most[Matrices]);
    use.parts.pseudo_gradients = std::max(use.parts.pseudo_gradients, most[Outer]);
    if (use.parts.activations) use.parts.activations = std::max(*use.parts.activations, most[Activations]);
    if (own.peak > use.peak) {
      use.peak = own.peak;
      use.course = std::move(own.course);
    }
  }

 private:
  enum class Order : std::uint8_t { Free, Update, Updated, Take };  // within the same instant
  struct Change {
    Time at;
    Order order;
    Part part;
    double bytes;
  };
  std::vector<Change> changes_;
};

}  // namespace allreplay
