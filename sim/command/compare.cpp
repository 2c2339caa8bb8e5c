#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/experiment/compare_picture.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/timeline_picture.hpp"
#include "sim/picture/picture_file.hpp"

namespace allreplay {

namespace {

struct Arguments {
  ScenarioArguments scenario;
  std::vector<std::string> strategies;
  std::string plot, timeline;
  bool json = false, csv = false;
};

void print_csv(const std::vector<Outcome>& outcomes) {
  fmt::print("{}\n", csv_header(row_of(outcomes.front())));
  for (const Outcome& outcome : outcomes) fmt::print("{}\n", to_csv(row_of(outcome)));
}

void print_json(const std::vector<Outcome>& outcomes) {
  std::vector<Row> rows;
  for (const Outcome& outcome : outcomes) rows.push_back(row_of(outcome));
  fmt::print("{}\n", to_json(rows));
}

void execute(Arguments arguments) {
  for (const auto& [file, option] : {std::pair(arguments.plot, "--plot"), {arguments.timeline, "--timeline"}}) {
    if (file.empty()) continue;
    require_picture(file, argument(option));
    require_not_input(file, option, {arguments.scenario.profile, arguments.scenario.cluster});
  }
  if (arguments.strategies.empty())
    for (const Strategy& strategy : strategies()) arguments.strategies.emplace_back(strategy.name);
  Library library;
  std::vector<Scenario> scenarios;  // all are checked before the first is run
  for (std::string& name : arguments.strategies) {
    name = CLI::detail::trim_copy(name);
    Request request = arguments.scenario.request(name);
    request.place_of_strategy = argument("--strategies");
    scenarios.push_back(library.resolve(request));
  }
  std::vector<Outcome> outcomes;
  for (Scenario& scenario : scenarios) outcomes.push_back(run(std::move(scenario)));
  if (!arguments.plot.empty()) write_picture(arguments.plot, draw(compare_chart(outcomes)));
  if (!arguments.timeline.empty()) write_picture(arguments.timeline, timeline_picture(outcomes));
  for (const Outcome& outcome : outcomes) warn(outcome.result.warning);
  if (arguments.json)
    print_json(outcomes);
  else if (arguments.csv)
    print_csv(outcomes);
  else
    fmt::print("{}", compare_report(outcomes));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("compare", "simulate several strategies and set them side by side");
  add_scenario_options(*command, arguments->scenario);
  command->add_option("-s,--strategies", arguments->strategies, "a,b,c (all of them)")->delimiter(',');
  auto* json = command->add_flag("--json", arguments->json, "print a JSON array");
  command->add_flag("--csv", arguments->csv, "print CSV")->excludes(json);
  command->add_option("--plot", arguments->plot, "draw what makes up each iteration as bars: FILE.svg, .png or .pdf");
  command->add_option("--timeline", arguments->timeline,
                      "draw the iterations one below the other on one time axis: FILE.svg, .png or .pdf");
  command->footer(
      "Example:\n  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64 --strategies "
      "wfbp,mg-wfbp,optimal-merge\n"
      "  allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --plot bars.svg --timeline timelines.svg");
  command->callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
