#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include <fmt/format.h>

#include "sim/replay/training/possible.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace allreplay {

// Roughly microseconds on one core, to within a factor of a few (docs/dev/performance.md, "Many machines").
std::uint64_t expected_cost(const Scenario& scenario) {
  const auto tensors = static_cast<std::uint64_t>(scenario.profile->tensors.size());
  const auto workers = static_cast<std::uint64_t>(scenario.workers);
  const Fidelity fidelity = collective_of(scenario).fidelity;
  std::uint64_t cost = 10 + tensors;
  if (fidelity == Fidelity::Fluid) cost = 10 + 3 * tensors + 10 * workers;
  if (fidelity == Fidelity::Message) cost = 10 + 3 * tensors + workers * workers / 10;
  const auto& [slow, jitter, spread] = scenario.stragglers;
  const auto layers = static_cast<std::uint64_t>(scenario.profile->layers.size());
  if (jitter) cost = (cost + workers * layers / 10) * static_cast<std::uint64_t>(scenario.options.iterations);
  const bool draws_spread =
      spread && (spread->seed || !scenario.seeds.empty()) && !scenario.options.parallel.pipeline();
  if (draws_spread) cost += 5 * workers / 2;
  cost *= replays_of(scenario);
  if (scenario.strategy->name == "best") cost *= 400;  // a search that replays plans
  if (scenario.strategy->name == "us-byte") cost *= 5;
  return cost;
}

void NamesOfFiles::add(const Request& request, const Scenario& scenario) {
  const auto require_one = [](auto& files, const char* what, const std::string& name, const std::string& file,
                              const SourceLocation& place) {
    const auto [known, fresh] = files.emplace(name, file);
    if (!fresh && known->second != file)
      throw InputError(place, fmt::format("two {} are called '{}': {} and {}", what, name, known->second, file),
                       what == std::string("profiles") || what == std::string("plans")
                           ? "files with different names"
                           : "a \"name\" of its own for each");
  };
  require_one(profiles_, "profiles", scenario.profile->name, request.profile, request.profile.place);
  if (!request.plan.empty()) require_one(plans_, "plans", request.plan_name, request.plan, request.plan.place);
  if (!request.cluster.empty())
    require_one(clusters_, "clusters", scenario.cluster.name, request.cluster, {request.cluster, "/name"});
  const std::string collective = collective_named(scenario);
  const auto file = scenario.collective_files.find(collective);
  if (file == scenario.collective_files.end())
    require_one(collectives_, "collectives", collective, "the one built in", request.collective.place);
  else
    require_one(collectives_, "collectives", file->second->name, collective, {collective, "/name"});
}

SweepRows::SweepRows(std::span<const std::string_view> keys) {
  all.header = csv_header(keys);
  for (const std::string_view key : keys)
    if (column_of(key).role == ColumnRole::Identity) all.identifying.push_back(key);
}

void SweepRows::add(std::string identity, std::uint64_t inputs) {
  all.numbers.push_back(all.numbers.size());
  all.identities.push_back(std::move(identity));
  all.inputs.push_back(inputs);
}

std::size_t SweepRows::count_of(std::size_t question) const {
  return (question + 1 < first.size() ? first[question + 1] : size()) - first[question];
}

std::vector<std::size_t> SweepRows::rows_of(const std::vector<std::size_t>& questions) const {
  std::vector<std::size_t> rows;
  for (const std::size_t question : questions)
    for (std::size_t i = 0; i < count_of(question); ++i) rows.push_back(first[question] + i);
  return rows;
}

namespace {

// Resolves every request. Throws InputError for impossible ones and ambiguous names of files.
SweepRows check_requests(const Sweep& sweep, std::span<const std::string_view> keys, Library& library) {
  SweepRows rows(keys);
  NamesOfFiles names;
  for (const Request& request : sweep.requests) {
    const Scenario scenario = library.resolve(request);
    require_possible(scenario);
    names.add(request, scenario);
    rows.first.push_back(rows.size());
    rows.costs.push_back(expected_cost(scenario));
    rows.steps.push_back(steps_of(scenario));
    rows.add(joined(identity(scenario)), library.digest_of(request));
  }
  return rows;
}

}  // namespace

SweepQuestions::SweepQuestions(const Sweep& sweep) : files(sweep.inputs.files) {
  columns = row_keys();
  if (sweep.seeded) columns.insert(columns.end(), statistics_keys().begin(), statistics_keys().end());
  if (sweep.varies_sigma) columns.insert(columns.end(), {"jitter", "spread"});
  const auto asked = std::make_shared<const Sweep>(sweep);
  const auto library = std::make_shared<Library>(sweep.inputs);
  check = [=, keys = columns] { return check_requests(*asked, keys, *library); };
  ask = [=](std::size_t question) -> Answer {
    return [scenario = library->resolve(asked->requests[question]),
            varies_sigma = asked->varies_sigma](const std::function<void()>& after_step) {
      const Outcome outcome = run_alongside(scenario, after_step);
      SimulatedRow row{row_of(outcome), outcome.result.warning};
      if (varies_sigma) append_sigmas(row.row, scenario.stragglers);
      return std::vector<SimulatedRow>{std::move(row)};
    };
  };
  digest_of = [=](std::size_t question) { return library->digest_of(asked->requests[question]); };
}

std::vector<std::vector<std::size_t>> share_out(std::size_t count, const std::vector<std::uint64_t>& costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Filled =
      std::pair<std::uint64_t, std::size_t>;  // a share's cost and index; of equal costs the lowest index is taken
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
  FileRows some{.header = all.header, .identifying = all.identifying};
  for (const std::size_t row : rows) {
    some.numbers.push_back(all.numbers[row]);
    some.identities.push_back(all.identities[row]);
    some.inputs.push_back(all.inputs[row]);
  }
  return some;
}

}  // namespace allreplay
