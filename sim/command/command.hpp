// The commands of the program, a file each. add_X() describes the command to CLI11 and says what it runs.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "sim/experiment/request.hpp"

namespace CLI {
class App;
}

namespace allreplay {

void add_run(CLI::App& app);
void add_compare(CLI::App& app);
void add_sweep(CLI::App& app);
void add_plan(CLI::App& app);
void add_topology(CLI::App& app);
void add_collective(CLI::App& app);
void add_codec(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_tune(CLI::App& app);
void add_recommend(CLI::App& app);
void add_import(CLI::App& app);
void add_estimate(CLI::App& app);
void add_export(CLI::App& app);
void add_report(CLI::App& app);
void add_list(CLI::App& app);
void add_man(CLI::App& app);         ///< of all commands of `app`, which has to live on
void add_completion(CLI::App& app);  ///< likewise

/// What `allreplay list` lists.
const std::vector<std::string>& listable();

/// What --profile, --cluster and the options beside them were given as.
struct ScenarioArguments {
  std::string profile, cluster, workers, collective, fidelity, codec, forward_ratio;
  std::vector<std::string> options;  ///< key=value
  bool no_reuse = false;

  /// The request for one strategy, or for the plan in a file. Throws InputError at the option that is wrong.
  Request request(const std::string& strategy, const std::string& plan = "") const;
};

/// Adds those options to `command`.
void add_scenario_options(CLI::App& command, ScenarioArguments& arguments);

/// Adds --strategy and --plan, of which one is to be given.
void add_strategy_or_plan(CLI::App& command, std::string& strategy, std::string& plan);
/// Throws InputError unless it is one.
void require_strategy_or_plan(const std::string& strategy, const std::string& plan);

/// Throws InputError at `option` when the file `out`, to be written, is one of the inputs.
void require_not_input(const std::string& out, const std::string& option, std::initializer_list<std::string> inputs);

/// A place on the command line.
Place argument(const std::string& option);

/// "warning: …" on standard error, once for each text.
void warn(const std::string& text);

}  // namespace allreplay
