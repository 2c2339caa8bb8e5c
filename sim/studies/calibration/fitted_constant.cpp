#include "sim/studies/calibration/fitted_constant.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

namespace {

bool is_option(Constant constant) {
  return constant == Constant::Launch || constant == Constant::Update || constant == Constant::LaunchTensor ||
         constant == Constant::HostBlock || constant == Constant::HostStep;
}

}  // namespace

bool is_link_constant(Constant constant) {
  return constant == Constant::Alpha || constant == Constant::Beta || constant == Constant::Server;
}

double most_of(Constant constant) {
  if (constant == Constant::Interference) return 3;
  return constant == Constant::Spread ? 0.3 : std::numeric_limits<double>::infinity();
}

bool within_node(const Network& network, std::int64_t workers) {
  return network.node && workers <= network.node->workers;
}

std::optional<double>& link_constant(Network& network, Constant constant, bool inside) {
  if (constant == Constant::Server) {
    if (!network.server) network.server.emplace();
    return network.server->beta;
  }
  if (inside) return constant == Constant::Alpha ? network.node->alpha : network.node->beta;
  return constant == Constant::Alpha ? network.alpha : network.beta;
}

void require_levels(const Scenario& scenario, const MeasuredPoint& point, Constant constant) {
  const Network& network = scenario.cluster.network;
  if (!network.measured && network.table.empty() && network.tables.empty()) return;
  throw InputError({point.place.file, point.place.path + ", calibrate"},
                   fmt::format("{} has no {}: its file prices whole collectives", scenario.cluster.name,
                               name_of(constant_words, constant)),
                   "a cluster with alpha and beta");
}

Scenario resolved(const MeasuredPoint& point, const Request& request, Library& library) {
  return request.strategy.empty() && point.bytes > 0 ? library.resolve_network(request) : library.resolve(request);
}

bool FittedConstant::at_limit() const { return known && (value >= most_of(constant) || (least > 0 && value <= least)); }

std::optional<std::int64_t> FittedConstant::nodes() const {
  for (const auto& [column, cell] : scope)
    if (column == by_nodes) return std::stoll(cell);
  return std::nullopt;
}

bool FittedConstant::holds_for(const MeasuredPoint& point) const {
  return std::all_of(scope.begin(), scope.end(),
                     [&](const auto& cell) { return point.cells.at(cell.first) == cell.second; });
}

namespace {

// True if the constant affects the row, which may be of another number of nodes.
bool reaches(const FittedConstant& one, const MeasuredPoint& point) {
  return std::all_of(one.scope.begin(), one.scope.end(), [&](const auto& cell) {
    return cell.first == by_nodes || point.cells.at(cell.first) == cell.second;
  });
}

// Puts the value for a number of nodes into the list of the network. Without a list, the file's own value applies to
// two nodes, the fewest between which a port sends.
void set_for_nodes(Network& network, const FittedConstant& one) {
  const bool is_alpha = one.constant == Constant::Alpha;
  std::vector<ValueOfNodes>& known = is_alpha ? network.alpha_of_nodes : network.beta_of_nodes;
  if (known.empty()) known.push_back({2, (is_alpha ? network.alpha : network.beta).value_or(0)});
  const std::int64_t nodes = *one.nodes();
  const auto place = std::lower_bound(known.begin(), known.end(), nodes,
                                      [](const ValueOfNodes& a, std::int64_t count) { return a.nodes < count; });
  if (place != known.end() && place->nodes == nodes)
    place->value = one.value;
  else
    known.insert(place, {nodes, one.value});
}

// True if the row has its own value of an option, which takes precedence over the fitted one.
bool has_own_value(const MeasuredPoint& point, Constant constant) {
  const auto own = point.cells.find(option_of(constant));
  return own != point.cells.end() && !own->second.empty();
}

// True if the scenario has the part that the constant describes.
bool uses_constant(const FittedConstant& one, const Scenario& scenario) {
  if (one.inside) return scenario.cluster.network.node.has_value();
  return one.constant != Constant::Server || find_algorithm(collective_named(scenario), {}).servers;
}

}  // namespace

std::size_t scored_rows(const FittedConstant& one, const MeasuredFile& measured, Library& library) {
  return static_cast<std::size_t>(
      std::count_if(measured.points.begin(), measured.points.end(), [&](const MeasuredPoint& point) {
        if (!point.scored() || !reaches(one, point)) return false;
        if (is_option(one.constant)) return !has_own_value(point, one.constant);
        const Scenario scenario = resolved(point, point.request, library);
        const bool of_ports = (one.constant == Constant::Alpha || one.constant == Constant::Beta) && !one.inside;
        return uses_constant(one, scenario) && !(of_ports && within_node(scenario.cluster.network, scenario.workers));
      }));
}

Scenario scenario_of(const MeasuredPoint& point, const std::vector<FittedConstant>& fitted, Library& library) {
  Request request = point.request;
  const auto serves = [&](const FittedConstant& one) { return one.used && reaches(one, point); };
  for (const FittedConstant& one : fitted) {
    if (!is_option(one.constant) || !serves(one) || has_own_value(point, one.constant)) continue;
    const std::string name = option_of(one.constant);
    request.options.push_back({name, fmt::format("{} s", one.value), point.place});
  }
  Scenario scenario = resolved(point, request, library);
  for (const FittedConstant& one : fitted) {
    Network& network = scenario.cluster.network;
    if (is_option(one.constant) || !serves(one) || (one.inside && !network.node)) continue;
    if (is_link_constant(one.constant)) {
      require_levels(scenario, point, one.constant);
      if (!uses_constant(one, scenario)) continue;
      if (one.nodes()) {
        set_for_nodes(network, one);
        continue;
      }
      link_constant(network, one.constant, one.inside) = one.value;
      if (one.constant == Constant::Alpha && !one.inside) network.alpha_of_nodes.clear();
      if (one.constant == Constant::Beta && !one.inside) network.beta_of_nodes.clear();
    } else if (one.constant == Constant::Interference) {
      if (exceeds_nodes(scenario.cluster, scenario.workers)) continue;
      if (!scenario.cluster.interference) scenario.cluster.interference.emplace();
      scenario.cluster.interference->compute = one.in_files();
    } else {
      if (!scenario.stragglers.spread) scenario.stragglers.spread.emplace();
      scenario.stragglers.spread->sigma = one.value;
    }
  }
  settle_by_nodes(scenario.cluster.network, scenario.workers);
  return scenario;
}

double error_of(double predicted, double measured, Quantity quantity) {
  const double error = predicted / measured - 1;
  return is_time(quantity) ? -error : error;
}

Predicted predict(const Scenario& scenario, const MeasuredPoint& point, Quantity quantity) {
  if (quantity == Quantity::CollectiveTime) {
    const Job job = job_of(scenario);
    return {.value = to_seconds(job.fabric->alone(point.bytes, CollectiveOp::AllReduce)), .warning = job.warning};
  }
  const Outcome outcome = run(scenario);
  const Metrics& metrics = outcome.result.metrics;
  const NullModels null = null_models(metrics);
  const auto in_unit = [&](double seconds) {
    if (is_time(quantity)) return seconds;
    const double rate = quantity == Quantity::Throughput ? *metrics.samples_per_s : metrics.speedup;
    return rate * metrics.iteration_s / seconds;
  };
  return {in_unit(metrics.iteration_s), in_unit(null.no_communication), in_unit(null.no_overlap), metrics.efficiency,
          outcome.result.warning};
}

void add_nodes(MeasuredFile& measured, Library& library) {
  for (MeasuredPoint& point : measured.points) {
    const Scenario scenario = resolved(point, point.request, library);
    point.cells[std::string(by_nodes)] = std::to_string(nodes_of(scenario.cluster.network, scenario.workers));
  }
}

}  // namespace allreplay
