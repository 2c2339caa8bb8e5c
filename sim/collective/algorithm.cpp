#include "sim/collective/algorithm.hpp"

#include <fmt/format.h>

#include <cmath>

namespace allreplay {

namespace {

// MG-WFBP (Shi, Chu, Li), Table 2, with the α that its double-binary-tree row lacks.

Coefficients binary_tree(double n, const CollectiveOptions&) {
  return {2 * std::log2(n), 2 * std::log2(n), std::log2(n)};
}

Coefficients recursive_doubling(double n, const CollectiveOptions&) {
  return {std::log2(n), std::log2(n), std::log2(n)};
}

// 2β − (2β + γ)/N + γ
Coefficients halving_doubling(double n, const CollectiveOptions&) {
  return {2 * std::log2(n), 2 - 2 / n, 1 - 1 / n};
}

Coefficients double_binary_tree(double n, const CollectiveOptions& options) {
  return {2 * std::log2(n), options.tree_bandwidth == TreeBandwidth::Paper ? 1.0 : 2.0, 1};
}

Coefficients ring(double n, const CollectiveOptions&) { return {2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n}; }

// Push and pull: each of S servers exchanges M/S bytes with the N − 1 other workers. S = N is a server on each.
Coefficients parameter_server(double n, const CollectiveOptions& options) {
  const double servers = options.servers > 0 ? static_cast<double>(options.servers) : n;
  return {2, 2 * (n - 1) / servers, (n - 1) / servers};
}

constexpr Algorithm all[] = {
    {"ring", "2(N-1) rounds around a ring, a slice of 1/N each", "", ring},
    {"double-binary-tree", "two mirrored trees, half of the bytes each", "tree_bandwidth", double_binary_tree},
    {"halving-doubling", "recursive halving, then recursive doubling", "", halving_doubling},
    {"recursive-doubling", "log N exchanges of everything", "", recursive_doubling},
    {"binary-tree", "reduce up and broadcast down one binomial tree", "", binary_tree},
    {"parameter-server", "push to and pull from a server on every worker (or on `servers`)", "servers", parameter_server},
};

}  // namespace

std::span<const Algorithm> algorithms() { return all; }

const Algorithm& find_algorithm(std::string_view name, const Place& place) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : all) {
    if (algorithm.name == name) return algorithm;
    names.emplace_back(algorithm.name);
  }
  throw InputError(place, fmt::format("unknown collective '{}'", name), suggest(name, names));
}

}  // namespace allreplay
