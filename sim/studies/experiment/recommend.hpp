// Recommends what to run: tunes and ranks all strategies, and writes the winner as settings of its framework.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/farm/farm.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/reasons.hpp"
#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/search/tune.hpp"

namespace allreplay {

/// One strategy with its best options. Of equally fast ones the given options win, or the fewest changes.
struct Advice {
  Outcome tuned;
  Options given;                 ///< before anything was tuned
  double given_s = 0;            ///< the iteration time with the given options (mostly defaults)
  std::string settings;          ///< in the framework's syntax, or how to get the plan
  std::string schedule;          ///< chosen_schedule()
  std::vector<std::string> run;  ///< arguments of `allreplay run` that replay it; may be unknown
  std::vector<Trial> trials;     ///< all settings tried
  Reasons why;                   ///< the causes of the tuned iteration time
  bool ties = false;             ///< as fast as the winner, which is simpler to run
  ScalingReference reference;    ///< common to all sizes
};

/// strategy_text() of the advice, which distinguishes two variants of `best`.
std::string name_of(const Advice& advice);

struct RecommendRequest {
  std::int64_t budget = 24;  ///< trials per strategy
  std::uint64_t seed = 1;
  int jobs = 2;
  WinningRule rule;
  Watch watch = {};  ///< counts strategies and replays for the reference; in what_if() also changes
};

/// A strategy that cannot run the scenario, and why.
struct RuledOut {
  std::string strategy;
  std::string why;
};

/// The advice on one scenario, or the error.
struct Answered {
  std::optional<Advice> advice;
  std::string wrong;
};

/// Tunes one scenario.
Answered advise(const Scenario& scenario, const RecommendRequest& request);

/// advise() in another process: the result as bytes, and read from them.
std::string packed_advice(const Scenario& scenario, const RecommendRequest& request);
Answered unpacked_advice(const Scenario& scenario, const std::string& bytes);

/// Sorts the answers to these scenarios as recommend() does.
std::vector<Advice> ranked(std::vector<Answered> answers, const std::vector<Scenario>& scenarios,
                           const WinningRule& rule, std::vector<RuledOut>& ruled_out);

/// Tunes each scenario (they differ in their strategy), and ranks them by the request's rule. Adds scenarios that
/// cannot be simulated to `ruled_out`. Throws InputError if none can.
std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request,
                              std::vector<RuledOut>& ruled_out);

/// recommend() for several sizes, each given by its scenarios, on a farm (answer_advice()) if `farm` is not null.
std::vector<std::vector<Advice>> recommend(const std::vector<std::vector<Scenario>>& sizes,
                                           const RecommendRequest& request, std::vector<RuledOut>& ruled_out,
                                           Farm* farm);

/// The work of the farm's processes: advise() on one scenario of one size.
Farm::Answer answer_advice(std::vector<std::vector<Scenario>> sizes, RecommendRequest request);

/// Returns the fastest of some strategies without compression, with the given options and the cluster's own collective.
/// The strategies are those of the ranking if a single framework offers all of these, else a fixed few.
struct Uncompressed {
  std::string strategy;
  double iteration_s = 0;
};
Uncompressed fastest_uncompressed(const std::vector<Advice>& ranking);

}  // namespace allreplay
