#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/output/view/compare_picture.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/programs/command/help.hpp"
#include "sim/replay/network/rounds_fabric.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/doubt.hpp"
#include "sim/studies/experiment/memory_remedy.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/side_by_side.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/experiment/sweep_file.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

namespace {

struct CompareArguments {
  ScenarioArguments scenario;
  SeveralArguments several;
  WinningArguments winning;
  TrainingArguments training;
  std::vector<std::string> strategies, plans;
  std::string plot, timeline, jobs = "2";
  bool json = false, csv = false;

  /// True if every strategy that is compatible with the other options is compared.
  bool all() const { return selects_all(strategies) || (strategies.empty() && plans.empty()); }
};

std::vector<Row> rows_of(const Comparison& comparison) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < comparison.outcomes.size(); ++i) {
    Row& row = rows.emplace_back(row_of(comparison.outcomes[i]));
    append_cost(row, comparison.training, comparison.outcomes[i]);
    append_paired(row, comparison, i);
  }
  return rows;
}

// The scenarios to compare, and those left out.
struct Candidates {
  std::vector<Scenario> scenarios;
  std::vector<Request> requests;      // for each scenario
  std::vector<std::string> ways;      // for each scenario its strategy, or its plan's file
  std::vector<std::string> left_out;  // strategies incompatible with the other options, if all are compared
  std::vector<std::pair<std::int64_t, InputError>> impossible;  // numbers of workers, with the reason
  OptionsOfSome options;
};

using Choices = std::vector<Requests::Choice>;

// A choice for each word; without words, one that leaves the request as it is.
template <class Word>
Choices choices_of(const std::vector<std::string>& words, Word Request::*word) {
  Choices choices;
  for (const std::string& one : words) choices.emplace_back([=](Request& request) { request.*word = one; });
  if (choices.empty()) choices.emplace_back([](Request&) {});
  return choices;
}

Choices choices_of_workers(const Files& files, const std::vector<std::string>& given) {
  Choices choices;
  for (const std::string& some : split_list(files, given, "--workers"))
    for (const std::string& count : worker_counts(some))
      choices.emplace_back([count = parse_integer(count, 1, most_workers, argument("--workers"))](Request& request) {
        request.workers = count;
      });
  if (choices.empty()) choices.emplace_back([](Request&) {});
  return choices;
}

// The strategies and plans to compare, each with the values of its options.
std::vector<Requests::Branch> ways_of(const Files& files, const CompareArguments& arguments) {
  const bool all = arguments.all();
  const auto options = several_options(files, arguments.several);
  std::vector<Requests::Branch> ways;
  const std::vector<std::string> names = names_in(arguments.strategies, argument("--strategies"));
  for (const std::string& name : all ? names_of_all_strategies() : names)
    ways.push_back({[name, all](Request& request) {
                      request.strategy = name;
                      if (!all) request.strategy.place = argument("--strategies");
                    },
                    options});
  for (const std::string& plan : arguments.plans)
    ways.push_back({[=](Request& request) { request.plan = plan; }, options});
  return ways;
}

// Throws InputError for an unknown collective or fidelity, even if no scenario would use it.
void require_known(const std::vector<std::string>& collectives, const std::vector<std::string>& fidelities) {
  for (const std::string& one : collectives)
    if (!names_a_file(one)) find_algorithm(one, argument("--collective"));
  for (const std::string& one : fidelities) find_fidelity(one, argument("--fidelity"));
}

Requests requests_of(const Files& files, const CompareArguments& arguments) {
  const auto& [clusters, workers, collectives, fidelities, codecs, flags] = arguments.several;
  const auto collective = split_list(files, collectives, "--collective"),
             fidelity = split_list(files, fidelities, "--fidelity");
  require_known(collective, fidelity);
  Request base = arguments.scenario.request("");
  const auto options = std::exchange(base.options, {});  // a product sets these by itself
  refuse_lists(options);
  const Requests::Product product{
      {choices_of(split_list(files, clusters, "--cluster", "topologies"), &Request::cluster),
       choices_of_workers(files, workers),
       choices_of(collective, &Request::collective),
       choices_of(fidelity, &Request::fidelity),
       choices_of(split_list(files, codecs, "--codec", "models/codecs"), &Request::codec),
       {[base](Request& request) { request = base; }}},  // last, since choices apply from the last to the first
      ways_of(files, arguments)};
  constexpr std::size_t most = 10'000;
  if (product.size() > most)
    throw InputError({"command line", ""}, fmt::format("this makes more than {} combinations", most),
                     "fewer combinations, or a sweep");
  Requests requests;
  requests.add(std::make_shared<Requests::Product>(product), [options](Request& request) {
    request.options.insert(request.options.begin(), options.begin(), options.end());
  });
  return requests;
}

// Resolves a request; returns nothing if its number of workers is impossible, and records that for a warning.
std::optional<Scenario> resolve_size(Library& library, const Request& request, Candidates& candidates) {
  const auto is_known = [&](const auto& one) { return one.first == request.workers.value; };
  if (std::any_of(candidates.impossible.begin(), candidates.impossible.end(), is_known)) return std::nullopt;
  try {
    return library.resolve(request);
  } catch (const InputError& error) {
    if (!request.workers.value || error.place().path != argument("--workers").path) throw;
    candidates.impossible.emplace_back(*request.workers.value, error);
    return std::nullopt;
  }
}

// Resolves the scenarios: the named strategies and plans, or every strategy that is compatible with the other options.
Candidates candidates_of(const Inputs& inputs, const CompareArguments& arguments) {
  const Requests requests = requests_of(inputs.files, arguments);
  const bool all = arguments.all();
  Library library(inputs);
  Candidates candidates;
  NamesOfFiles names;
  std::set<std::vector<std::string>> flat;  // requests without a pipeline, and without pipeline options
  for (Request request : requests) {
    std::optional<Scenario> resolved = resolve_size(library, request, candidates);
    if (!resolved) continue;
    Scenario& scenario = *resolved;
    if (!scenario.options.parallel.pipeline()) {
      std::erase_if(request.options, [](const OptionText& one) { return is_pipeline_option(one.name); });
      if (!flat.insert(run_flags(request)).second) continue;
    }
    candidates.options.drop_others(library, request, scenario);
    names.add(request, scenario);
    if (all && !is_compatible(scenario)) {
      if (std::find(candidates.left_out.begin(), candidates.left_out.end(), request.strategy) ==
          candidates.left_out.end())
        candidates.left_out.push_back(request.strategy);
      continue;
    }
    candidates.scenarios.push_back(std::move(scenario));
    candidates.ways.push_back(request.plan.empty() ? request.strategy : request.plan);
    candidates.requests.push_back(std::move(request));
  }
  if (candidates.scenarios.empty() && !candidates.impossible.empty())
    throw InputError(candidates.impossible.front().second);
  candidates.options.require_taken();
  if (candidates.scenarios.empty())  // for example impossible groups: fail with the first request's reason
    require_possible(library.resolve(requests[0]));
  return candidates;
}

// Texts, each once, with what it is about.
class TextsOnce {
 public:
  void add(const std::string& text, std::size_t about) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == text; });
    (known == all.end() ? all.emplace_back(text, std::vector<std::size_t>()) : *known).second.push_back(about);
  }

  std::vector<std::pair<std::string, std::vector<std::size_t>>> all;
};

std::vector<std::string> labels_of(const ScenarioLabels& labels, const std::vector<std::size_t>& places) {
  std::vector<std::string> each;
  for (const std::size_t place : places) each.push_back(labels.label(place));
  return each;
}

// Warns of each reason why candidates were left out.
void warn_of(Console& console, const TextsOnce& reasons, const Candidates& candidates) {
  std::vector<Names> names;
  for (std::size_t i = 0; i < candidates.scenarios.size(); ++i) {
    names.push_back(identifying_names(candidates.scenarios[i]));
    names.back()[named_by_strategy] = candidates.ways[i];  // a plan's file
  }
  const ScenarioLabels labels(names);
  for (const auto& [why, places] : reasons.all)
    console.warn_on_success(left_out(listed(labels_of(labels, places), 4), why, places.size() > 1));
}

struct Simulated {
  std::vector<Outcome> outcomes;
  std::vector<std::size_t> numbers;  // of their candidates
};

// Checks all candidates, then simulates them. A failure becomes a warning; throws InputError if all fail.
Simulated simulate_all(Console& console, const Candidates& candidates, const CompareArguments& arguments) {
  TextsOnce reasons;
  std::optional<InputError> first;
  const auto leave_out = [&](std::size_t candidate, const InputError& why) {
    if (!first) first = why;
    reasons.add(why.what(), candidate);
  };
  std::vector<Scenario> chosen;
  std::vector<std::size_t> numbers;
  std::size_t steps = 0;
  for (std::size_t i = 0; i < candidates.scenarios.size(); ++i) try {
      require_possible(candidates.scenarios[i]);
      chosen.push_back(candidates.scenarios[i]);
      numbers.push_back(i);
      steps += steps_of(chosen.back());
    } catch (const InputError& error) {
      leave_out(i, error);
    }
  std::vector<Attempt> attempts = run_side_by_side(chosen, {.jobs = parse_jobs(arguments.jobs),
                                                            .keep_timelines = !arguments.timeline.empty(),
                                                            .advance = console.watch("compare")(steps)});
  Simulated simulated;
  for (std::size_t i = 0; i < attempts.size(); ++i)
    if (attempts[i].outcome) {
      simulated.outcomes.push_back(std::move(*attempts[i].outcome));
      simulated.numbers.push_back(numbers[i]);
    } else {
      leave_out(numbers[i], *attempts[i].wrong);
    }
  if (simulated.outcomes.empty()) throw InputError(*first);
  warn_of(console, reasons, candidates);
  return simulated;
}

// The smallest outcome and what would make it fit, if none does.
std::optional<SmallestMisfit> smallest_misfit(const Inputs& inputs, const std::vector<Outcome>& outcomes,
                                              const Candidates& candidates, const std::vector<std::size_t>& numbers) {
  if (std::ranges::any_of(outcomes, [](const Outcome& one) { return fits(one.scenario, one.result); }))
    return std::nullopt;
  const auto least = std::ranges::min_element(outcomes, {}, [](const Outcome& one) { return one.result.memory.peak; });
  const auto place = static_cast<std::size_t>(least - outcomes.begin());
  Library library(inputs);
  return SmallestMisfit{place, memory_remedy(library, candidates.requests[numbers[place]])};
}

// The files that the comparison reads.
std::vector<std::string> compared_files(const Files& files, const CompareArguments& arguments) {
  std::vector<std::string> named = arguments.scenario.files(files, arguments.plans);
  for (const std::string& one : split_list(files, arguments.several.clusters, "--cluster", "topologies"))
    named.push_back(file_behind(files, "topologies", one));
  for (const std::string& one : split_list(files, arguments.several.codecs, "--codec", "models/codecs"))
    named.push_back(file_behind(files, "models/codecs", one));
  return named;
}

// Prints each note once, with the scenarios it applies to.
void print_notes(Console& console, const std::vector<Outcome>& outcomes) {
  TextsOnce notes;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (const std::string& note = outcomes[i].result.note; !note.empty()) notes.add(note, i);
  const ScenarioLabels labels = labels_of(outcomes);
  for (const auto& [note, places] : notes.all)
    console.note(fmt::format("{}: {}", listed(labels_of(labels, places)), note));
}

void execute(Context& context, const CompareArguments& arguments) {
  require_separate(context.files(),
                   {picture_at("--plot", arguments.plot), picture_at("--timeline", arguments.timeline)},
                   compared_files(context.files(), arguments));
  Comparison comparison{.rule = arguments.winning.rule(), .by_offer = arguments.all()};
  comparison.training = arguments.training.training();
  auto& [outcomes, references, rule, by_offer, training, over_best, misfit] = comparison;
  const Candidates candidates = candidates_of(context.inputs, arguments);
  require_countable(training, candidates.scenarios);
  note_left_out(context.console, candidates.left_out);
  candidates.options.tell(context.console);
  for (const auto& [workers, why] : candidates.impossible)
    context.console.warn_on_success(left_out(fmt::format("{} workers", workers), why.what(), true));
  auto [simulated, numbers] = simulate_all(context.console, candidates, arguments);
  outcomes = std::move(simulated);
  for (const OutcomeGroup& group : groups_of(outcomes, rule, by_offer))
    for (const Ranking& race : races(outcomes, rule, group)) {
      std::vector<Outcome*> racers;
      for (const std::size_t one : race.order) racers.push_back(&outcomes[one]);
      add_doubts(racers, rule, false, context.console.watch("compare: doubt"));
    }
  over_best = differences_from_fastest(comparison);
  if (!arguments.csv)
    references = scaling_references(outcomes, rule, context.console.watch("compare: scaling reference"));
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, draw(compare_chart(comparison)));
  if (!arguments.timeline.empty()) write_picture(context.files(), arguments.timeline, timeline_picture(outcomes));
  for (const Outcome& outcome : outcomes) context.console.warn(outcome.result.warning);
  print_notes(context.console, outcomes);
  warn_of_idle_options(context.console, arguments.scenario, outcomes);
  if (arguments.json) return context.console.print_json(compare_json(comparison));
  if (arguments.csv) return print_csv(context.console, rows_of(comparison));
  misfit = smallest_misfit(context.inputs, outcomes, candidates, numbers);
  context.console.show(compare_view(), compare_document(comparison));
}

}  // namespace

void add_compare(CommandLine& app) {
  auto [command, arguments] =
      app.add<CompareArguments>("compare", "compare several strategies, on several networks, fastest first", execute);
  add_model_options(command, add_scenario_options(command, arguments.scenario, &arguments.several), arguments.scenario);
  add_config_option(command, arguments.scenario.configs);
  add_winning_options(command, arguments.winning);
  add_doubt_option(command, arguments.winning);
  add_training_options(command, arguments.training);
  add_seeds_option(command, arguments.scenario.seeds);
  command.add_option("-s,--strategy,--strategies", arguments.strategies, values::strategies,
                     "a,b,c, or all (all, unless --plan is given)");
  command.add_option("--plan", arguments.plans, values::file, "a plan from a file; any number of times");
  add_jobs_option(command, arguments.jobs, "scenarios");
  Option& json = command.add_flag("--json", arguments.json, "print a JSON array, in the order given");
  command.add_flag("--csv", arguments.csv, "print CSV, in the order given").excludes(json);
  command.add_option("--plot", arguments.plot, values::file,
                     "draw the parts of each iteration as bars: FILE.svg, .png or .pdf");
  command.add_option("--timeline", arguments.timeline, values::file,
                     "draw the iterations below each other on one time axis: FILE.svg, .png or .pdf");
  command.footer =
      "Example:\n  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64 --strategies "
      "wfbp,mg-wfbp,optimal-merge\n"
      "  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe,v100-10gbe --collective "
      "ring,halving-doubling --workers 16,64 --strategies ddp,best\n"
      "  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --plot bars.svg --timeline timelines.svg";
}

}  // namespace allreplay
