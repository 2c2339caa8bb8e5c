#include "sim/studies/experiment/target_search.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/side_by_side.hpp"
#include "sim/studies/experiment/training_cost.hpp"
#include "sim/studies/experiment/what_if.hpp"
#include "sim/studies/search/boundary.hpp"

namespace allreplay {

namespace {

class TargetFinder {
 public:
  TargetFinder(Library& library, Request request, const TargetSearch& search)
      : library_(library), search_(search), base_(std::move(request)) {}

  TargetAnswer answer() {
    result_.base = run_with_usual_strategy(library_, base_);
    const TargetQuantity& quantity = *search_.target.quantity;
    if (!quantity.of(result_.base))
      throw InputError({"command line", "--target"},
                       fmt::format("{} is unknown for {}", quantity.name, result_.base.scenario.profile->name),
                       "another quantity, or a profile with the values it needs");
    if (search_.axis) vary();
    if (search_.prices && !search_.prices->fabrics.empty()) compare_fabrics();
    return std::move(result_);
  }

 private:
  void vary() {
    std::vector<std::string> values = search_.axis->values(result_.base, search_.values, search_.place);
    leave_out_impossible(values);
    std::map<std::size_t, TargetStep> steps;
    const auto measure = [&](const std::vector<std::size_t>& wanted) {
      std::vector<Request> requests;
      std::vector<std::string> names;
      for (const std::size_t one : wanted) {
        names.push_back(values[one]);
        requests.push_back(with(values[one]));
      }
      std::vector<std::optional<double>> measured;
      std::vector<TargetStep> some = run_all(names, requests);
      for (std::size_t i = 0; i < some.size(); ++i) {
        measured.push_back(some[i].measured);
        steps[wanted[i]] = std::move(some[i]);
      }
      return measured;
    };
    const Boundary found = find_boundary({.count = values.size(),
                                          .measure = measure,
                                          .meets = [&](double value) { return search_.target.meets(value); },
                                          .prefers_least = search_.axis->prefers_least});
    result_.is_least = found.is_least;
    result_.is_monotone = found.is_monotone;
    result_.all_meet = found.all_meet;
    for (auto& [value, step] : steps) {
      if (found.answer == value) result_.answer = result_.steps.size();
      result_.steps.push_back(std::move(step));
    }
    throw_if_nothing_ran(result_.steps);
  }

  Request with(const std::string& value) const {
    Request request = base_;
    search_.axis->set(request, value);
    return request;
  }

  // Leaves out values such as numbers of workers that groups do not divide, unless there are too many to look at. If
  // none is left, keeps them all: the first error is then thrown.
  void leave_out_impossible(std::vector<std::string>& values) {
    constexpr std::size_t many = 256;
    if (values.size() > many) return;
    std::vector<std::string> possible;
    for (const std::string& one : values) try {
        require_possible(library_.resolve(with(one)));
        possible.push_back(one);
      } catch (const InputError&) {
        continue;
      }
    if (!possible.empty()) values = std::move(possible);
  }

  void compare_fabrics() {
    std::vector<Request> requests;
    for (const std::string& fabric : search_.prices->fabrics) {
      Request request = base_;
      request.workers = result_.base.scenario.workers;
      request.cluster = fabric;
      request.cluster_words.clear();
      requests.push_back(std::move(request));
    }
    result_.fabrics = run_all(search_.prices->fabrics, requests);
    throw_if_nothing_ran(result_.fabrics);
    std::vector<std::size_t> places;
    std::vector<CostAndTime> choices;
    for (std::size_t i = 0; i < result_.fabrics.size(); ++i) {
      const TargetStep& one = result_.fabrics[i];
      if (!one.outcome || !one.meets || !one.fits) continue;
      places.push_back(i);
      choices.push_back({&*one.outcome, *one.usd, one.outcome->result.metrics.iteration_s});
    }
    if (const auto chosen = cheapest(choices, WinningRule()))
      result_.cheapest = Cheapest{places[chosen->least], places[chosen->rather]};
  }

  // Runs the requests. Those that are impossible have the error instead of an outcome.
  std::vector<TargetStep> run_all(const std::vector<std::string>& names, const std::vector<Request>& requests) {
    std::vector<TargetStep> steps(requests.size());
    std::vector<Attempt> attempts =
        attempt_requests(library_, requests, [&](const std::vector<Scenario>& scenarios, const auto&) {
          std::size_t replays = 0;
          for (const Scenario& one : scenarios) replays += steps_of(one);
          return run_side_by_side(
              scenarios, {.jobs = search_.jobs, .keep_timelines = false, .advance = watched(search_.watch, replays)});
        });
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      TargetStep& step = steps[i];
      step.value = names[i];
      step.flags = run_flags(requests[i]);
      if (attempts[i].wrong) {
        step.wrong = attempts[i].wrong->what();
        if (!first_) first_ = attempts[i].wrong;
        continue;
      }
      const Outcome& outcome = step.outcome.emplace(std::move(*attempts[i].outcome));
      step.measured = search_.target.quantity->of(outcome);
      step.meets = step.measured && search_.target.meets(*step.measured);
      step.fits = fits(outcome.scenario, outcome.result);
      if (!search_.prices) continue;
      step.parts = parts_of(outcome.scenario.cluster, outcome.scenario.workers, *search_.prices);
      step.usd = search_.prices->of(*step.parts);
    }
    return steps;
  }

  void throw_if_nothing_ran(const std::vector<TargetStep>& steps) const {
    const bool any = std::any_of(steps.begin(), steps.end(), [](const TargetStep& one) { return one.outcome; });
    if (!any && first_) throw InputError(*first_);
  }

  Library& library_;
  const TargetSearch& search_;
  Request base_;
  TargetAnswer result_;
  std::optional<InputError> first_;
};

}  // namespace

TargetAnswer search_target(Library& library, Request request, const TargetSearch& search) {
  return TargetFinder(library, std::move(request), search).answer();
}

double FabricPrices::of(const FabricParts& parts) const {
  const auto price = [](std::int64_t count, double each) { return static_cast<double>(count) * each; };
  return price(parts.gpus, gpu) + price(parts.hosts, host) + price(parts.switches, switches) + price(parts.ports, port);
}

FabricPrices read_prices(const Files& files, const std::string& file) {
  const Json json = Json::read(files, file);
  json.allow_only({"source", "gpu_usd", "host_usd", "switch_usd", "port_usd", "fabrics"});
  FabricPrices prices;
  prices.place = json.place();
  if (const auto source = json.find("source")) source->text();
  double sum = 0;
  for (const auto& [key, price] : {std::pair("gpu_usd", &prices.gpu),
                                   {"host_usd", &prices.host},
                                   {"switch_usd", &prices.switches},
                                   {"port_usd", &prices.port}}) {
    const auto given = json.find(key);
    if (!given) continue;
    *price = given->number();
    if (!(*price >= 0 && *price <= 1e12))
      given->fail(fmt::format("{} is not a valid price", given->dump()), "dollars, at least 0");
    sum += *price;
  }
  if (!(sum > 0)) json.fail("prices nothing", "gpu_usd, host_usd, switch_usd or port_usd above 0");
  if (const auto fabrics = json.find("fabrics")) {
    for (const Json& one : fabrics->items()) prices.fabrics.push_back(beside(files, file, one.text()));
    constexpr std::size_t most = 1000;  // each is replayed
    if (prices.fabrics.size() > most)
      fabrics->fail(fmt::format("has {} fabrics", prices.fabrics.size()), fmt::format("at most {}", most));
  }
  return prices;
}

FabricParts parts_of(const Cluster& cluster, std::int64_t workers, const FabricPrices& prices) {
  const Network& network = cluster.network;
  if (!network.topology) {
    if (prices.switches > 0)
      throw InputError(network.place,
                       fmt::format("the cluster '{}' has no topology, so its switches are unknown", cluster.name),
                       "a cluster with \"topology\", or no switch_usd");
    const std::int64_t nodes = nodes_of(network, workers);
    return {.gpus = workers, .hosts = nodes, .ports = nodes * (network.node ? network.node->rails : 1)};
  }
  const auto topology = make_topology(*network.topology, workers);
  const TopologyFacts facts = describe(*topology, *network.topology);
  const std::int64_t gpus = facts.hosts * facts.gpus_per_host;
  const std::int64_t inside = facts.gpus_per_host > 1 ? gpus : 0;  // links of GPUs to their host
  return {.gpus = gpus,
          .hosts = facts.hosts,
          .switches = facts.switches,
          .ports = 2 * (facts.links + facts.links_down - inside)};
}

}  // namespace allreplay
