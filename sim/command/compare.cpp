#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/run.hpp"
#include "sim/picture/picture_file.hpp"
#include "sim/training/communication.hpp"
#include "sim/training/sharding.hpp"
#include "sim/view/compare_picture.hpp"
#include "sim/view/timeline_picture.hpp"

namespace allreplay {

namespace {

struct CompareArguments {
  ScenarioArguments scenario;
  std::vector<std::string> strategies, plans;
  std::string plot, timeline;
  bool json = false, csv = false;
};

void print_csv(const std::vector<Outcome>& outcomes) {
  print("{}\n", csv_header());
  for (const Outcome& outcome : outcomes) print("{}\n", to_csv(row_of(outcome)));
}

void print_json(const std::vector<Outcome>& outcomes) {
  std::vector<Row> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(row_of(outcome));
  print("{}\n", to_json(rows));
}

// What is to be compared, and what a complaint about one of them calls it.
struct Candidate {
  std::string name;
  Scenario scenario;
};

// Those that were named; else every strategy that goes with what else was asked for.
std::vector<Candidate> candidates_of(const CompareArguments& arguments) {
  Library library;
  std::vector<Candidate> candidates;
  for (const std::string& name : arguments.strategies) {
    Request request = arguments.scenario.request(std::string(trim(name)));
    request.place_of_strategy = argument("--strategies");
    candidates.push_back({request.strategy, library.resolve(request)});
  }
  for (const std::string& plan : arguments.plans)
    candidates.push_back({plan, library.resolve(arguments.scenario.request("", plan))});
  if (!candidates.empty()) return candidates;
  for (const Strategy& strategy : strategies()) {
    Scenario scenario = library.resolve(arguments.scenario.request(std::string(strategy.name)));
    if (goes_with(scenario)) candidates.push_back({std::string(strategy.name), std::move(scenario)});
  }
  if (candidates.empty())  // with groups, say, that nothing makes: the first one's complaint
    require_possible(library.resolve(arguments.scenario.request(std::string(strategies().front().name))));
  return candidates;
}

// What one of them cannot do does not stop the others. Each is checked before the first is run.
std::vector<Outcome> outcomes_of(const std::vector<Candidate>& candidates) {
  std::vector<std::pair<std::string, InputError>> complaints;
  const auto possible = [&](const Candidate& one, const auto& work) {
    try {
      work(one.scenario);
      return true;
    } catch (const InputError& error) {
      complaints.emplace_back(one.name, error);
      return false;
    }
  };
  std::vector<const Candidate*> chosen;
  for (const Candidate& one : candidates)
    if (possible(one, require_possible)) chosen.push_back(&one);
  std::vector<Outcome> outcomes;
  for (const Candidate* one : chosen)
    possible(*one, [&](const Scenario& scenario) { outcomes.push_back(run_with_progress(scenario)); });
  if (outcomes.empty()) throw complaints.front().second;
  for (const auto& [name, why] : complaints) warn(left_out(name, why.what()));
  return outcomes;
}

void execute(const CompareArguments& arguments) {
  for (const auto& [file, option] : {std::pair(arguments.plot, "--plot"), {arguments.timeline, "--timeline"}}) {
    if (file.empty()) continue;
    require_picture(file, argument(option));
  }
  require_separate({{"--plot", arguments.plot}, {"--timeline", arguments.timeline}},
                   arguments.scenario.files(arguments.plans));
  const std::vector<Outcome> outcomes = outcomes_of(candidates_of(arguments));
  if (!arguments.plot.empty()) write_picture(arguments.plot, draw(compare_chart(outcomes)));
  if (!arguments.timeline.empty()) write_picture(arguments.timeline, timeline_picture(outcomes));
  for (const Outcome& outcome : outcomes) warn(outcome.result.warning);
  if (arguments.json)
    print_json(outcomes);
  else if (arguments.csv)
    print_csv(outcomes);
  else
    print("{}", compare_report(outcomes, screen()));
}

}  // namespace

void add_compare(CommandLine& app) {
  auto arguments = std::make_shared<CompareArguments>();
  Command command = app.add_subcommand("compare", "simulate several strategies and set them side by side");
  add_scenario_options(command, arguments->scenario);
  command.add_option("-s,--strategies", arguments->strategies, "a,b,c (all of them, unless there is --plan)")
      .delimiter(',');
  command.add_option("--plan", arguments->plans, "a plan from a file; any number of times").allow_extra_args(false);
  const Option json = command.add_flag("--json", arguments->json, "print a JSON array");
  command.add_flag("--csv", arguments->csv, "print CSV").excludes(json);
  command.add_option("--plot", arguments->plot, "draw what makes up each iteration as bars: FILE.svg, .png or .pdf");
  command.add_option("--timeline", arguments->timeline,
                     "draw the iterations one below the other on one time axis: FILE.svg, .png or .pdf");
  command.footer(
      "Example:\n  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64 --strategies "
      "wfbp,mg-wfbp,optimal-merge\n"
      "  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --plot bars.svg --timeline timelines.svg");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
