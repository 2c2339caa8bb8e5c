#include "sim/studies/experiment/recommend.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/farm/batch.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/plans/schedule/pytorch_buckets.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/doubt.hpp"
#include "sim/studies/experiment/sweep_file.hpp"
#include "sim/studies/experiment/tuning.hpp"
#include "sim/studies/experiment/wire_format.hpp"
#include "sim/studies/results/outcome.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

// For messages between processes; an advice's outcome is packed separately.
void members(Of<Trial> auto& trial, auto& pass) {
  pass.all(trial.iteration_s, trial.memory_bytes, trial.fits, trial.collectives, trial.values);
}
void members(Of<Advice> auto& advice, auto& pass) {
  pass.all(advice.given_s, advice.why, advice.settings, advice.schedule, advice.trials);
}

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }

// True if a run with these values, as far as its result is known, takes longer or more memory than the outcome.
bool is_known_worse(const TuningTrace& tried, const std::vector<std::string>& values, const Outcome& than) {
  const auto worse = [&](double iteration_s, double memory_bytes) {
    return iteration_s > than.result.metrics.iteration_s || memory_bytes > than.result.memory.peak;
  };
  if (values == tried.given_values)
    return worse(tried.given.result.metrics.iteration_s, tried.given.result.memory.peak);
  const auto trial =
      std::find_if(tried.trials.begin(), tried.trials.end(), [&](const Trial& one) { return one.values == values; });
  return trial != tried.trials.end() && worse(trial->iteration_s, trial->memory_bytes);
}

// Resets each changed option to its given value if that costs neither time nor memory.
std::pair<Outcome, std::vector<std::string>> without_idle_changes(const TuningTrace& tried,
                                                                  std::vector<std::string> values) {
  Outcome outcome = run(with_options(tried.given.scenario, tried.ranges, values));
  std::size_t idle = 0;  // options looked at since the last reset
  for (std::size_t i = 0; idle < values.size(); i = (i + 1) % values.size(), ++idle) {
    if (values[i] == tried.given_values[i]) continue;
    std::vector<std::string> fewer = values;
    fewer[i] = tried.given_values[i];
    if (is_known_worse(tried, fewer, outcome)) continue;
    Outcome other = run(with_options(tried.given.scenario, tried.ranges, fewer));
    if (other.result.metrics.iteration_s > outcome.result.metrics.iteration_s ||
        other.result.memory.peak > outcome.result.memory.peak)
      continue;
    values = std::move(fewer);
    outcome = std::move(other);
    idle = 0;
  }
  return {std::move(outcome), std::move(values)};
}

// Ranks the given options, which change nothing, and the settings that were tried. If nothing fits, the setting with
// the least memory wins. Returns the winner and its values, which are empty for the given options.
std::pair<Outcome, std::vector<std::string>> winner_of(const TuningTrace& tried, const WinningRule& rule) {
  const Outcome& given = tried.given;
  const auto& limit = given.scenario.options.memory.limit;
  std::vector<Contender> contenders{{.fits = fits(given.scenario, given.result),
                                     .iteration_s = given.result.metrics.iteration_s,
                                     .collectives = given.result.metrics.collectives,
                                     .memory_bytes = given.result.memory.peak,
                                     .free = free_share(limit, given.result.memory.peak)}};
  for (const Trial& trial : tried.trials) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < trial.values.size(); ++i) changed += trial.values[i] != tried.given_values[i];
    contenders.push_back({.fits = trial.fits,
                          .iteration_s = trial.iteration_s,
                          .changed = std::max<std::size_t>(changed, 1),
                          .collectives = trial.collectives,
                          .memory_bytes = trial.memory_bytes,
                          .free = free_share(limit, trial.memory_bytes)});
  }
  const bool any_fits =
      std::any_of(contenders.begin(), contenders.end(), [](const Contender& one) { return one.fits; });
  const auto least = std::min_element(contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
    return a.memory_bytes < b.memory_bytes;
  });
  const std::size_t winner =
      any_fits ? rank(contenders, rule).order.front() : static_cast<std::size_t>(least - contenders.begin());
  if (winner == 0) return {given, {}};
  return without_idle_changes(tried, tried.trials[winner - 1].values);
}

// Returns the command that writes the plan, for strategies that no framework has settings for.
std::string plan_command(const Scenario& tuned) {
  std::vector<std::string> words{"allreplay", "plan", "--strategy", std::string(tuned.strategy->name)};
  const NamedValues matter = options_in_effect(tuned);
  for (const auto& change : changed_options(Scenario(), tuned))
    if (std::any_of(matter.begin(), matter.end(), [&](const auto& one) { return one.first == change.first; }))
      words.insert(words.end(), {"--option", change.first + "=" + change.second});
  words.emplace_back("--json");
  return fmt::format("the plan of `{}`", shell_words(words));
}

std::string settings_of(const Scenario& tuned, const Plan& plan) {
  const std::string words = settings_of(*tuned.strategy, tuned.options.strategy, tuned.profile);
  if (!words.empty()) return words;
  if (tuned.strategy->offer.framework == "pytorch" && !tuned.codec)
    if (const auto buckets = pytorch_buckets(plan, tuned.profile)) return pytorch_code(plan, *buckets);
  return plan_command(tuned);
}

// Returns the advice and the chosen values of the ranges, which are empty for the given options.
std::pair<Advice, std::vector<std::string>> advise_and_values(const Scenario& given, const RecommendRequest& request) {
  const Scenario scenario = as_printed(given);
  const std::vector<Range> ranges = default_ranges(scenario);
  Advice advice{.given = given.options};
  std::vector<std::string> values;
  if (ranges.empty() || scenario.workers == 1) {
    advice.tuned = run(scenario);
    advice.given_s = metrics(advice).iteration_s;
  } else {
    const TuningTrace tried =
        try_settings(scenario, {ranges, request.budget, TuneMethod::Bayes, request.seed}, request.jobs);
    advice.given_s = tried.given.result.metrics.iteration_s;
    std::tie(advice.tuned, values) = winner_of(tried, request.rule);
    advice.trials = tried.trials;
  }
  // as_printed() drops options that settings cannot express, such as a credit of four blocks.
  if (!changed_options(given, scenario).empty()) advice.given_s = run(given).result.metrics.iteration_s;
  const Scenario& tuned = advice.tuned.scenario;
  advice.settings = settings_of(tuned, advice.tuned.result.plan);
  advice.schedule = chosen_schedule(advice.tuned);
  advice.why = reasons_of(advice.tuned);
  advice.tuned.result.episodes.clear();
  advice.tuned.result.unrolled = {};
  return {std::move(advice), std::move(values)};
}

Advice unpacked(const Scenario& given, Unpacker& unpacker) {
  const Scenario scenario = as_printed(given);
  std::vector<std::string> values;
  unpacker.all(values);
  const std::vector<Range> ranges = values.empty() ? std::vector<Range>() : default_ranges(scenario);
  Advice advice{.given = given.options};
  advice.tuned = unpack(unpacker, with_options(scenario, ranges, values));
  unpacker.all(advice);
  return advice;
}

std::vector<Advice> ranked(std::vector<Advice> unsorted, const WinningRule& rule) {
  std::vector<Outcome*> race;
  for (Advice& one : unsorted) race.push_back(&one.tuned);
  add_doubts(race, rule);
  // The strategies of maintained frameworks are also ranked among themselves.
  std::erase_if(race, [&](const Outcome* one) { return contender_of(*one, rule).offered > Offered::Replaced; });
  add_doubts(race, rule);
  std::vector<Contender> contenders;
  for (const Advice& one : unsorted) contenders.push_back(contender_of(one.tuned, rule));
  const Ranking order = rank(contenders, rule);
  std::vector<Advice> ranking;
  for (const std::size_t place : order.order) ranking.push_back(std::move(unsorted[place]));
  for (std::size_t i = 1; i < order.tied; ++i) ranking[i].ties = true;
  return ranking;
}

// Sets the scaling reference of all sizes: that of the winner on the most workers.
void add_references(std::vector<std::vector<Advice>>& sizes, const Watch& watch) {
  const ScalingReference reference = scaling_reference(sizes.back().front().tuned, watch);
  for (std::vector<Advice>& ranking : sizes)
    for (Advice& one : ranking) one.reference = reference;
}

using SizeAndStrategy = std::pair<std::size_t, std::size_t>;

}  // namespace

std::string name_of(const Advice& advice) { return strategy_text(advice.tuned.scenario); }

Answered advise(const Scenario& scenario, const RecommendRequest& request) {
  try {
    return {advise_and_values(scenario, request).first, ""};
  } catch (const InputError& error) {
    return {std::nullopt, error.what()};
  }
}

std::string packed_advice(const Scenario& scenario, const RecommendRequest& request) {
  return pack_or_error([&](Packer& packer) {
    const auto [advice, values] = advise_and_values(scenario, request);
    packer.all(values);
    pack(packer, advice.tuned);
    packer.all(advice);
  });
}

Answered unpacked_advice(const Scenario& scenario, const std::string& bytes) {
  Unpacker unpacker(bytes);
  if (const auto wrong = take_error(unpacker)) return {std::nullopt, *wrong};
  return {unpacked(scenario, unpacker), ""};
}

std::vector<Advice> ranked(std::vector<Answered> answers, const std::vector<Scenario>& scenarios,
                           const WinningRule& rule, std::vector<RuledOut>& ruled_out) {
  std::vector<Advice> ranking;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i].advice)
      ranking.push_back(std::move(*answers[i].advice));
    else
      ruled_out.push_back({strategy_text(scenarios[i]), answers[i].wrong});
  if (ranking.empty() && !answers.empty()) throw InputError(answers.front().wrong);
  return ranked(std::move(ranking), rule);
}

std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request,
                              std::vector<RuledOut>& ruled_out) {
  std::vector<Answered> answers;
  for (const Scenario& scenario : scenarios) answers.push_back(advise(scenario, request));
  return ranked(std::move(answers), scenarios, request.rule, ruled_out);
}

std::vector<std::vector<Advice>> recommend(const std::vector<std::vector<Scenario>>& sizes,
                                           const RecommendRequest& request, std::vector<RuledOut>& ruled_out,
                                           Farm* farm) {
  std::vector<SizeAndStrategy> all;
  std::vector<std::vector<Answered>> answers;
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    answers.emplace_back(sizes[size].size());
    for (std::size_t i = 0; i < sizes[size].size(); ++i) all.emplace_back(size, i);
  }
  const auto scenario = [&](std::size_t job) -> const Scenario& { return sizes[all[job].first][all[job].second]; };
  const auto answer = [&](std::size_t job) -> Answered& { return answers[all[job].first][all[job].second]; };
  // The trials of one scenario already run in parallel.
  const Batch one_at_a_time{1, farm, watched(request.watch, all.size())};
  one_at_a_time.run({.count = all.size(),
                     .here = [&](std::size_t job) { answer(job) = advise(scenario(job), request); },
                     .asked =
                         [&](std::size_t job) {
                           const auto [size, i] = all[job];
                           return FarmJob{Packer().add(size).add(i).bytes(), expected_cost(scenario(job))};
                         },
                     .take = [&](std::size_t job,
                                 const std::string& bytes) { answer(job) = unpacked_advice(scenario(job), bytes); }});
  std::vector<std::vector<Advice>> rankings;
  for (std::size_t size = 0; size < sizes.size(); ++size)
    rankings.push_back(ranked(std::move(answers[size]), sizes[size], request.rule, ruled_out));
  add_references(rankings, request.watch);
  return rankings;
}

Farm::Answer answer_advice(std::vector<std::vector<Scenario>> sizes, RecommendRequest request) {
  request.jobs = 1;
  return [sizes = std::move(sizes), request](const std::string& work) {
    Unpacker unpacker(work);
    const auto size = unpacker.take<std::size_t>(), i = unpacker.take<std::size_t>();
    return packed_advice(sizes.at(size).at(i), request);
  };
}

Uncompressed fastest_uncompressed(const std::vector<Advice>& ranking) {
  const Scenario& scenario = ranking.front().tuned.scenario;
  const std::string_view framework = scenario.strategy->offer.framework;
  const bool one = !framework.empty() && std::all_of(ranking.begin(), ranking.end(), [&](const Advice& advice) {
    return advice.tuned.scenario.strategy->offer.framework == framework;
  });
  std::vector<const Strategy*> candidates;
  for (const Advice& advice : ranking)
    if (one) candidates.push_back(advice.tuned.scenario.strategy);
  for (const char* name : {"ddp", "optimal-merge", "bytescheduler", "dear"})
    if (!one) candidates.push_back(&find_strategy(name, {}));
  Uncompressed least{"", std::numeric_limits<double>::infinity()};
  for (const Strategy* candidate : candidates) {
    Scenario plain = scenario;
    plain.codec.reset();
    plain.collective.clear();
    plain.strategy = candidate;
    plain.options = ranking.front().given;
    const double time = simulate(plain).metrics.iteration_s;
    if (time < least.iteration_s) least = {std::string(candidate->name), time};
  }
  return least;
}

}  // namespace allreplay
