// What to run: all strategies tuned and ranked, in the words of their frameworks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/reasons.hpp"
#include "sim/experiment/scaling.hpp"
#include "sim/farm/farm.hpp"
#include "sim/search/tune.hpp"

namespace allreplay {

/// One strategy with its best options: of those that are as fast, the options as given, or the fewest changed.
struct Advice {
  Outcome tuned;
  Options given;                 ///< before anything was tuned
  double given_s = 0;            ///< the iteration time with the options as given (defaults, mostly)
  std::string settings;          ///< in the framework's words, or how to get the plan itself
  std::string schedule;          ///< chosen_schedule()
  std::vector<std::string> run;  ///< the words after `allreplay run` that replay it, where they are known
  std::vector<Trial> trials;     ///< all settings that were tried
  Reasons why;                   ///< the tuned iteration takes as long as it does
  bool ties = false;             ///< as fast as the first, which is simpler to run
  ScalingReference reference;    ///< of all sizes
};

/// strategy_text(): `best` may be asked twice.
std::string name_of(const Advice& advice);

struct RecommendRequest {
  std::int64_t budget = 24;  ///< trials per strategy
  std::uint64_t seed = 1;
  int jobs = 2;
  WinningRule rule;
};

/// A strategy that cannot do what was asked for, and why.
struct RuledOut {
  std::string strategy;
  std::string why;
};

/// What is to be said of one scenario, or what is wrong with it.
struct Answered {
  std::optional<Advice> advice;
  std::string wrong;
};

/// Tunes one scenario.
Answered advise(const Scenario& scenario, const RecommendRequest& request);

/// The same in another process: as bytes there, and taken out of them here.
std::string packed_advice(const Scenario& scenario, const RecommendRequest& request);
Answered unpacked_advice(const Scenario& scenario, const std::string& bytes);

/// Answers to these scenarios, sorted as recommend() does.
std::vector<Advice> ranked(std::vector<Answered> answers, const std::vector<Scenario>& scenarios,
                           const WinningRule& rule, std::vector<RuledOut>& ruled_out);

/// Tunes each scenario (they differ in their strategy), and ranks them by the request's rule; what cannot be simulated
/// is added to `ruled_out`. Throws InputError where that is all of them.
std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request,
                              std::vector<RuledOut>& ruled_out);

/// The same for every size, each by its scenarios; by the other processes of a farm (answer_advice()) where there are
/// any.
std::vector<std::vector<Advice>> recommend(const std::vector<std::vector<Scenario>>& sizes,
                                           const RecommendRequest& request, std::vector<RuledOut>& ruled_out,
                                           Farm* farm);

/// What these do: one scenario of one size at a time.
Farm::Answer answer_advice(std::vector<std::vector<Scenario>> sizes, RecommendRequest request);

/// The least iteration time without compression, of some strategies with the options as given, on the cluster's own
/// collective: of those that a framework offers where all of the ranking are one framework's.
struct Uncompressed {
  std::string strategy;
  double iteration_s = 0;
};
Uncompressed fastest_uncompressed(const std::vector<Advice>& ranking);

}  // namespace allreplay
