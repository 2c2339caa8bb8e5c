#include "sim/studies/calibration/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/calibration/causes.hpp"
#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/calibration/known_speed.hpp"
#include "sim/studies/experiment/scaling.hpp"

namespace allreplay {

namespace {

constexpr double no_effect = 0.002;  // |log| of a time over the expected one

double speed_of(const Outcome& outcome, const MeasuredNumber& measured) {
  const SpeedPerGpu speed = speed_per_gpu(outcome.scenario, outcome.result.metrics);
  const std::string& profile = outcome.scenario.profile->name;
  const auto known = [&](const std::optional<double>& value, const std::string& lacks, const char* instead) {
    if (!value) throw InputError(measured.place, fmt::format("{} has no {}", profile, lacks), instead);
    return *value;
  };
  switch (measured.kind) {
    case MeasuredKind::Tokens:
      return known(speed.tokens_per_s, "tokens", "--samples-per-second or --iteration");
    case MeasuredKind::Samples:
      return known(speed.samples_per_s, "batch size", "--iteration");
    case MeasuredKind::Mfu:
      return known(speed.mfu, "operations that count, or the peak of its device is unknown", "--iteration");
    case MeasuredKind::Iteration:
      break;
  }
  return 1 / outcome.result.metrics.iteration_s;
}

// Runs what `judge` asks, with one library.
class Trials {
 public:
  Trials(Library& library, const Request& base, Judgement& judgement)
      : library_(library), base_(base), judgement_(judgement) {}

  double expected_s() const { return judgement_.expected.result.metrics.iteration_s; }

  Request request_with(const std::vector<CauseWord>& words) const {
    Request request = base_;
    apply_words(request, words);
    return request;
  }

  double time_with(const std::vector<CauseWord>& words) {
    Scenario scenario = resolved(request_with(words));
    return run(std::move(scenario)).result.metrics.iteration_s;
  }

  Cause cause_of(const FixedCause& fixed) {
    Cause cause{fixed.name, fixed.kind, time_with(fixed.words)};
    add_flags(cause, fixed.words);
    return cause;
  }

  // Chooses the size so that the simulated time is the measured one, or as near as it can be.
  Cause cause_of(const FittedCause& fitted) {
    const auto words = [&](double size) {
      CauseWord word = fitted.word;
      word.value = fmt::format(fmt::runtime(word.value), fitted.text(size));
      return std::vector{word};
    };
    const auto off = [&](double log_size) {
      return std::log(time_with(words(std::exp(log_size))) / judgement_.measured_s);
    };
    const double none = std::log(fitted.none), most = std::log(fitted.most);
    const double at_none = std::log(expected_s() / judgement_.measured_s), at_most = off(most);
    double size = most;
    if ((at_none > 0) != (at_most > 0)) {
      std::uintmax_t trials = 20;
      const auto [low, high] = none < most ? solve(off, none, most, at_none, at_most, trials)
                                           : solve(off, most, none, at_most, at_none, trials);
      size = (low + high) / 2;
    }
    const std::vector<CauseWord> best = words(std::exp(size));
    Cause cause{fitted.name(fitted.text(std::exp(size))), fitted.kind, time_with(best)};
    cause.is_fitted = true;
    cause.departure =
        fitted.none == 1 ? std::abs(size) : std::max(0.0, std::log1p(std::exp(size) / fitted.usual) - std::log(2.0));
    add_flags(cause, best);
    return cause;
  }

  // All layers faster or slower by one factor.
  std::optional<Cause> cause_of_computing() {
    if (!judgement_.expected.scenario.profile->batch_size) return std::nullopt;
    const std::optional<double> rate = speed_per_gpu(judgement_.expected.scenario, metrics()).samples_per_s;
    if (!rate) return std::nullopt;
    const KnownSpeed known{.value = *rate * expected_s() / judgement_.measured_s,
                           .unit = "samples/s",
                           .place = judgement_.measured.place,
                           .batch = *judgement_.expected.scenario.profile->batch_size};
    Scenario scenario = resolved(base_);
    scenario.options.strategy.sharding.accumulate = judgement_.expected.result.plan.sharding.accumulate;
    const AtSpeed at = at_speed(scenario, known);
    const bool slower = at.factor > 1;
    Cause cause{
        fmt::format("all GPUs {:.3g} times as {}", slower ? at.factor : 1 / at.factor, slower ? "slow" : "fast"),
        CauseKind::Computing, at.outcome.result.metrics.iteration_s};
    cause.is_fitted = true;
    cause.departure = std::abs(std::log(at.factor));
    return cause;
  }

 private:
  template <class Function>
  static std::pair<double, double> solve(const Function& off, double low, double high, double at_low, double at_high,
                                         std::uintmax_t& trials) {
    return boost::math::tools::toms748_solve(off, low, high, at_low, at_high,
                                             boost::math::tools::eps_tolerance<double>(12), trials);
  }

  const Metrics& metrics() const { return judgement_.expected.result.metrics; }

  Scenario resolved(const Request& request) {
    const std::lock_guard lock(mutex_);
    Scenario scenario = library_.resolve(request);
    scenario.parts = false;
    return scenario;
  }

  void add_flags(Cause& cause, const std::vector<CauseWord>& words) const {
    cause.own_flags = flags_of(words);
    cause.flags = run_flags(request_with(words));
  }

  Library& library_;
  const Request& base_;
  Judgement& judgement_;
  std::mutex mutex_;  // the library is not thread-safe
};

// Causes that no option simulates: nothing overlaps, everything does, and other numbers than the one that was asked
// for.
std::vector<Cause> causes_without_options(const Judgement& judgement, bool slower) {
  const auto& [scenario, result, wall_s] = judgement.expected;
  const Metrics& metrics = result.metrics;
  std::vector<Cause> causes;
  if (slower)
    causes.push_back({"no overlap", CauseKind::Overlap, null_models(metrics).no_overlap + metrics.straggler_s});
  else if (metrics.lower_bound_s)
    causes.push_back({"perfect overlap", CauseKind::Overlap, *metrics.lower_bound_s});
  const bool time = judgement.measured.kind == MeasuredKind::Iteration,
             mfu = judgement.measured.kind == MeasuredKind::Mfu;
  const auto batches = static_cast<double>(result.plan.sharding.accumulate);
  if (batches > 1 && slower != time)
    causes.push_back({fmt::format("the number is that of one of {:g} micro-batches", batches), CauseKind::Number,
                      metrics.iteration_s * (time ? 1 / batches : batches)});
  if (scenario.workers > 1 && !slower && !time && !mfu)
    causes.push_back({fmt::format("the number is that of all {} GPUs, not of one", scenario.workers), CauseKind::Number,
                      metrics.iteration_s / static_cast<double>(scenario.workers)});
  return causes;
}

void add_causes(Library& library, const Request& request, Judgement& judgement, int jobs) {
  const bool slower = judgement.measured_s > judgement.expected.result.metrics.iteration_s;
  const Causes all = slower ? causes_of_slowness(judgement.expected, judgement.measured_s)
                            : causes_of_speed(judgement.expected, request);
  Trials trials(library, request, judgement);
  const std::size_t fixed = all.fixed.size(), fitted = all.fitted.size();
  std::vector<std::optional<Cause>> found(fixed + fitted + 1);
  std::vector<std::string> wrong(found.size());
  run_in_threads(jobs, found.size(), [&](std::size_t i) {
    try {
      if (i < fixed)
        found[i] = trials.cause_of(all.fixed[i]);
      else if (i < fixed + fitted)
        found[i] = trials.cause_of(all.fitted[i - fixed]);
      else
        found[i] = trials.cause_of_computing();
    } catch (const InputError& error) {
      wrong[i] = error.what();
    }
  });
  std::vector<Cause> causes = causes_without_options(judgement, slower);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) causes.push_back(std::move(*found[i]));
    if (!wrong[i].empty())
      judgement.left_out.push_back(fmt::format("{}: {}", i < fixed ? all.fixed[i].name : "a fitted size", wrong[i]));
  }
  for (Cause& cause : causes) {
    cause.miss = std::abs(std::log(judgement.measured_s / cause.time_s));
    const double change = std::log(cause.time_s / trials.expected_s());
    if ((slower ? change : -change) < no_effect)
      judgement.without_effect.push_back(std::move(cause.name));
    else
      judgement.causes.push_back(std::move(cause));
  }
  sort_causes(judgement.causes, judgement.error.median_quotient());
}

std::int64_t fewer_workers(Library& library, Request request, const Scenario& expected) {
  const std::int64_t node = node_workers_of(expected.cluster.network);
  for (std::int64_t workers = expected.workers > node ? node : 1; workers < expected.workers; workers *= 2) {
    request.workers = workers;
    try {
      const Outcome smaller = run(library.resolve(request));
      if (fits(smaller.scenario, smaller.result)) return workers;
    } catch (const InputError&) {  // too few for the job's degrees of parallelism
    }
  }
  return 0;
}

}  // namespace

SpeedVerdict verdict_on(double ratio, double widest) {
  if (ratio > widest) return SpeedVerdict::Slow;
  return ratio < 1 / widest ? SpeedVerdict::Fast : SpeedVerdict::AsExpected;
}

std::optional<double> unit_slip(double ratio, double step) {
  const double steps = std::log(ratio) / std::log(step);
  if (std::abs(std::abs(steps) - 1) > 1.0 / 3) return std::nullopt;
  return steps > 0 ? 1 / step : step;
}

void sort_causes(std::vector<Cause>& causes, double median_quotient) {
  const auto key = [&](const Cause& cause) {
    constexpr double close = 0.005;  // fitted sizes are rounded to three digits
    if (!cause.is_fitted) return std::pair(cause.miss, 0.0);
    return std::pair(std::log(median_quotient) + (cause.miss < close ? 0 : cause.miss),
                     std::floor(2 * cause.departure));
  };
  std::stable_sort(causes.begin(), causes.end(), [&](const Cause& a, const Cause& b) { return key(a) < key(b); });
}

double in_unit(const Outcome& expected, MeasuredKind kind, double seconds) {
  if (kind == MeasuredKind::Iteration) return seconds;
  return speed_of(expected, {.kind = kind}) * expected.result.metrics.iteration_s / seconds;
}

Judgement judge(Library& library, const Request& request, const MeasuredNumber& measured, int jobs) {
  Judgement judgement{.measured = measured};
  judgement.expected = run(library.resolve(request));
  judgement.expected.result.episodes.clear();
  judgement.expected.result.unrolled = {};
  judgement.flags = run_flags(request);
  const double expected_s = judgement.expected.result.metrics.iteration_s;
  const double speed = speed_of(judgement.expected, measured);
  judgement.measured_s =
      measured.kind == MeasuredKind::Iteration ? measured.value : expected_s * speed / measured.value;
  judgement.error = nearest_error(judgement.expected);
  const double ratio = judgement.measured_s / expected_s;
  constexpr double most = 1e6;
  if (!(ratio > 1 / most && ratio < most))
    throw InputError(measured.place,
                     fmt::format("is a million times off: an iteration of {:.3g} s is expected", expected_s),
                     "a measured number, in the unit of its option");
  judgement.verdict = verdict_on(ratio, judgement.error.p90_quotient());
  if (std::abs(std::log(ratio)) > std::log(judgement.error.median_quotient()))
    add_causes(library, request, judgement, jobs);
  if (!judgement.causes.empty()) judgement.fewer_workers = fewer_workers(library, request, judgement.expected.scenario);
  return judgement;
}

}  // namespace allreplay
