#include "sim/training/worker_class.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allreplay {

std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold,
                                        const std::vector<Role>& roles) {
  std::map<std::int64_t, double> factors;
  for (const Slowdown& slow : stragglers.slow) factors[slow.worker] = slow.factor;
  std::vector<std::uint32_t> role_of(static_cast<std::size_t>(workers), 0);
  for (std::uint32_t role = 0; role < roles.size(); ++role)
    for (const std::int64_t worker : roles[role].workers) role_of[static_cast<std::size_t>(worker)] = role;
  std::vector<WorkerClass> classes;
  std::map<std::pair<double, std::uint32_t>, std::size_t> class_of;  // by factor and role
  const bool apart = !fold || stragglers.jitter.has_value();
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const auto found = factors.find(worker);
    const double factor = found == factors.end() ? 1 : found->second;
    const std::uint32_t role = role_of[static_cast<std::size_t>(worker)];
    const auto [known, fresh] = class_of.emplace(std::pair(factor, role), classes.size());
    if (fresh || apart) classes.push_back({factor, {}, role});
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
