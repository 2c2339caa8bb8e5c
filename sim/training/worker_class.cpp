#include "sim/training/worker_class.hpp"

#include <algorithm>
#include <map>

namespace allreplay {

std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold) {
  std::map<std::int64_t, double> factors;
  for (const Slowdown& slow : stragglers.slow) factors[slow.worker] = slow.factor;
  std::vector<WorkerClass> classes;
  std::map<double, std::size_t> class_of;  // by factor
  const bool apart = !fold || stragglers.jitter.has_value();
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto found = factors.find(worker);
    const double factor = found == factors.end() ? 1 : found->second;
    const auto [known, fresh] = class_of.emplace(factor, classes.size());
    if (fresh || apart) classes.push_back({factor, {}});
    classes[apart ? classes.size() - 1 : known->second].workers.push_back(worker);
  }
  return classes;
}

double slowest(const std::vector<WorkerClass>& classes) {
  double most = 0;
  for (const WorkerClass& one : classes) most = std::max(most, one.slowdown);
  return most;
}

}  // namespace allreplay
