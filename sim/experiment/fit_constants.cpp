#include "sim/experiment/fit_constants.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/pattern_search.hpp"
#include "sim/experiment/run.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace {

bool is_option(Constant constant) { return constant == Constant::Launch || constant == Constant::Update; }

bool within_node(const Network& network, std::int64_t workers) {
  return network.node && workers <= network.node->workers;
}

// Where alpha or beta of that level stands in a network.
std::optional<double>& level_constant(Network& network, Constant constant, bool inside) {
  if (inside) return constant == Constant::Alpha ? network.node->alpha : network.node->beta;
  return constant == Constant::Alpha ? network.alpha : network.beta;
}

void require_levels(const Scenario& scenario, const MeasuredPoint& point, Constant constant) {
  const Network& network = scenario.cluster.network;
  if (!network.measured && network.table.empty() && network.tables.empty()) return;
  throw InputError(
      {point.place.file, point.place.path + ", calibrate"},
      fmt::format("{} has no {}: it gives whole collectives", scenario.cluster.name, name_of(constant_words, constant)),
      "a cluster with alpha and beta");
}

double start_of(const Scenario& scenario, Constant constant, bool inside) {
  constexpr double some_launch = 20e-6, some_update = 1e-3, some_alpha = 10e-6, some_beta = 1e-9;
  if (constant == Constant::Launch) return some_launch;
  if (constant == Constant::Update) {
    const double known = to_seconds(scenario.profile->update.value_or(Time(0)));
    return known > 0 ? known : some_update;
  }
  Network network = scenario.cluster.network;
  const double known = level_constant(network, constant, inside).value_or(0);
  return known > 0 ? known : constant == Constant::Alpha ? some_alpha : some_beta;
}

Scenario resolved(const MeasuredPoint& point, const Request& request, Library& library) {
  return request.strategy.empty() && point.bytes > 0 ? library.resolve_network(request) : library.resolve(request);
}

std::vector<FittedConstant> declared(const MeasuredFile& measured, Library& library) {
  std::vector<FittedConstant> all;
  for (std::size_t row = 0; row < measured.points.size(); ++row) {
    const MeasuredPoint& point = measured.points[row];
    if (point.scored()) continue;
    const Scenario scenario = resolved(point, point.request, library);
    for (const FitRequest& fit : point.fits) {
      FittedConstant one{.constant = fit.constant};
      if (!is_option(fit.constant)) {
        require_levels(scenario, point, fit.constant);
        one.inside = within_node(scenario.cluster.network, scenario.workers);
      }
      for (const std::string& column : fit.by) one.scope.emplace_back(column, point.cells.at(column));
      const auto same = std::find_if(all.begin(), all.end(), [&](const FittedConstant& other) {
        return other.constant == one.constant && other.inside == one.inside && other.scope == one.scope;
      });
      if (same != all.end()) {
        same->rows.push_back(row);
        continue;
      }
      one.value = start_of(scenario, one.constant, one.inside);
      one.rows = {row};
      all.push_back(std::move(one));
    }
  }
  return all;
}

// Two that hold for one row would each have to be obeyed.
void require_one_each(const MeasuredFile& measured, const std::vector<FittedConstant>& fitted) {
  for (const MeasuredPoint& point : measured.points)
    for (std::size_t i = 0; i < fitted.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (fitted[i].constant == fitted[j].constant && fitted[i].inside == fitted[j].inside &&
            fitted[i].holds_for(point) && fitted[j].holds_for(point))
          throw InputError(
              point.place,
              fmt::format("would have {} by two sets of rows", name_of(constant_words, fitted[i].constant)),
              "the same columns behind `by` in all rows that fit it");
}

// Those that share a row that fits, directly or through others: by group, the places of constants.
std::vector<std::vector<std::size_t>> groups_of(const MeasuredFile& measured,
                                                const std::vector<FittedConstant>& fitted) {
  std::vector<std::size_t> group(fitted.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (const MeasuredPoint& point : measured.points) {
    if (point.scored()) continue;
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (!fitted[i].holds_for(point)) continue;
      if (!first) first = group[i];
      const std::size_t other = group[i];
      for (std::size_t& one : group)
        if (one == other) one = *first;
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < fitted.size(); ++i) members[group[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [leader, list] : members) groups.push_back(std::move(list));
  return groups;
}

// The squares of the errors of some rows, by the constants of one group. A row is simulated again only where one that
// it knows has changed.
class Misfit {
 public:
  Misfit(const MeasuredFile& measured, const std::vector<FittedConstant>& fitted,
         const std::vector<std::size_t>& members, Library& library)
      : measured_(measured), fitted_(fitted), members_(members), library_(library) {
    for (std::size_t row = 0; row < measured.points.size(); ++row) {
      const MeasuredPoint& point = measured.points[row];
      const auto fits = [&](std::size_t member) { return fitted[member].holds_for(point); };
      if (!point.scored() && std::any_of(members.begin(), members.end(), fits)) rows_.push_back(row);
    }
  }

  const std::vector<std::size_t>& rows() const { return rows_; }

  /// At so many times the starting constants, as logarithms.
  double operator()(const std::vector<double>& logarithms) {
    std::vector<FittedConstant> tried;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      tried.push_back(fitted_[members_[i]]);
      tried.back().value *= std::exp(logarithms[i]);
    }
    double sum = 0;
    for (const std::size_t row : rows_) {
      const double error = error_at(row, tried);
      sum += error * error;
    }
    return sum;
  }

 private:
  double error_at(std::size_t row, const std::vector<FittedConstant>& tried) {
    const MeasuredPoint& point = measured_.points[row];
    std::vector<double> key{static_cast<double>(row)};
    for (const FittedConstant& one : tried)
      if (one.holds_for(point)) key.push_back(one.value);
    const auto [found, fresh] = known_.emplace(key, 0.0);
    if (fresh)
      found->second = error_of(predict(scenario_of(point, tried, library_), point, measured_.quantity).value,
                               point.value, measured_.quantity);
    return found->second;
  }

  const MeasuredFile& measured_;
  const std::vector<FittedConstant>& fitted_;
  const std::vector<std::size_t>& members_;
  Library& library_;
  std::vector<std::size_t> rows_;
  std::map<std::vector<double>, double> known_;
};

// Along each constant by itself, from a thousandth to a thousand times the start.
std::vector<double> best_of_grid(Misfit& misfit, std::size_t count) {
  std::vector<double> best(count, 0.0);
  double least = misfit(best);
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::vector<double> from = best;
    for (int power = -10; power <= 10; ++power) {
      std::vector<double> candidate = from;
      candidate[axis] = power * std::log(2);
      const double value = misfit(candidate);
      if (!(value < least)) continue;
      least = value;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::vector<FittedConstant> fit_group(const MeasuredFile& measured, const ConstantsToFit& all, std::size_t group,
                                      Library& library) {
  const std::vector<std::size_t>& members = all.groups[group];
  Misfit misfit(measured, all.constants, members, library);
  if (misfit.rows().size() < members.size()) {
    std::vector<std::string_view> names;
    for (const std::size_t member : members) names.push_back(name_of(constant_words, all.constants[member].constant));
    throw InputError(measured.points[misfit.rows().front()].place,
                     fmt::format("{} rows are to fit {} constants ({})", misfit.rows().size(), members.size(),
                                 fmt::join(names, ", ")),
                     "as many rows as constants, or more");
  }
  const std::vector<double> best =
      pattern_search([&](const auto& at) { return misfit(at); }, best_of_grid(misfit, members.size()),
                     std::vector<bool>(members.size(), true), {.last = 1e-5});
  const double least = misfit(best);
  std::vector<bool> known;
  for (std::size_t axis = 0; axis < best.size(); ++axis) {
    std::vector<double> twice = best, half = best;
    twice[axis] += std::log(2);
    half[axis] -= std::log(2);
    const double slack = 1e-9 * (1 + least);
    known.push_back(misfit(twice) > least + slack && misfit(half) > least + slack);
  }
  std::vector<FittedConstant> fitted;
  for (std::size_t i = 0; i < members.size(); ++i) {
    FittedConstant& one = fitted.emplace_back(all.constants[members[i]]);
    one.known = known[i];
    if (one.known) one.value *= std::exp(best[i]);
  }
  return fitted;
}

bool FittedConstant::holds_for(const MeasuredPoint& point) const {
  return std::all_of(scope.begin(), scope.end(),
                     [&](const auto& cell) { return point.cells.at(cell.first) == cell.second; });
}

Scenario scenario_of(const MeasuredPoint& point, const std::vector<FittedConstant>& fitted, Library& library) {
  Request request = point.request;
  const auto serves = [&](const FittedConstant& one) { return one.known && one.holds_for(point); };
  for (const FittedConstant& one : fitted) {
    if (!is_option(one.constant) || !serves(one)) continue;
    const std::string name(name_of(constant_words, one.constant));
    if (const auto own = point.cells.find(name); own != point.cells.end() && !own->second.empty()) continue;
    request.options.push_back({name, fmt::format("{} s", one.value), point.place});
  }
  Scenario scenario = resolved(point, request, library);
  for (const FittedConstant& one : fitted) {
    Network& network = scenario.cluster.network;
    if (is_option(one.constant) || !serves(one) || (one.inside && !network.node)) continue;
    require_levels(scenario, point, one.constant);
    level_constant(network, one.constant, one.inside) = one.value;
  }
  return scenario;
}

double error_of(double predicted, double measured, Quantity quantity) {
  const double error = predicted / measured - 1;
  return is_time(quantity) ? -error : error;
}

Predicted predict(const Scenario& scenario, const MeasuredPoint& point, Quantity quantity) {
  if (quantity == Quantity::CollectiveTime) {
    const Communication communication = communication_of(scenario);
    return {.value = to_seconds(communication.fabric->alone(point.bytes, CollectiveOp::AllReduce)),
            .warning = communication.warning};
  }
  const Outcome outcome = run(scenario);
  const Metrics& metrics = outcome.result.metrics;
  const double computing = metrics.iteration_s - metrics.exposed_comm_s;
  const auto in_unit = [&](double seconds) {
    if (is_time(quantity)) return seconds;
    const double rate = quantity == Quantity::Throughput ? *metrics.samples_per_s : metrics.speedup;
    return rate * metrics.iteration_s / seconds;
  };
  return {in_unit(metrics.iteration_s), in_unit(computing), in_unit(computing + metrics.comm_busy_s),
          metrics.efficiency, outcome.result.warning};
}

ConstantsToFit constants_to_fit(const MeasuredFile& measured, Library& library) {
  std::vector<FittedConstant> constants = declared(measured, library);
  require_one_each(measured, constants);
  auto groups = groups_of(measured, constants);
  return {std::move(constants), std::move(groups)};
}

}  // namespace allreplay
