#include "sim/studies/calibration/level_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/collective/two_level.hpp"
#include "sim/studies/calibration/least_squares.hpp"

namespace allreplay {

namespace {

using Factors = std::vector<double>;  // by LevelConstant
constexpr std::array<const char*, level_constants> names = {
    "the bandwidth inside a node", "the start-up inside a node",        "the bandwidth between nodes",
    "the start-up between nodes",  "the trees' share of the bandwidth", "LL's share of the bandwidth",
    "the time of a rendezvous"};
constexpr NcclRendezvous some_rendezvous{2048, 10e-6};  // the start of the search

Network scaled(Network network, const Factors& factors) {
  if (network.nccl) {
    NcclSetup& nccl = *network.nccl;
    nccl.node = {factors[bandwidth_inside], factors[latency_inside]};
    nccl.network.bandwidth = factors[bandwidth_outside];
    nccl.network.latency = factors[latency_outside];
    nccl.network.tree = factors[tree_bandwidth_outside];
    nccl.network.ll = factors[ll_bandwidth_outside];
    if (nccl.rendezvous) nccl.rendezvous->time *= factors[rendezvous_time];
    return network;
  }
  network.node->beta = *network.node->beta / factors[bandwidth_inside];
  network.node->alpha = *network.node->alpha * factors[latency_inside];
  network.beta = *network.beta / factors[bandwidth_outside];
  network.alpha = *network.alpha * factors[latency_outside];
  return network;
}

// The operation to be priced. Only NCCL's model prices the halves of an all-reduce separately.
CollectiveOp op_of(const Calibration& log) {
  if (log.algorithm->coefficients) return CollectiveOp::AllReduce;
  const CollectiveOp op = log.log.operation.value_or(CollectiveOp::AllReduce);
  return op == CollectiveOp::Broadcast ? CollectiveOp::AllReduce : op;
}

CommCost price_of(const Calibration& log, Network network) {
  settle_by_nodes(network, log.workers());
  return price_ops(network, *log.algorithm, log.workers(), log.workers(), log.options)[op_of(log)];
}

double squares(std::span<const Calibration> logs, const Network& network) {
  double sum = 0;
  for (const Calibration& log : logs)
    for (const double error : level_errors(log, network)) sum += error * error;
  return sum;
}

Factors exponentials(Factors logarithms) {
  for (double& one : logarithms) one = std::exp(one);
  return logarithms;
}

// Starts from the logs' lines, as if each log used only one level.
void start_from_lines(Network& network, std::span<const Calibration> logs) {
  constexpr double some_time = 1e-6, some_per_byte = 1e-9;  // if a line has none
  const auto positive = [](double value, double other) { return value > 0 ? value : other; };
  for (const Calibration& log : logs) {
    const double alpha = positive(log.alpha, some_time), beta = positive(log.beta, some_per_byte);
    if (log.workers() <= network.node->workers) {
      network.node->alpha = alpha;
      network.node->beta = beta;
    } else {
      network.alpha = alpha;
      network.beta = beta * static_cast<double>(network.node->rails);
    }
  }
  network.gamma = logs.front().gamma;
  if (!network.node->alpha) {  // no log determines a start
    network.node->alpha = network.alpha.value_or(some_time) / 4;
    network.node->beta = network.beta.value_or(some_per_byte) / 4;
  }
  if (!network.alpha) network.alpha = network.node->alpha, network.beta = network.node->beta;
}

// Warns of factors that are too large for NCCL's model with the cluster's own constants: the log is probably of another
// cluster. If the cluster has no start-up, the latency includes it.
void warn_of_no_link(LevelFit& fit) {
  for (std::size_t axis = 0; axis <= latency_outside; ++axis) {
    const double most = axis % 2 == 0 ? 2 : 10;  // rates are from data sheets, start-ups include software
    if (!fit.known[axis] || (fit.factors[axis] < most && fit.factors[axis] > 0.1)) continue;
    const bool no_start_up = axis == latency_outside && !(fit.network.alpha.value_or(0) > 0) && fit.factors[axis] > 1;
    fit.warnings.push_back(fmt::format(
        "{} is x {:.4g} of the cluster's: {}", names[axis], fit.factors[axis],
        no_start_up
            ? "the cluster has no start-up (alpha is 0), so this factor includes the links' latency: give it an alpha; "
              "or the log was taken on other hardware"
            : "no such link exists. More likely the log was taken on other hardware, or on nodes of another size"));
  }
}

bool spans_nodes(const Calibration& log, const Network& base) {
  return layout_of(log.workers(), base.node->workers).nodes > 1;
}

// The constants that the logs can determine. Between nodes, messages up to the start of a rendezvous determine the
// latency, and larger ones the rendezvous.
std::array<bool, level_constants> determinable(std::span<const Calibration> logs, const Network& base, bool nccl) {
  std::array<bool, level_constants> known{};
  for (const Calibration& log : logs) {
    const std::int64_t nodes = layout_of(log.workers(), base.node->workers).nodes;
    const std::size_t level = nodes > 1 ? bandwidth_outside : bandwidth_inside;
    known[level] = true;
    if (!nccl || nodes == 1) {
      known[level + 1] = true;
      continue;
    }
    known[ll_bandwidth_outside] = true;
    const Bytes from = base.nccl->rendezvous.value_or(some_rendezvous).from;
    for (const Measurement& row : log.log.points) known[row.bytes > from ? rendezvous_time : latency_outside] = true;
    if (nodes > 2 && op_of(log) == CollectiveOp::AllReduce) known[tree_bandwidth_outside] = true;
  }
  return known;
}

// Only the constants of both levels.
std::array<bool, level_constants> only_levels(std::array<bool, level_constants> known) {
  for (std::size_t axis = tree_bandwidth_outside; axis < level_constants; ++axis) known[axis] = false;
  return known;
}

// The logarithms of the cluster's own factors, which constants keep that the logs do not determine.
Factors own_factors(const Network& base) {
  if (!base.nccl) return Factors(level_constants, 0.0);
  const LevelScale& node = base.nccl->node;
  const NetworkScale& network = base.nccl->network;
  Factors factors{node.bandwidth, node.latency, network.bandwidth, network.latency, network.tree, network.ll, 1};
  for (double& one : factors) one = std::log(one);
  return factors;
}

// Searches for the factors, in their logarithms.
class LevelSearch {
 public:
  LevelSearch(std::span<const Calibration> logs, Network base, bool nccl)
      : logs_(logs),
        base_(std::move(base)),
        known_(determinable(logs, base_, nccl)),
        own_(own_factors(base_)),
        best_(own_) {
    had_rendezvous_ = base_.nccl && base_.nccl->rendezvous;
    search();
  }

  double squares_left() const { return least_; }
  bool spans_nodes() const { return known_[bandwidth_outside]; }

  const Network& base() const { return base_; }
  const std::array<bool, level_constants>& known() const { return known_; }
  Factors factors() const { return exponentials(best_); }

  // Drops constants that may be twice or half as large without an effect.
  void drop_untold(LevelFit& fit) {
    for (std::size_t axis = 0; axis < best_.size(); ++axis) {
      if (!known_[axis]) continue;
      Factors twice = best_, half = best_;
      twice[axis] += std::log(2);
      half[axis] -= std::log(2);
      const double slack = 1e-9 * (1 + least_);
      if (cost(twice) > cost(best_) + slack && cost(half) > cost(best_) + slack) continue;
      known_[axis] = false;
      fit.warnings.push_back(
          fmt::format("the logs do not determine {}: {}", names[axis],
                      axis <= latency_outside ? "something else is the bottleneck" : "it does not affect the times"));
      if (axis == rendezvous_time && !had_rendezvous_) base_.nccl->rendezvous.reset();
      if (axis > latency_outside) move_to_start(axis, slack);
    }
  }

  // Drops constants for which others can compensate, so that the logs agree with twice the value as well as with the
  // fit, and adds a warning. For NCCL, one of several keeps the cluster's value, and the others are fitted again.
  void drop_inseparable(LevelFit& fit) {
    for (auto open = undetermined_sets(); !open.empty(); open = undetermined_sets()) {
      const std::set<std::size_t>& those = *open.begin();
      if (!base_.nccl || those.size() == 1) {
        mark_undetermined(those, fit);
        continue;
      }
      const std::size_t held = *std::min_element(those.begin(), those.end(), [](std::size_t one, std::size_t other) {
        return drop_order(one) < drop_order(other);
      });
      fit.warnings.push_back(
          fmt::format("the logs cannot separate {}: {} keeps the cluster's value", words_of(those), names[held]));
      known_[held] = false;
      best_[held] = own_[held];
      if (held == rendezvous_time && !had_rendezvous_) base_.nccl->rendezvous.reset();
      search();
    }
  }

 private:
  // The order in which constants keep the cluster's values: parts of others first, then those of small messages.
  static std::size_t drop_order(std::size_t axis) {
    constexpr std::array order{ll_bandwidth_outside, tree_bandwidth_outside, latency_outside, latency_inside,
                               rendezvous_time,      bandwidth_outside,      bandwidth_inside};
    return static_cast<std::size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
  }

  static std::string words_of(const std::set<std::size_t>& axes) {
    std::vector<std::string_view> words;
    for (const std::size_t axis : axes) words.emplace_back(names[axis]);
    return fmt::format("{}", fmt::join(words, " and "));
  }

  void mark_undetermined(const std::set<std::size_t>& those, LevelFit& fit) {
    for (const std::size_t axis : those) known_[axis] = false;
    fit.warnings.push_back(
        those.size() == 1 ? fmt::format("the logs hardly determine {}: a factor of two is within the error of the fit",
                                        words_of(those))
                          : fmt::format("these logs cannot separate {}, which compensate for each other: the values "
                                        "written hold only together",
                                        words_of(those)));
  }

  // Searches from the current point in two orders, and keeps the better result: both levels first, or NCCL's constants
  // between nodes first, since the earlier ones may absorb the effect of the later ones.
  void search() {
    least_ = cost(best_);
    LevelSearch other = *this;
    search_grid();
    const auto all = std::exchange(known_, only_levels(known_));
    descend();
    known_ = all;
    search_between_nodes();
    descend();
    other.search_between_nodes();
    other.search_between_nodes();
    other.search_grid();
    other.descend();
    if (other.least_ < least_) *this = std::move(other);
  }

  // Returns sets of constants that compensate for each other, or of a single one that nothing determines.
  std::set<std::set<std::size_t>> undetermined_sets() const {
    constexpr double part = 0.1;  // constants with a smaller part are determined well enough
    std::vector<std::size_t> axes;
    std::vector<double> at;
    for (std::size_t axis = 0; axis < best_.size(); ++axis) {
      if (!known_[axis]) continue;
      axes.push_back(axis);
      at.push_back(std::exp(best_[axis]));
    }
    if (axes.empty()) return {};
    const auto errors = [&](const std::vector<double>& times) {
      Factors factors = exponentials(best_);
      for (std::size_t i = 0; i < axes.size(); ++i) factors[axes[i]] = times[i];
      return all_errors(scaled(base_, factors));
    };
    const std::size_t rows = errors(at).size();
    const double noise = std::sqrt(least_ / static_cast<double>(std::max(rows, axes.size() + 1) - axes.size()));
    const auto shares = undetermined_shares(errors, at, std::max(noise, 1e-6));
    std::set<std::set<std::size_t>> together;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (shares[i][i] < part * part) continue;
      std::set<std::size_t> those;
      for (std::size_t j = 0; j < axes.size(); ++j)
        if (shares[j][j] >= part * part && std::abs(shares[i][j]) >= part * part) those.insert(axes[j]);
      together.insert(std::move(those));
    }
    return together;
  }

  std::vector<double> all_errors(const Network& network) const {
    std::vector<double> all;
    for (const Calibration& log : logs_)
      for (const double error : level_errors(log, network)) all.push_back(error);
    return all;
  }

  double cost(const Factors& logarithms) const { return squares(logs_, scaled(base_, exponentials(logarithms))); }

  void take(Factors candidate) {
    const double value = cost(candidate);
    if (!(value < least_)) return;
    least_ = value;
    best_ = std::move(candidate);
  }

  // Moves an undetermined constant as close to the assumed value as it can be without an effect on the logs.
  void move_to_start(std::size_t axis, double slack) {
    const double most = cost(best_) + slack;
    Factors at = best_;
    const auto fits = [&](double value) {
      at[axis] = value;
      return cost(at) <= most;
    };
    double good = best_[axis], end = own_[axis];
    if (fits(end)) good = end;
    while (std::abs(end - good) > 1e-3) {
      const double middle = (good + end) / 2;
      (fits(middle) ? good : end) = middle;
    }
    best_[axis] = good;
  }

  void search_grid() {
    const Factors start = best_;
    for (int corner = 0; corner < 81; ++corner) {
      Factors candidate = start;
      int rest = corner;
      for (const std::size_t axis : {bandwidth_inside, latency_inside, bandwidth_outside, latency_outside}) {
        if (known_[axis]) candidate[axis] = 0.7 * (rest % 3 - 1);
        rest /= 3;
      }
      take(std::move(candidate));
    }
  }

  // Searches one constant after another, from the values that NCCL's tuner assumes; adds a rendezvous if it helps.
  void search_between_nodes() {
    if (!known_[bandwidth_outside] || !base_.nccl) return;
    for (const std::size_t axis : {tree_bandwidth_outside, ll_bandwidth_outside})
      if (known_[axis]) scan(axis);
    const double before = least_;
    const bool there = base_.nccl->rendezvous.has_value();
    if (!there && !known_[rendezvous_time]) return;
    if (!there) base_.nccl->rendezvous = some_rendezvous;
    if (known_[rendezvous_time]) scan(rendezvous_time);
    if (!there && !(least_ < before)) base_.nccl->rendezvous.reset();
  }

  void scan(std::size_t axis) {
    const Factors start = best_;
    for (const int step : {0, -1, 1, -2, 2, -3, 3, -4, -5, -6}) {  // of equals, the nearest to 1 is kept
      Factors candidate = start;
      candidate[axis] = 0.5 * step;
      take(std::move(candidate));
    }
  }

  void descend() {
    best_ = pattern_search([&](const Factors& at) { return cost(at); }, best_,
                           std::vector<bool>(known_.begin(), known_.end()));
    least_ = cost(best_);
  }

  std::span<const Calibration> logs_;
  Network base_;
  bool had_rendezvous_ = false;
  std::array<bool, level_constants> known_;
  Factors own_, best_;
  double least_ = 0;
};

// Warns if all sizes of several nodes are beyond the start of a rendezvous, or none is.
void warn_of_sizes(LevelFit& fit, std::span<const Calibration> logs, const std::array<bool, level_constants>& reach) {
  if (std::none_of(logs.begin(), logs.end(), [&](const Calibration& log) { return spans_nodes(log, fit.network); }))
    return;
  const Bytes from = fit.network.nccl->rendezvous.value_or(some_rendezvous).from;
  if (!reach[latency_outside])
    fit.warnings.push_back(
        fmt::format("no log of several nodes has sizes up to {}: their start-up is attributed to the rendezvous of "
                    "larger messages, and the latency between nodes keeps the cluster's value",
                    write_size(from)));
  if (!reach[rendezvous_time])
    fit.warnings.push_back(
        fmt::format("no log of several nodes has sizes above {}: the rendezvous is unknown", write_size(from)));
}

bool changes_errors(bool NcclSetup::*flag, std::span<const Calibration> logs, const Network& fitted) {
  Network turned = fitted;
  turned.nccl.value().*flag = !(turned.nccl.value().*flag);
  const double as_is = squares(logs, fitted);
  return std::abs(squares(logs, turned) - as_is) > 1e-9 * (1 + as_is);
}

}  // namespace

LevelFit fit_levels(std::span<const Calibration> logs, const Network& start) {
  LevelFit fit;
  Network base = start;
  const bool nccl = !logs.front().algorithm->coefficients;
  if (!nccl) start_from_lines(base, logs);
  LevelSearch search(logs, base, nccl);
  // Flips a flag of NCCL's if the squares fall by a tenth.
  for (bool NcclSetup::*const flag : {&NcclSetup::ll128, &NcclSetup::two_node_tree}) {
    if (!nccl || !search.spans_nodes()) break;
    Network turned = base;
    turned.nccl.value().*flag = !(turned.nccl.value().*flag);
    LevelSearch other(logs, turned, nccl);
    if (!(other.squares_left() < 0.9 * search.squares_left())) continue;
    search = std::move(other);
    base = std::move(turned);
  }
  search.drop_untold(fit);
  search.drop_inseparable(fit);
  fit.known = search.known();
  const Factors factors = search.factors();
  std::copy(factors.begin(), factors.end(), fit.factors.begin());
  fit.network = scaled(search.base(), factors);
  if (nccl) {
    warn_of_no_link(fit);
    warn_of_sizes(fit, logs, determinable(logs, start, true));
    fit.ll128_known = changes_errors(&NcclSetup::ll128, logs, fit.network);
    fit.two_node_tree_known = changes_errors(&NcclSetup::two_node_tree, logs, fit.network);
  }
  fit_bandwidth_by_nodes(fit, logs);
  for (const Calibration& log : logs) {
    std::vector<double> errors = level_errors(log, fit.network);
    for (double& error : errors) error = std::abs(error);
    fit.errors.push_back({log.workers(), layout_of(log.workers(), base.node->workers).nodes, median(errors),
                          *std::max_element(errors.begin(), errors.end())});
    fit.median = std::max(fit.median, fit.errors.back().median);
  }
  return fit;
}

std::vector<double> level_errors(const Calibration& log, const Network& network) {
  const CommCost cost = price_of(log, network);
  std::vector<double> errors;
  for (const Measurement& row : log.log.points)
    errors.push_back((to_seconds(cost(row.bytes)) - row.seconds) / row.seconds);
  return errors;
}

CommCost level_price(const LevelFit& fit, const Calibration& log) { return price_of(log, fit.network); }

}  // namespace allreplay
