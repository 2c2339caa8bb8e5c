#include <algorithm>
#include <cmath>

#include <boost/math/tools/minima.hpp>
#include <fmt/format.h>

#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/collective_pricing.hpp"
#include "sim/studies/calibration/causes.hpp"
#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/calibration/judgement.hpp"

namespace allreplay {

namespace {

// The scenario of the log's collective on the request's cluster.
Scenario scenario_of_log(Library& library, const Request& request, const MeasurementLog& log) {
  Scenario scenario = library.resolve_network(request);
  scenario.operation = log.operation;
  scenario.options.parallel = {};
  return scenario;
}

class LogTrials {
 public:
  LogTrials(Library& library, const Request& base, const LogJudgement& judgement)
      : library_(library), base_(base), judgement_(judgement) {
    for (const JudgedSize& one : judgement.sizes) sizes_.push_back(one.bytes);
  }

  Cause cause_of(const std::string& name, CauseKind kind, const std::vector<CauseWord>& words) {
    Request request = base_;
    apply_words(request, words);
    const CollectivePricing pricing = price_collective(scenario_of_log(library_, request, judgement_.log), sizes_);
    Cause cause{name, kind};
    std::size_t largest = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double time = pricing.rows[i].time_s;
      cause.miss += std::abs(std::log(judgement_.sizes[i].time_s / time)) / static_cast<double>(sizes_.size());
      effect_ = std::max(i == 0 ? 0 : effect_, std::abs(std::log(time / judgement_.sizes[i].expected_s)));
      if (sizes_[i] >= sizes_[largest]) largest = i;
    }
    cause.time_s = pricing.rows[largest].time_s;
    cause.own_flags = flags_of(words);
    return cause;
  }

  Cause cause_of(const FixedCause& fixed) { return cause_of(fixed.name, fixed.kind, fixed.words); }

  // Chooses the size with the least mean miss.
  Cause cause_of(const FittedCause& fitted) {
    const auto at = [&](double log_size) {
      CauseWord word = fitted.word;
      const std::string size = fitted.text(std::exp(log_size));
      word.value = fmt::format(fmt::runtime(word.value), size);
      return cause_of(fitted.name(size), fitted.kind, {word});
    };
    const double none = std::log(fitted.none), most = std::log(fitted.most);
    std::uintmax_t trials = 30;
    const double best = boost::math::tools::brent_find_minima([&](double size) { return at(size).miss; },
                                                              std::min(none, most), std::max(none, most), 12, trials)
                            .first;
    Cause cause = at(best);
    cause.is_fitted = true;
    cause.departure = std::abs(best);
    return cause;
  }

  /// The largest |log| of a time of the last cause over the expected one.
  double effect() const { return effect_; }

 private:
  Library& library_;
  const Request& base_;
  const LogJudgement& judgement_;
  std::vector<Bytes> sizes_;
  double effect_ = 0;
};

void add_ranges(LogJudgement& judgement) {
  for (std::size_t i = 0; i < collective_sizes.size(); ++i) {
    JudgedRange range{.from = collective_sizes[i], .error = judgement.errors->by_size[i]};
    if (i + 1 < collective_sizes.size()) range.to = collective_sizes[i + 1];
    const double widest = quotient_at(range.error.p90, true);
    std::vector<double> ratios;
    for (JudgedSize& one : judgement.sizes) {
      if (one.bytes < range.from || (range.to && one.bytes >= *range.to)) continue;
      one.verdict = verdict_on(one.ratio, widest);
      if (one.verdict == SpeedVerdict::Slow) ++range.slow;
      if (one.verdict == SpeedVerdict::Fast) ++range.fast;
      if (ratios.empty() || std::abs(std::log(one.ratio)) > std::abs(std::log(range.worst)))
        range.worst = one.ratio, range.worst_bytes = one.bytes;
      ratios.push_back(one.ratio);
    }
    if (ratios.empty()) continue;
    range.sizes = ratios.size();
    range.ratio = median(std::move(ratios));
    if (2 * (range.slow + range.fast) >= range.sizes)
      range.verdict = range.slow >= range.fast ? SpeedVerdict::Slow : SpeedVerdict::Fast;
    judgement.ranges.push_back(range);
  }
}

bool needs_causes(const JudgedRange& range) {
  return range.verdict != SpeedVerdict::AsExpected ||
         std::abs(std::log(range.ratio)) > std::log(quotient_at(range.error.median, true));
}

void add_causes_of_log(Library& library, const Request& request, LogJudgement& judgement) {
  std::vector<double> ratios;
  for (const JudgedSize& one : judgement.sizes) ratios.push_back(one.ratio);
  const SpeedVerdict verdict = verdict_on(judgement.ranges);
  const bool slower =
      verdict == SpeedVerdict::AsExpected ? median(std::move(ratios)) > 1 : verdict == SpeedVerdict::Slow;
  const Causes all = causes_in_network(judgement.scenario, slower, true);
  LogTrials trials(library, request, judgement);
  const auto add = [&](const auto& asked, const std::string& name) {
    constexpr double no_effect = 0.002;
    try {
      Cause cause = trials.cause_of(asked);
      if (trials.effect() < no_effect)
        judgement.without_effect.push_back(std::move(cause.name));
      else
        judgement.causes.push_back(std::move(cause));
    } catch (const InputError& error) {
      judgement.left_out.push_back(fmt::format("{}: {}", name, error.what()));
    }
  };
  for (const FixedCause& one : all.fixed) add(one, one.name);
  for (const FittedCause& one : all.fitted) add(one, one.name("…"));
  sort_causes(judgement.causes, 1 + fitted_miss_in_log);
}

}  // namespace

SpeedVerdict verdict_on(const std::vector<JudgedRange>& ranges) {
  for (const SpeedVerdict verdict : {SpeedVerdict::Slow, SpeedVerdict::Fast})
    for (const JudgedRange& range : ranges)
      if (range.verdict == verdict) return verdict;
  return SpeedVerdict::AsExpected;
}

LogJudgement judge(Library& library, Request request, MeasurementLog log) {
  if (log.workers == 0) throw InputError({log.file, ""}, "does not say how many workers took part", "--workers N");
  if (log.workers < 2) throw InputError({log.file, ""}, "is of one worker, which sends nothing", "a log of several");
  if (log.operation == CollectiveOp::Send)
    throw InputError({log.file, ""},
                     fmt::format("{} sends single messages, which clusters do not price", log.benchmark),
                     "a log of a collective; or `allreplay calibrate`");
  constexpr std::size_t most = 10'000;  // each is priced for every cause
  if (log.points.size() > most)
    throw InputError({log.file, ""}, fmt::format("has {} sizes", log.points.size()), fmt::format("at most {}", most));
  request.workers = log.workers;
  if (!log.total_gathered && log.operation == CollectiveOp::AllGather)
    for (Measurement& row : log.points) row.bytes *= log.workers;  // payloads: the price applies to all together
  LogJudgement judgement{.log = std::move(log)};
  judgement.scenario = scenario_of_log(library, request, judgement.log);
  const Network& network = judgement.scenario.cluster.network;
  judgement.errors = &nearest_collective_errors(network, judgement.log.workers);
  judgement.is_nccl = collective_named(judgement.scenario) == "nccl";
  std::vector<Bytes> sizes;
  for (const Measurement& row : judgement.log.points) sizes.push_back(row.bytes);
  const CollectivePricing pricing = price_collective(judgement.scenario, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const CollectiveRow& row = pricing.rows[i];
    if (!(row.time_s > 0))
      throw InputError(network.place, fmt::format("gives a collective of {} no time", format_size(row.bytes)),
                       "a cluster with start-ups and bandwidths");
    JudgedSize one{row.bytes, judgement.log.points[i].seconds, row.time_s, 0, row.busbw_GBps};
    one.ratio = one.time_s / one.expected_s;
    one.busbw_GBps = one.expected_busbw_GBps / one.ratio;
    judgement.sizes.push_back(one);
  }
  add_ranges(judgement);
  if (std::any_of(judgement.ranges.begin(), judgement.ranges.end(), needs_causes))
    add_causes_of_log(library, request, judgement);
  return judgement;
}

}  // namespace allreplay
