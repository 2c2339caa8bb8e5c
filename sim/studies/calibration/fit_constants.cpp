#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/calibration/fitted_constant.hpp"
#include "sim/studies/calibration/least_squares.hpp"

namespace allreplay {

namespace {

// True if zero is plausible: the effect may not exist.
bool may_be_zero(Constant constant) { return constant == Constant::Interference || constant == Constant::Spread; }

// The start value times `times`, within its bounds.
double scaled_start(const FittedConstant& one, double times) {
  return std::clamp(one.value * times, one.least, most_of(one.constant));
}

// The forward pass of the longest block: a floor above it shows in every block.
double longest_block(const Profile& profile) {
  Time longest{0}, sum{0};
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const bool same =
        i > 0 && !profile.layers[i].group.empty() && profile.layers[i].group == profile.layers[i - 1].group;
    sum = same ? add(sum, profile.layers[i].forward) : profile.layers[i].forward;
    longest = std::max(longest, sum);
  }
  return to_seconds(longest);
}

double start_of(const Scenario& scenario, Constant constant, bool inside) {
  constexpr double some_launch = 20e-6, some_update = 1e-3, some_alpha = 10e-6, some_beta = 1e-9;
  constexpr double some_interference = 0.2, some_spread = 0.02, some_step = 5e-3;
  if (constant == Constant::Launch || constant == Constant::LaunchTensor) return some_launch;
  if (constant == Constant::Interference) {
    const auto& known = scenario.cluster.interference;
    return known && known->compute > 1 ? known->compute - 1 : some_interference;
  }
  if (constant == Constant::Spread) {
    const auto& known = scenario.stragglers.spread;
    return known && known->sigma > 0 ? known->sigma : some_spread;
  }
  if (constant == Constant::Update) {
    const double known = to_seconds(scenario.profile->update.value_or(Time(0)));
    return known > 0 ? known : some_update;
  }
  if (constant == Constant::HostBlock) {
    const double known = to_seconds(scenario.profile->host.block_forward);
    return known > 0 ? known : 1.5 * longest_block(scenario.profile);
  }
  if (constant == Constant::HostStep) {
    const double known = to_seconds(scenario.profile->host.step);
    return known > 0 ? known : some_step;
  }
  Network network = scenario.cluster.network;
  double known = link_constant(network, constant, inside).value_or(0);
  if (constant == Constant::Server && !(known > 0)) known = network.beta.value_or(0);
  return known > 0 ? known : constant == Constant::Alpha ? some_alpha : some_beta;
}

constexpr std::size_t most_fitted = 500;  // each is compared with every row

std::vector<FittedConstant> declared(const MeasuredFile& measured, Library& library) {
  std::vector<FittedConstant> all;
  for (std::size_t row = 0; row < measured.points.size(); ++row) {
    const MeasuredPoint& point = measured.points[row];
    if (point.scored()) continue;
    const Scenario scenario = resolved(point, point.request, library);
    for (const FitRequest& fit : point.fits) {
      FittedConstant one{.constant = fit.constant};
      if (is_link_constant(fit.constant)) require_levels(scenario, point, fit.constant);
      if (fit.constant == Constant::Alpha || fit.constant == Constant::Beta)
        one.inside = within_node(scenario.cluster.network, scenario.workers);
      for (const std::string& column : fit.by)
        if (!one.inside || column != by_nodes) one.scope.emplace_back(column, point.cells.at(column));
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
      if (all.size() > most_fitted)
        throw InputError({point.place.file, point.place.path + ", calibrate"},
                         fmt::format("makes more than {} constants to fit", most_fitted),
                         "columns after `by` with fewer values");
    }
  }
  return all;
}

// Sets a lower bound for a beta that NCCL's model uses, because that divides by bandwidths.
void set_least(std::vector<FittedConstant>& constants, const MeasuredFile& measured, Library& library) {
  for (FittedConstant& one : constants) {
    if (one.constant != Constant::Beta) continue;
    const auto by_nccl = [&](const MeasuredPoint& point) {
      return one.holds_for(point) && collective_named(resolved(point, point.request, library)) == "nccl";
    };
    if (std::any_of(measured.points.begin(), measured.points.end(), by_nccl)) one.least = one.value / most_times;
  }
}

// Rejects two values of one constant for the same row.
void require_one_each(const MeasuredFile& measured, const std::vector<FittedConstant>& fitted) {
  for (const MeasuredPoint& point : measured.points)
    for (std::size_t i = 0; i < fitted.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (fitted[i].constant == fitted[j].constant && fitted[i].inside == fitted[j].inside &&
            fitted[i].holds_for(point) && fitted[j].holds_for(point))
          throw InputError(point.place,
                           fmt::format("would give {} two values", name_of(constant_words, fitted[i].constant)),
                           "the same columns after `by` in all rows that fit it");
}

// Groups the constants, by index, that share a fitting row, directly or through others.
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

// The errors of the rows to which a group's constants are fitted. Each row is simulated once for the same constants.
class Misfit {
 public:
  Misfit(const MeasuredFile& measured, std::vector<FittedConstant> constants, Library& library)
      : measured_(measured), constants_(std::move(constants)), library_(library) {
    for (std::size_t row = 0; row < measured.points.size(); ++row) {
      const MeasuredPoint& point = measured.points[row];
      const auto fits = [&](const FittedConstant& one) { return one.holds_for(point); };
      if (!point.scored() && std::any_of(constants_.begin(), constants_.end(), fits)) rows_.push_back(row);
    }
  }

  const std::vector<std::size_t>& rows() const { return rows_; }

  /// The errors if the constants `free` are `times` times their start values. The others have the files' values, except
  /// `at_start`, which has its start value.
  std::vector<double> errors(const std::vector<std::size_t>& free, const std::vector<double>& times,
                             std::optional<std::size_t> at_start = std::nullopt) {
    std::vector<FittedConstant> tried = constants_;
    for (FittedConstant& one : tried) one.used = false;
    for (std::size_t i = 0; i < free.size(); ++i) {
      tried[free[i]].used = true;
      tried[free[i]].value = scaled_start(tried[free[i]], times[i]);
    }
    if (at_start) tried[*at_start].used = true;
    std::vector<double> errors;
    for (const std::size_t row : rows_) errors.push_back(error_at(row, tried));
    return errors;
  }

 private:
  double error_at(std::size_t row, const std::vector<FittedConstant>& tried) {
    const MeasuredPoint& point = measured_.points[row];
    std::vector<double> key{static_cast<double>(row)};
    for (const FittedConstant& one : tried)
      if (one.holds_for(point)) key.push_back(one.used ? one.value : -1);
    const auto [found, fresh] = known_.emplace(key, 0.0);
    if (fresh) found->second = error_of(value_of(point, tried), point.value, measured_.quantity);
    return found->second;
  }

  // A trial that is too slow to be simulated counts as slower than all others.
  double value_of(const MeasuredPoint& point, const std::vector<FittedConstant>& tried) {
    try {
      return predict(scenario_of(point, tried, library_), point, measured_.quantity).value;
    } catch (const TimeOverflow&) {
    } catch (const InputError&) {
    }
    constexpr double beyond_the_clock = 1e7;  // seconds
    return is_time(measured_.quantity) ? beyond_the_clock : 0;
  }

  const MeasuredFile& measured_;
  std::vector<FittedConstant> constants_;
  Library& library_;
  std::vector<std::size_t> rows_;
  std::map<std::vector<double>, double> known_;
};

double squares_of(const std::vector<double>& errors) {
  return std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0);
}

// Searches along one constant after another, from a thousandth to a thousand times its start value.
std::vector<double> best_of_grid(const Residuals& errors, std::size_t count) {
  std::vector<double> best(count, 1.0);
  double least = squares_of(errors(best));
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::vector<double> from = best;
    for (int power = -10; power <= 10; ++power) {
      std::vector<double> candidate = from;
      candidate[axis] = std::exp2(power);
      const double value = squares_of(errors(candidate));
      if (!(value < least)) continue;
      least = value;
      best = candidate;
    }
  }
  return best;
}

// The start values, the best of the grid, and all combinations of a tenth and ten times the start values, with the same
// factor for constants of the same name.
std::vector<std::vector<double>> starts(const Residuals& errors, const std::vector<FittedConstant>& constants) {
  std::set<Constant> names;
  for (const FittedConstant& one : constants) names.insert(one.constant);
  std::vector<std::vector<double>> all{std::vector<double>(constants.size(), 1.0),
                                       best_of_grid(errors, constants.size())};
  for (unsigned corner = 0; corner < 1u << names.size(); ++corner) {
    std::vector<double>& start = all.emplace_back();
    for (const FittedConstant& one : constants)
      start.push_back(corner >> std::distance(names.begin(), names.find(one.constant)) & 1u ? 0.1 : 10);
  }
  return all;
}

// Fits one group's constants: free ones are fitted, the others have the files' values.
class GroupFit {
 public:
  GroupFit(Misfit misfit, const std::vector<FittedConstant>& constants)
      : misfit_(std::move(misfit)), constants_(constants), open_(constants.size()), free_(constants.size()) {
    std::iota(free_.begin(), free_.end(), std::size_t{0});
    best_ = least_squares(errors_of(free_), starts(errors_of(free_), constants));
    good_enough_ = best_.squares + noise() * noise();
    while (!free_.empty() && drop_least_determined()) {
    }
    find_other_fits();
  }

  /// Returns the constant `members[place]`, given as `one`, with the result of the fit.
  FittedConstant fitted(FittedConstant one, std::size_t place, const std::vector<std::size_t>& members) const {
    const auto found = std::find(free_.begin(), free_.end(), place);
    one.used = found != free_.end();
    if (one.used) one.value = scaled_start(one, best_.at[static_cast<std::size_t>(found - free_.begin())]);
    one.known = open_[place].empty();
    if (const auto other = others_.find(place); one.used && other != others_.end()) one.other = other->second;
    for (const std::size_t other : open_[place])
      if (other != place) one.not_told_from.push_back(members[other]);
    return one;
  }

 private:
  Residuals errors_of(const std::vector<std::size_t>& free, std::optional<std::size_t> at_start = std::nullopt) {
    return [this, free, at_start](const std::vector<double>& times) { return misfit_.errors(free, times, at_start); };
  }

  // The relative change of a row that counts as noise: 1e-3, or the size of the fit's residuals if that is smaller and
  // there are more rows than constants, but at least the 1e-6 of rounding.
  double noise() const {
    constexpr double most = 1e-3, least = 1e-6;
    if (misfit_.rows().size() <= free_.size()) return most;
    const auto more = static_cast<double>(misfit_.rows().size() - free_.size());
    return std::clamp(std::sqrt(best_.squares / more), least, most);
  }

  // Fits the other free constants again, with free_[place] at the files' value or, if `at_start`, at its start value.
  LeastSquares without(std::size_t place, bool at_start) {
    std::vector<std::size_t> others = free_;
    std::vector<double> from = best_.at;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(place));
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
    const Residuals errors = errors_of(others, at_start ? std::optional(free_[place]) : std::nullopt);
    if (others.empty()) return {{}, squares_of(errors({}))};
    return least_squares(errors, {from});
  }

  // Sets each constant that may be 0 to 0 or, if that fits as well, to its start value.
  void prefer_zero() {
    constexpr double next_to_0 = 1e-3;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      LeastSquares none = best_;
      none.at[i] = 0;
      none.squares = squares_of(errors_of(free_)(none.at));
      const bool near = best_.at[i] < next_to_0 || may_be_zero(constants_[free_[i]].constant);
      if (!near || none.squares > good_enough_) continue;
      LeastSquares rest = without(i, true);
      rest.at.insert(rest.at.begin() + static_cast<std::ptrdiff_t>(i), 1.0);
      best_ = rest.squares > good_enough_ ? std::move(none) : std::move(rest);
    }
  }

  // Gives the least determined constant that the rows can do without back to the files; returns false if there is none.
  // A constant is open if its part in directions along which a factor of two does not show (undetermined_shares()) is
  // 0.01 or more.
  bool drop_least_determined() {
    constexpr double part = 0.01;
    prefer_zero();
    std::vector<double> most;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const FittedConstant& one = constants_[free_[i]];
      most.push_back(most_of(one.constant) / one.value);
      best_.at[i] = std::min(best_.at[i], most[i]);
    }
    const auto shares = undetermined_shares(errors_of(free_), best_.at, noise(), most);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < free_.size(); ++i)
      if (best_.at[i] > 0 && shares[i][i] >= part * part) open.push_back(i);
    for (const std::size_t i : open)
      for (const std::size_t j : open)
        if (i == j || std::abs(shares[i][j]) >= part) open_[free_[i]].insert(free_[j]);
    std::stable_sort(open.begin(), open.end(),
                     [&](std::size_t one, std::size_t other) { return shares[one][one] > shares[other][other]; });
    for (const std::size_t i : open) {
      LeastSquares rest = without(i, false);
      if (rest.squares > good_enough_) continue;
      best_ = std::move(rest);
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  // True if the rows fit worse somewhere on the straight line to that point.
  bool is_separate(const Residuals& errors, const std::vector<double>& other) const {
    constexpr int parts = 8;
    for (int part = 1; part < parts; ++part) {
      std::vector<double> between = best_.at;
      for (std::size_t i = 0; i < between.size(); ++i) between[i] += (other[i] - between[i]) * part / parts;
      if (squares_of(errors(between)) > good_enough_) return true;
    }
    return false;
  }

  // Looks for other fits that are as good, starting from twice and half of each constant, since times may rise and fall
  // with it. Constants that differ there by 1 % or more are open.
  void find_other_fits() {
    constexpr double part = 0.01;
    const Residuals errors = errors_of(free_);
    for (std::size_t i = 0; i < free_.size(); ++i)
      for (const double times : {2.0, 0.5}) {
        if (!(best_.at[i] > 0)) continue;
        std::vector<double> start = best_.at;
        start[i] *= times;
        const LeastSquares other = least_squares(errors, {start});
        if (other.squares > good_enough_ || !is_separate(errors, other.at)) continue;
        std::set<std::size_t> moved;
        for (std::size_t j = 0; j < free_.size(); ++j)
          if (std::abs(other.at[j] - best_.at[j]) >= part * best_.at[j]) moved.insert(j);
        for (const std::size_t j : moved) {
          others_.emplace(free_[j], scaled_start(constants_[free_[j]], other.at[j]));
          for (const std::size_t k : moved) open_[free_[j]].insert(free_[k]);
        }
      }
  }

  Misfit misfit_;
  const std::vector<FittedConstant>& constants_;
  std::map<std::size_t, double> others_;     // by constant: its value in another fit that is as good
  std::vector<std::set<std::size_t>> open_;  // by constant: if it is open, itself and those that can compensate for it
  std::vector<std::size_t> free_;
  LeastSquares best_;       // of the free constants
  double good_enough_ = 0;  // sums of squares up to this are as good as the least
};

}  // namespace

std::vector<FittedConstant> fit_group(const MeasuredFile& measured, const ConstantsToFit& all, std::size_t group,
                                      Library& library) {
  const std::vector<std::size_t>& members = all.groups[group];
  std::vector<FittedConstant> fitted;
  for (const std::size_t member : members) fitted.push_back(all.constants[member]);
  Misfit misfit(measured, fitted, library);
  if (misfit.rows().size() < members.size()) {
    std::vector<std::string_view> names;
    for (const FittedConstant& one : fitted) names.push_back(name_of(constant_words, one.constant));
    throw InputError(measured.points[misfit.rows().front()].place,
                     fmt::format("{} rows cannot fit {} constants ({})", misfit.rows().size(), members.size(),
                                 fmt::join(names, ", ")),
                     "at least as many rows as constants");
  }
  const GroupFit fit(std::move(misfit), fitted);
  for (std::size_t i = 0; i < fitted.size(); ++i) fitted[i] = fit.fitted(fitted[i], i, members);
  return fitted;
}

ConstantsToFit constants_to_fit(const MeasuredFile& measured, Library& library) {
  std::vector<FittedConstant> constants = declared(measured, library);
  require_one_each(measured, constants);
  set_least(constants, measured, library);
  auto groups = groups_of(measured, constants);
  return {std::move(constants), std::move(groups)};
}

}  // namespace allreplay
