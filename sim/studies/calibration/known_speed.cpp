#include "sim/studies/calibration/known_speed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>

#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/calibration/judgement.hpp"
#include "sim/studies/calibration/least_squares.hpp"

namespace allreplay {

namespace {

constexpr double near_enough = 1e-9, tolerance = 1e-6;  // relative to an iteration
constexpr double longest = 1e6;                         // seconds: the limit of a layer's time in a profile

// The seconds of an iteration at that speed.
double goal_of(const Scenario& setting, const KnownSpeed& known) {
  const auto all = static_cast<double>(degrees_of(setting).dp * setting.options.strategy.sharding.accumulate *
                                       setting.profile->batch_size.value());
  const double samples = all / static_cast<double>(setting.workers);
  const double goal = samples / known.samples_per_s();
  if (!(goal <= longest))
    throw InputError(known.place, fmt::format("{} would mean an iteration of {:.3g} s", known.text(), goal),
                     fmt::format("at most {:g} s", longest));
  return goal;
}

// Runs the setting with one factor after another.
class Search {
 public:
  Search(const Scenario& setting, double goal, std::span<const LayerStarts> starts)
      : setting_(setting), goal_(goal), starts_(starts) {}

  /// Returns how much longer than the goal an iteration is, relative to the goal; 0 if close enough. Increases with the
  /// factor as long as the plan stays the same.
  double operator()(double factor) {
    Scenario scenario = setting_;
    std::vector<Layer>& layers = scenario.profile.own().layers;
    for (std::size_t i = 0; i < layers.size(); ++i)
      scale_computing(layers[i], factor, starts_.empty() ? LayerStarts{} : starts_[i]);
    AtSpeed tried{factor, run(std::move(scenario))};
    const double off = tried.outcome.result.metrics.iteration_s / goal_ - 1;
    if (std::abs(off) < std::abs(least_off_)) {
      least_off_ = off;
      best = std::move(tried);
    }
    return std::abs(off) <= near_enough ? 0 : off;
  }

  double off() const { return least_off_; }  ///< of the best
  bool found() const { return std::abs(least_off_) <= tolerance; }

  AtSpeed best;  ///< of all that were tried

 private:
  const Scenario& setting_;
  double goal_;
  std::span<const LayerStarts> starts_;
  double least_off_ = std::numeric_limits<double>::infinity();
};

std::string hint(const Scenario& setting, const std::string& limit) {
  return setting.workers > 1
             ? limit
             : fmt::format("{}; for several GPUs, give the --cluster and --strategy of the measurement", limit);
}

}  // namespace

namespace {

// The relative difference of an iteration from the measured one.
double off_with(const MeasuredSetting& one, double factor, Time floor) {
  Scenario scenario = one.setting;
  Profile& profile = scenario.profile.own();
  for (std::size_t i = 0; i < profile.layers.size(); ++i) scale_computing(profile.layers[i], factor, one.starts[i]);
  set_block_floor(profile, floor);
  return run(std::move(scenario)).result.metrics.iteration_s / goal_of(one.setting, one.known) - 1;
}

std::vector<double> all_off(std::span<const MeasuredSetting> speeds, double factor, Time floor) {
  std::vector<double> errors;
  for (const MeasuredSetting& one : speeds) errors.push_back(off_with(one, factor, floor));
  return errors;
}

// The factor with which the speed comes out under this floor.
double factor_at(const MeasuredSetting& one, Time floor) {
  Scenario scenario = one.setting;
  set_block_floor(scenario.profile.own(), floor);
  return at_speed(scenario, one.known, one.starts).factor;
}

}  // namespace

RateAndFloor rate_and_floor(std::span<const MeasuredSetting> speeds) {
  const auto by_batch = [](const MeasuredSetting& a, const MeasuredSetting& b) {
    return a.known.batch < b.known.batch;
  };
  const auto ends = std::ranges::minmax_element(speeds, by_batch);
  const auto small = ends.min, large = ends.max;
  // The largest batch, which waits for the host the least, sets the rate; the smallest one sets the floor.
  RateAndFloor found{factor_at(*large, Time(0))};
  if (off_with(*small, found.factor, Time(0)) < 0) {
    const auto too_slow = [&](double floor) {
      try {
        return off_with(*small, factor_at(*large, to_time(floor)), to_time(floor));
      } catch (const InputError&) {
        return 1.0;  // already too slow for the largest batch
      }
    };
    std::uintmax_t most = 60;
    const auto [below, above] = boost::math::tools::toms748_solve(too_slow, 0.0, goal_of(small->setting, small->known),
                                                                  boost::math::tools::eps_tolerance<double>(30), most);
    found.floor = to_time(below);
    found.factor = factor_at(*large, found.floor);
  }
  if (speeds.size() > 2 || found.floor == Time(0)) {
    const double rate = found.factor, some = found.floor > Time(0) ? to_seconds(found.floor) : 1e-3;
    const auto errors = [&](const std::vector<double>& at) {
      return all_off(speeds, rate * at[0], to_time(some * at[1]));
    };
    const double from = found.floor > Time(0) ? 1 : 0;
    const LeastSquares best = least_squares(errors, {{1, from}, {1, from / 2}, {0.9, from}, {1, 2 * from}});
    found.factor = rate * best.at[0];
    found.floor = to_time(some * best.at[1]);
  }
  found.errors = all_off(speeds, found.factor, found.floor);
  return found;
}

std::string KnownSpeed::text(double other) const {
  return other >= 1000 ? fmt::format("{:.0f} {}", other, unit) : fmt::format("{:.4g} {}", other, unit);
}

AtSpeed at_speed(const Scenario& setting, const KnownSpeed& known, std::span<const LayerStarts> starts) {
  constexpr double least_part = 1e-6;  // the smallest factor that is tried, relative to the largest
  const double goal = goal_of(setting, known);
  const double computing = static_cast<double>(setting.options.strategy.sharding.accumulate) *
                           to_seconds(add(setting.profile->forward(), setting.profile->backward())) /
                           static_cast<double>(setting.options.parallel.pp);
  Search search(setting, goal, starts);
  double low = least_part * goal / computing, high = goal / computing;
  double at_low = search(low);
  if (at_low > 0) {
    const std::string limit = fmt::format("less than {}", known.text(known.value / (1 + at_low)));
    throw InputError(
        known.place,
        fmt::format("no compute time is short enough for {}: {} alone takes {}", known.text(),
                    starts.empty() ? "communication" : "all but computing", format_duration(goal * (1 + at_low))),
        hint(setting, limit));
  }
  double at_high = search(high);
  while (at_high < 0) {  // all workers are faster than in the profile
    low = high, at_low = at_high;
    at_high = search(high *= 2);
  }
  std::uintmax_t most = 100;
  const auto [below, above] =
      boost::math::tools::toms748_solve([&](double factor) { return search(factor); }, low, high, at_low, at_high,
                                        boost::math::tools::eps_tolerance<double>(), most);
  if (search.found()) return std::move(search.best);
  const auto speed_at = [&](double factor) { return known.value / (1 + search(factor)); };
  const double slower = speed_at(above), faster = speed_at(below), taken = known.value / (1 + search.off());
  AtSpeed nearest = std::move(search.best);
  nearest.note = fmt::format(
      "{} cannot run at exactly {} here, since its plan changes there: the nearest are {} and {}; {} is taken",
      setting.strategy->name, known.text(), known.text(slower), known.text(faster), known.text(taken));
  return nearest;
}

std::string note_on_unit(const KnownSpeed& known, double share, double factor) {
  constexpr double least = 0.01;
  if (share >= least) return "";
  const auto slip = unit_slip(factor, known.place.path == "--mfu" ? 100 : 1000);
  return fmt::format("{} is {:.2g} % of the roofline: check it{}", known.text(), 100 * share,
                     slip ? fmt::format("; was {} meant?", known.text(known.value / *slip)) : "");
}

}  // namespace allreplay
