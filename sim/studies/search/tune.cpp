#include "sim/studies/search/tune.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/core/random.hpp"
#include "sim/studies/search/gaussian_process.hpp"

namespace allreplay {

bool better(const Trial& a, const Trial& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.iteration_s < b.iteration_s : a.memory_bytes < b.memory_bytes;
}

namespace {

using Setting = std::vector<std::string>;

class Tuner {
 public:
  Tuner(const TuneRequest& request, const Measure& measure) : request_(request), measure_(measure) {}

  std::vector<Trial> run(const Setting& given) {
    Point point;
    for (std::size_t i = 0; i < given.size(); ++i) point.push_back(place_of(request_.ranges[i], given[i]));
    const bool inside = std::all_of(point.begin(), point.end(), [](double x) { return x >= 0 && x <= 1; });
    if (inside) propose(point, given);
    if (request_.method == TuneMethod::Grid) {
      grid();
    } else {
      if (inside) try_choices(point, given);
      bayes();
    }
    measure_batch();
    return std::move(trials_);
  }

 private:
  std::size_t dimensions() const { return request_.ranges.size(); }
  std::size_t budget() const { return static_cast<std::size_t>(request_.budget); }
  std::size_t proposed() const { return points_.size(); }

  Setting setting_at(const Point& point) const {
    Setting setting;
    for (std::size_t i = 0; i < point.size(); ++i) setting.push_back(value_at(request_.ranges[i], point[i]));
    return setting;
  }

  // Adds the setting to the next batch and returns true, unless it was taken before or the budget is spent.
  bool propose(const Point& point, Setting setting) {
    if (proposed() >= budget() || !taken_.insert(setting).second) return false;
    points_.push_back(point);
    batch_.push_back(std::move(setting));
    return true;
  }
  bool propose(const Point& point) { return propose(point, setting_at(point)); }

  void measure_batch() {
    if (batch_.empty()) return;
    const std::vector<TrialResult> costs = measure_(batch_);
    for (std::size_t i = 0; i < batch_.size(); ++i) trials_.push_back({costs[i], std::move(batch_[i])});
    batch_.clear();
  }

  void grid() {
    const auto steps = static_cast<std::size_t>(
        std::pow(static_cast<double>(budget()) + 0.5, 1.0 / static_cast<double>(dimensions())));
    std::vector<std::size_t> index(dimensions(), 0);
    for (;;) {
      Point point;
      for (const std::size_t i : index)
        point.push_back(steps <= 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(steps - 1));
      propose(point);
      std::size_t digit = dimensions();
      while (digit > 0 && ++index[digit - 1] >= std::max<std::size_t>(1, steps)) index[--digit] = 0;
      if (digit == 0) return;
    }
  }

  Point random_point(Random& random) const {
    Point point;
    for (std::size_t i = 0; i < dimensions(); ++i) point.push_back(random.uniform());
    return point;
  }

  // Tries every value of a choice with the other options as given, and then the best values of all choices together.
  // Does nothing if that would take more than half of the budget.
  void try_choices(const Point& point, const Setting& given) {
    std::size_t words = 0;
    for (const Range& range : request_.ranges)
      if (range.kind == Range::Kind::Choice) words += range.values.size() - 1;
    if (2 * words > budget()) return;
    struct Alternative {
      std::size_t range, trial;
    };
    std::vector<Alternative> alternatives;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Range& range = request_.ranges[i];
      if (range.kind != Range::Kind::Choice) continue;
      for (const std::string& value : range.values) {
        Setting setting = given;
        Point place = point;
        setting[i] = value;
        place[i] = place_of(range, value);
        if (propose(place, std::move(setting))) alternatives.push_back({i, proposed() - 1});
      }
    }
    if (alternatives.empty()) return;
    measure_batch();
    Setting together = given;
    Point place = point;
    std::vector<std::size_t> best(given.size(), 0);  // by range; trial 0 is the given setting
    for (const auto [range, trial] : alternatives)
      if (better(trials_[trial], trials_[best[range]])) best[range] = trial;
    for (std::size_t i = 0; i < given.size(); ++i) {
      together[i] = trials_[best[i]].values[i];
      place[i] = points_[best[i]][i];
    }
    propose(place, std::move(together));
  }

  void bayes() {
    Random random(request_.seed, 0);
    // Starts with a Latin hypercube, which covers each option's range evenly.
    const std::size_t first = std::min(budget(), 4 + 2 * dimensions());
    std::vector<std::vector<std::size_t>> rows(dimensions(), std::vector<std::size_t>(first));
    for (auto& row : rows) {
      for (std::size_t i = 0; i < first; ++i) row[i] = i;
      for (std::size_t left = first; left > 1; --left) std::swap(row[left - 1], row[random.below(left)]);
    }
    for (std::size_t i = 0; i < first; ++i) {
      Point point;
      for (const auto& row : rows)
        point.push_back((static_cast<double>(row[i]) + random.uniform()) / static_cast<double>(first));
      propose(point);
    }
    measure_batch();
    while (proposed() < budget()) {
      constexpr int side_by_side = 4;
      for (int i = 0; i < side_by_side; ++i) propose_most_promising(random);
      if (batch_.empty()) return;  // no untried settings were found
      measure_batch();
    }
  }

  // Proposes the point with the largest expected improvement among random points and neighbours of the best one. Points
  // of this batch, not measured yet, count with the model's mean (the "Kriging believer").
  void propose_most_promising(Random& random) {
    std::vector<double> values;
    // Makes settings that do not fit worse than all that do.
    constexpr double penalty = 1000;
    for (const Trial& trial : trials_) values.push_back(std::log(trial.iteration_s * (trial.fits ? 1 : penalty)));
    if (values.size() < points_.size()) {
      const GaussianProcess known({points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(values.size())},
                                  values);
      for (std::size_t i = values.size(); i < points_.size(); ++i) values.push_back(known.at(points_[i]).mean);
    }
    const GaussianProcess model(points_, values);
    const auto least = std::min_element(values.begin(), values.end());
    const Point& best = points_[static_cast<std::size_t>(least - values.begin())];
    Point winner;
    double most = -1;
    for (int candidate = 0; candidate < 400; ++candidate) {
      Point point = random_point(random);
      if (candidate % 2 == 1)
        std::transform(best.begin(), best.end(), point.begin(),
                       [&](double x) { return std::clamp(x + 0.1 * random.normal(), 0.0, 1.0); });
      if (taken_.count(setting_at(point))) continue;
      const double gain = expected_improvement(model.at(point), *least);
      if (gain <= most) continue;
      most = gain;
      winner = std::move(point);
    }
    if (!winner.empty()) propose(winner);
  }

  const TuneRequest& request_;
  const Measure& measure_;
  std::vector<Point> points_;  // of all proposed settings, the measured ones first
  std::set<Setting> taken_;
  std::vector<Setting> batch_;
  std::vector<Trial> trials_;
};

}  // namespace

std::vector<Trial> tune(const TuneRequest& request, const std::vector<std::string>& given, const Measure& measure) {
  return Tuner(request, measure).run(given);
}

std::size_t fastest(const std::vector<Trial>& trials) {
  return static_cast<std::size_t>(std::min_element(trials.begin(), trials.end(), better) - trials.begin());
}

}  // namespace allreplay
