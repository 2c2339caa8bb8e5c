// The program's commands, one source file each, registered by add_X(), and the options and checks that they share.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/farm/farm.hpp"
#include "sim/programs/command/command_line.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/training_cost.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

void add_run(CommandLine& app);
void add_compare(CommandLine& app);
void add_sweep(CommandLine& app);
void add_plan(CommandLine& app);
void add_plot(CommandLine& app);
void add_topology(CommandLine& app);
void add_collective(CommandLine& app);
void add_codec(CommandLine& app);
void add_calibrate(CommandLine& app);
void add_tune(CommandLine& app);
void add_validate(CommandLine& app);
void add_recommend(CommandLine& app);
void add_whatif(CommandLine& app);
void add_goodput(CommandLine& app);
void add_jobs(CommandLine& app);
void add_import(CommandLine& app);
void add_estimate(CommandLine& app);
void add_export(CommandLine& app);
void add_diagnose(CommandLine& app);
void add_judge(CommandLine& app);
void add_report(CommandLine& app);
void add_list(CommandLine& app);
void add_schedule(CommandLine& app);
void add_help(CommandLine& app);  ///< explains all commands of `app`; keeps a reference to `app`
void add_completion(CommandLine& app);

/// The kinds of names that `allreplay list` knows ("strategies", …), and the names of one kind. Throws InputError.
const std::vector<std::string>& listable();
std::vector<std::string> listed_names(const Files& files, std::string_view what);

/// The values of --bandwidth and the other flags that change a profile or a cluster, by name without dashes.
using ChangeArguments = std::map<std::string, std::vector<std::string>, std::less<>>;

inline constexpr std::initializer_list<Changed> every_change = {Changed::Network, Changed::Profile,
                                                                Changed::Stragglers};

/// Adds the flags that change one of `kinds`.
void add_change_options(Command& command, ChangeArguments& arguments, std::initializer_list<Changed> kinds);

std::vector<ChangeText> changes_of(const ChangeArguments& arguments);

/// The values of --nodes and the other flags that describe a cluster, by name without dashes.
using ClusterWordArguments = std::map<std::string, std::string, std::less<>>;

/// Adds --cluster, and the flags that describe a cluster instead.
void add_cluster_options(Command& command, std::string& cluster, ClusterWordArguments& words);
void add_cluster_options(Command& command, std::vector<std::string>& clusters, ClusterWordArguments& words);

std::vector<ChangeText> words_of_cluster(const ClusterWordArguments& arguments);

/// The values of --profile, --cluster and the other options that make up a scenario.
struct ScenarioArguments {
  std::string profile, model, device, tokens;  ///< a profile, or a model, its device and the tokens of a sample
  std::string cluster, workers, collective, fidelity, codec, forward_ratio, seeds;
  ClusterWordArguments cluster_words;
  std::vector<std::string> options;                       ///< key=value
  std::map<std::string, std::string, std::less<>> flags;  ///< --pp and other options with flags of their own
  ChangeArguments changes;
  std::vector<std::string> configs;  ///< files of --config, whose settings are among the others (config_words.hpp)
  bool no_reuse = false, sequence_parallel = false;

  /// The value of a flag such as "--pp"; "" if it is not given.
  std::string flag(std::string_view name) const;

  /// True if a cluster was given, by --cluster or by flags that describe one.
  bool has_cluster() const;

  /// `more`, followed by the files that --profile, --cluster and --codec name; "" for those that do not name a file.
  std::vector<std::string> files(const Files& files, std::vector<std::string> more = {}) const;

  /// The request for one strategy, or for the plan in a file. Throws InputError that names the wrong option.
  Request request(const std::string& strategy, const std::string& plan = "") const;
};

/// Options that take several values, for commands that combine them: "a,b", or the option repeated.
struct SeveralArguments {
  std::vector<std::string> clusters, workers, collectives, fidelities, codecs;
  std::map<std::string, std::vector<std::string>, std::less<>> flags;  ///< as ScenarioArguments::flags
};

/// Adds the options of a scenario to `command`. With `several`, the options in it take lists. Returns --profile.
Option& add_scenario_options(Command& command, ScenarioArguments& arguments, SeveralArguments* several = nullptr);

/// Adds --model and the other options that estimate a profile instead of `profile` (--profile).
void add_model_options(Command& command, Option& profile, ScenarioArguments& arguments);

/// The same without the options of the profile. Returns --cluster, which is not required here.
Option& add_setting_options(Command& command, ScenarioArguments& arguments, std::initializer_list<Changed> changes,
                            SeveralArguments* several = nullptr);

/// Warns about options that had no effect on any of the outcomes. REQUIRES: `outcomes` is not empty.
void warn_of_idle_options(Console& console, const ScenarioArguments& arguments, std::span<const Outcome> outcomes);

/// Splits each "a,b" of `given`, unless it names a file, or something in `folder`. Throws InputError for an empty item.
std::vector<std::string> split_list(const Files& files, const std::vector<std::string>& given,
                                    const std::string& option, std::string_view folder = "");

/// Expands "16", "8:1024:x2" or "8:64:+8" into numbers of workers; "" (the cluster's own number) stays as it is.
std::vector<std::string> worker_counts(const std::string& text, const std::string& option = "--workers");

/// The options with flags in `several`: for each option that was given, its values.
std::vector<std::vector<OptionText>> several_options(const Files& files, const SeveralArguments& several);
/// Throws InputError for an option that is given a list, which only its flag takes: "--option shard_group=0,8".
void refuse_lists(const std::vector<OptionText>& options);

/// The values of --tie, --now and --headroom, which decide which result wins.
struct WinningArguments {
  std::string tie = fmt::format("{:g}%", 100 * WinningRule().tie), now;
  std::string headroom = fmt::format("{:g}%", 100 * WinningRule().headroom);
  std::string doubt = "none";  ///< add_doubt_option() sets its default

  /// Throws InputError.
  WinningRule rule() const;
};
void add_winning_options(Command& command, WinningArguments& arguments);
/// Adds --doubt, for commands that replay winners with less bandwidth.
void add_doubt_option(Command& command, WinningArguments& arguments);

/// The values of --tokens and the other options for the costs of a whole training.
struct TrainingArguments {
  std::string tokens, samples, price, pue;

  /// Throws InputError.
  Training training() const;
};
void add_training_options(Command& command, TrainingArguments& arguments);

/// Adds --strategy and --plan, exactly one of which must be given.
void add_strategy_or_plan(Command& command, std::string& strategy, std::string& plan);
/// Throws InputError unless exactly one was given.
void require_strategy_or_plan(const std::string& strategy, const std::string& plan);

struct Output {
  std::string option;          ///< "--out"
  std::string file;            ///< "" if not given
  bool is_compressed = false;  ///< if the file's name ends in .gz
  /// Text by which the command recognises a file that it wrote; "": any that is a picture, if its name says so.
  std::string_view mark = "";
  std::optional<bool> force = {};  ///< the value of --force, if the command has it: replaces any file
  bool is_picture = false;         ///< its name must end in .svg, .png or .pdf
};

/// The file of --plot or another option that draws.
inline Output picture_at(const std::string& option, const std::string& file) {
  return {.option = option, .file = file, .is_picture = true};
}

/// Throws InputError if an output is also an input or another output (links are followed), looks like an option
/// ("--out --json"), is "-", ends in .gz although it is not compressed, cannot be written, or is a file of another
/// kind.
void require_separate(const Files& files, const std::vector<Output>& outputs, const std::vector<std::string>& inputs);

inline constexpr std::string_view mark_of_traces = "\"traceEvents\"", mark_of_clusters = "fitted by allreplay";
inline constexpr const char* help_on_force = "replace --out, whatever it is";

/// The file that an option's value refers to, by path or by name in `folder`; "" if there is none.
std::string file_behind(const Files& files, std::string_view folder, const std::string& name);

/// The location of an option on the command line, for errors.
SourceLocation argument(const std::string& option);

/// The operation of that name, which may be spelt as nccl-tests and MPI do: all_reduce, alltoall, reduce_scatter_perf.
CollectiveOp parse_operation(const std::string& name);

/// Prints rows that have the same columns as CSV. REQUIRES: there are some.
void print_csv(Console& console, const std::vector<Row>& rows);

/// Parses --seed. Throws InputError.
std::uint64_t parse_seed(const std::string& text);

/// Adds --seeds.
void add_seeds_option(Command& command, std::string& seeds);

/// Parses --seeds; empty if it is not given. Throws InputError.
std::vector<std::uint64_t> seeds_in(const std::string& text);

/// Parses an option's value, a number above 0. Throws InputError.
double positive_number(const std::string& text, const std::string& option);

/// Parses a share from 0 to below 1, such as 0.02 or 2%. Throws InputError, with an example.
double parse_share(const std::string& text, const std::string& flag, std::string_view example);

/// Splits lists such as "a,b,c" into one list of names. Throws InputError for an empty name or a repeated one.
std::vector<std::string> names_in(const std::vector<std::string>& lists, const SourceLocation& place);

/// True for "all": every strategy compatible with the other options. Throws InputError if names are given, too.
bool selects_all(const std::vector<std::string>& strategies);

/// Adds --jobs, the number of `what` ("rows", "trials") that are simulated at a time.
void add_jobs_option(Command& command, std::string& jobs, std::string_view what);

/// Parses --jobs. Throws InputError.
int parse_jobs(const std::string& text);

/// Thrown if part of the work is missing although the input is valid. The program exits with status 1.
class Incomplete : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs a command with --engine mpi: calls `lead` on rank 0 of the MPI job; until it returns, the other ranks answer
/// its requests with the function that `prepare` returns.
void on_farm(Console& console, const std::function<Farm::Answer()>& prepare,
             const std::function<void(Farm& farm)>& lead);

/// Simulates a scenario, and shows progress.
Outcome run_with_progress(const Console& console, const Scenario& scenario);

/// Adds --engine to a command whose only engine is MPI.
void add_engine(Command& command, std::string& engine);

/// Calls `lead` without a farm; with --engine mpi, as on_farm() does. Throws InputError for another engine.
void on_engine(Console& console, const std::string& engine, const std::function<Farm::Answer()>& prepare,
               const std::function<void(Farm* farm)>& lead);

/// Handles options that only some of a command's strategies read: the others run without them, and a note says so.
class OptionsOfSome {
 public:
  /// Removes the options that the scenario's strategy does not read from the request, and resolves it again.
  void drop_others(Library& library, Request& request, Scenario& scenario);

  /// Throws InputError for an option that no strategy reads.
  void require_taken() const;
  /// Prints a note for each option that some strategies run without.
  void tell(Console& console) const;

 private:
  std::set<std::string> taken_;
  std::map<std::string, Scenario> not_taken_;                // by option, the first scenario that does not read it
  std::map<std::string, std::vector<std::string>> without_;  // by option, the strategies that run without it
};

/// Prints a note that names the strategies that were left out because the options do not apply to them, if any.
void note_left_out(Console& console, const std::vector<std::string>& strategies);

/// The warning that `name` is left out and why; `several`: `name` is plural.
std::string left_out(const std::string& name, const std::string& why, bool several = false);

}  // namespace allreplay
