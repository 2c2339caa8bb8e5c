#include "sim/experiment/sweep_rows.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "sim/training/possible.hpp"

namespace allreplay {

// Microseconds, roughly, on one core (docs/dev/performance.md, "Many machines"): within a factor of a few, which is
// enough for shares of many rows.
std::uint64_t expected_cost(const Scenario& scenario) {
  const auto tensors = static_cast<std::uint64_t>(scenario.profile->tensors.size());
  const auto workers = static_cast<std::uint64_t>(scenario.workers);
  const Fidelity fidelity = collective_of(scenario).fidelity;
  std::uint64_t cost = 10 + tensors;
  if (fidelity == Fidelity::Fluid) cost = 10 + 3 * tensors + 10 * workers;
  if (fidelity == Fidelity::Message) cost = 10 + 3 * tensors + workers * workers / 10;
  if (scenario.stragglers.jitter) cost *= static_cast<std::uint64_t>(scenario.options.iterations);
  if (scenario.strategy->name == "best") cost *= 400;  // a search that replays plans
  if (scenario.strategy->name == "us-byte") cost *= 5;
  return cost;
}

SweepRows check_rows(const Sweep& sweep, Library& library) {
  SweepRows rows;
  std::map<std::string, std::string>
      files;  // rows name a profile by its file's stem: two files of one name could not be told apart
  for (const Request& request : sweep.requests) {
    const Scenario scenario = library.resolve(request);
    require_possible(scenario);
    const auto [known, fresh] = files.emplace(scenario.profile->name, request.profile);
    if (!fresh && known->second != request.profile)
      throw InputError(request.place_of_profile, fmt::format("two profiles are called '{}'", known->first),
                       "files of different names");
    rows.all.numbers.push_back(rows.all.numbers.size());
    rows.all.identities.push_back(joined(identity(scenario)));
    rows.all.inputs.push_back(library.digest_of(request));
    rows.costs.push_back(expected_cost(scenario));
  }
  return rows;
}

std::vector<std::vector<std::size_t>> share_out(std::size_t count, const std::vector<std::uint64_t>& costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Filled = std::pair<std::uint64_t, std::size_t>;  // of a share; the first of equals
  std::priority_queue<Filled, std::vector<Filled>, std::greater<>> least;
  for (std::size_t i = 0; i < count; ++i) least.emplace(0, i);
  std::vector<std::vector<std::size_t>> shares(count);
  for (const std::size_t row : order) {
    const auto [load, share] = least.top();
    least.pop();
    least.emplace(load + costs[row], share);
    shares[share].push_back(row);
  }
  for (auto& share : shares) std::sort(share.begin(), share.end());
  return shares;
}

FileRows chosen(const FileRows& all, const std::vector<std::size_t>& rows) {
  FileRows some;
  for (const std::size_t row : rows) {
    some.numbers.push_back(all.numbers[row]);
    some.identities.push_back(all.identities[row]);
    some.inputs.push_back(all.inputs[row]);
  }
  return some;
}

}  // namespace allreplay
