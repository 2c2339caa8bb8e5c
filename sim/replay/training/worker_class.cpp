#include "sim/replay/training/worker_class.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allreplay {

std::vector<double> slowdowns(const Stragglers& stragglers, std::int64_t workers, std::int64_t ranks, bool together) {
  std::vector<double> factors(static_cast<std::size_t>(workers), 1.0);
  for (const Slowdown& slow : stragglers.slow)
    if (slow.worker < workers) factors[static_cast<std::size_t>(slow.worker)] = slow.factor;
  if (!stragglers.spread) return factors;
  if (!stragglers.spread->seed) {
    const std::int64_t rank_workers = workers / ranks;
    const double expected = stragglers.spread->expected_largest(rank_workers);
    for (auto rank = factors.begin(); rank != factors.end(); rank += rank_workers)
      *std::max_element(rank, rank + rank_workers) *= expected;
    return factors;
  }
  std::vector<double> own = factors;
  for (std::int64_t worker = 0; worker < workers; ++worker)
    own[static_cast<std::size_t>(worker)] *= stragglers.spread->of(worker);
  if (!together || stragglers.jitter) return own;
  const auto slowest = std::max_element(own.begin(), own.end());
  for (double& factor : factors) factor = std::min(factor, *slowest);
  factors[static_cast<std::size_t>(slowest - own.begin())] = *slowest;
  return factors;
}

std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold,
                                        const std::vector<Role>& roles, bool together) {
  const std::vector<double> factors = slowdowns(stragglers, workers, 1, together);
  std::vector<std::uint32_t> role_of(static_cast<std::size_t>(workers), 0);
  for (std::uint32_t role = 0; role < roles.size(); ++role)
    for (const std::int64_t worker : roles[role].workers) role_of[static_cast<std::size_t>(worker)] = role;
  std::vector<WorkerClass> classes;
  std::map<std::pair<double, std::uint32_t>, std::size_t> class_of;  // by factor and role
  const bool apart = !fold || stragglers.jitter.has_value();
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const double factor = factors[static_cast<std::size_t>(worker)];
    const std::uint32_t role = role_of[static_cast<std::size_t>(worker)];
    const auto [known, fresh] = class_of.emplace(std::pair(factor, role), classes.size());
    if (fresh || apart) classes.push_back({factor, {}, role});
    classes[apart ? classes.size() - 1 : known->second].workers.push_back(worker);
  }
  return classes;
}

std::vector<std::uint32_t> classes_of(const std::vector<WorkerClass>& classes, std::optional<std::uint32_t> role) {
  std::vector<std::uint32_t> own;
  for (std::uint32_t c = 0; c < classes.size(); ++c)
    if (!role || classes[c].role == *role) own.push_back(c);
  return own;
}

}  // namespace allreplay
