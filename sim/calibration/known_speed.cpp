#include "sim/calibration/known_speed.hpp"

#include <cmath>
#include <limits>

#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>

#include "sim/training/parallel_setup.hpp"

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
  Search(const Scenario& setting, double goal) : setting_(setting), goal_(goal) {}

  /// Returns how much longer than the goal an iteration is, relative to the goal; 0 if close enough. Increases with the
  /// factor as long as the plan stays the same.
  double operator()(double factor) {
    Scenario scenario = setting_;
    for (Layer& layer : scenario.profile.own().layers) {
      layer.forward = scaled(layer.forward, factor);
      layer.backward = scaled(layer.backward, factor);
      scale_parallel_parts(layer, 1, factor);
    }
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
  double least_off_ = std::numeric_limits<double>::infinity();
};

std::string hint(const Scenario& setting, const std::string& limit) {
  return setting.workers > 1
             ? limit
             : fmt::format("{}; for several GPUs, give the --cluster and --strategy of the measurement", limit);
}

}  // namespace

std::string KnownSpeed::text(double other) const {
  return other >= 1000 ? fmt::format("{:.0f} {}", other, unit) : fmt::format("{:.4g} {}", other, unit);
}

AtSpeed at_speed(const Scenario& setting, const KnownSpeed& known) {
  constexpr double least_part = 1e-6;  // the smallest factor that is tried, relative to the largest
  const double goal = goal_of(setting, known);
  const double computing = static_cast<double>(setting.options.strategy.sharding.accumulate) *
                           to_seconds(add(setting.profile->forward(), setting.profile->backward())) /
                           static_cast<double>(setting.options.parallel.pp);
  Search search(setting, goal);
  double low = least_part * goal / computing, high = goal / computing;
  double at_low = search(low);
  if (at_low > 0) {
    const std::string limit = fmt::format("less than {}", known.text(known.value / (1 + at_low)));
    throw InputError(known.place,
                     fmt::format("no compute time is short enough for {}: communication alone takes {}", known.text(),
                                 format_duration(goal * (1 + at_low))),
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

}  // namespace allreplay
