// The commands of the program, a file each. add_X() describes the command and says what it runs.
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

#include "sim/command/command_line.hpp"
#include "sim/command/console.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/experiment/request.hpp"
#include "sim/farm/farm.hpp"

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
void add_report(CommandLine& app);
void add_list(CommandLine& app);
void add_schedule(CommandLine& app);
void add_help(CommandLine& app);  ///< of all commands of `app`, which has to live on
void add_completion(CommandLine& app);

/// What `allreplay list` lists, and the names of one of these.
const std::vector<std::string>& listable();
std::vector<std::string> listed_names(const Files& files, std::string_view what);

/// What --bandwidth and the other flags of that kind were given as, by name.
using ChangeArguments = std::map<std::string, std::vector<std::string>, std::less<>>;

inline constexpr std::initializer_list<Changed> every_change = {Changed::Network, Changed::Profile,
                                                                Changed::Stragglers};

/// Adds those of these kinds.
void add_change_options(Command command, ChangeArguments& arguments, std::initializer_list<Changed> kinds);

std::vector<ChangeText> changes_of(const ChangeArguments& arguments);

/// What --nodes and the other words of a cluster were given as, by name.
using ClusterWordArguments = std::map<std::string, std::string, std::less<>>;

/// Adds --cluster, and the words that may stand in its place.
void add_cluster_options(Command command, std::string& cluster, ClusterWordArguments& words);

std::vector<ChangeText> words_of_cluster(const ClusterWordArguments& arguments);

/// What --profile, --cluster and the options beside them were given as.
struct ScenarioArguments {
  std::string profile, cluster, workers, collective, fidelity, codec, forward_ratio;
  ClusterWordArguments cluster_words;
  std::vector<std::string> options;                          ///< key=value
  std::string accumulate, zero, shard_group, memory;         ///< options that have flags of their own
  std::map<std::string, std::string, std::less<>> parallel;  ///< likewise: degrees and schedule, by option
  ChangeArguments changes;
  bool no_reuse = false;

  /// Whether a cluster is named, or stands there in words.
  bool has_cluster() const;

  /// The files behind --profile, --cluster and --codec, as far as there are any, after `more`.
  std::vector<std::string> files(const Files& files, std::vector<std::string> more = {}) const;

  /// The request for one strategy, or for the plan in a file. Throws InputError at the option that is wrong.
  Request request(const std::string& strategy, const std::string& plan = "") const;
};

/// The same where several may be given of some: "a,b", or each by itself.
struct SeveralArguments {
  std::vector<std::string> clusters, workers, collectives, fidelities, codecs;
  std::map<std::string, std::vector<std::string>, std::less<>> parallel;  ///< by flag
};

/// Adds those options to `command`; `several` takes the place of what it is of. Returns --profile.
Option add_scenario_options(Command command, ScenarioArguments& arguments, SeveralArguments* several = nullptr);

/// The same without the profile's. Returns --cluster, which is not required.
Option add_setting_options(Command command, ScenarioArguments& arguments, std::initializer_list<Changed> changes,
                           SeveralArguments* several = nullptr);

/// Warns of options that change none of these: whoever gave one of another strategy or collective believes otherwise.
/// REQUIRES: at least one.
void warn_of_idle_options(Console& console, const ScenarioArguments& arguments, std::span<const Outcome> outcomes);

/// One by one what was given as "a,b", or by itself. What names a file, or something in `folder`, stays whole, commas
/// and all. Throws InputError at the option for what is empty.
std::vector<std::string> one_by_one(const Files& files, const std::vector<std::string>& given,
                                    const std::string& option, std::string_view folder = "");

/// "16", "8:1024:x2" and "8:64:+8" as numbers of workers; "" is the cluster's own.
std::vector<std::string> worker_counts(const std::string& text);

/// Of degrees and schedules that several were given of: the values of each option.
std::vector<std::vector<OptionText>> several_options(const Files& files, const SeveralArguments& several);

/// What decides who wins, as --tie and --now say it.
struct WinningArguments {
  std::string tie = fmt::format("{:g}%", 100 * WinningRule().tie), now;
  std::string headroom = fmt::format("{:g}%", 100 * WinningRule().headroom);

  /// Throws InputError.
  WinningRule rule() const;
};
void add_winning_options(Command command, WinningArguments& arguments);

/// Adds --strategy and --plan, of which one is to be given.
void add_strategy_or_plan(Command command, std::string& strategy, std::string& plan);
/// Throws InputError unless it is one.
void require_strategy_or_plan(const std::string& strategy, const std::string& plan);

struct Output {
  std::string option;          ///< "--out"
  std::string file;            ///< "" where it is not given
  bool is_compressed = false;  ///< where the file's name ends in .gz
};

/// Throws InputError when a file to write is one of those to read, or another of those to write, whatever their names;
/// for what is another option, whose own name was forgotten; for "-"; for a name in .gz of what is not compressed; and
/// where one cannot be written.
void require_separate(const Files& files, const std::vector<Output>& outputs, const std::vector<std::string>& inputs);

/// Writes a file that is not there, or that the same command wrote, by its `mark`. Throws InputError for what else is
/// there, unless --force was given.
void write_own(const Files& files, const Output& output, const std::string& text, std::string_view mark, bool force);
inline constexpr const char* help_on_force = "replace --out, whatever it is";

/// The file that an option's value means; "" where it means none.
std::string file_behind(const Files& files, std::string_view folder, const std::string& name);

/// The file of that name in the first of these folders that has it, or the file at that path. Throws InputError, with
/// the nearest names, at `flag`.
std::string find_in_folders(const Files& files, const std::vector<std::string_view>& folders, const std::string& name,
                            const std::string& flag);

/// A place on the command line.
SourceLocation argument(const std::string& option);

/// What --seed says. Throws InputError.
std::uint64_t parse_seed(const std::string& text);

/// A number above 0 that an option says. Throws InputError.
double positive_number(const std::string& text, const std::string& option);

/// The names of "a,b,c", given once or several times. Throws InputError at an empty one, or one that stands twice.
std::vector<std::string> names_in(const std::vector<std::string>& lists, const SourceLocation& place);

/// Whether these are "all": every strategy that goes with what else is asked for. Throws InputError where a name stands
/// beside it.
bool says_all(const std::vector<std::string>& strategies);

/// Adds --jobs: how many of `what` at a time.
void add_jobs_option(Command command, std::string& jobs, std::string_view what);

/// What --jobs says. Throws InputError.
int parse_jobs(const std::string& text);

/// Work that is not all done, though nothing is wrong with what was asked for: exit status 1.
class Incomplete : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Of a command that takes --engine mpi: runs `lead` on rank 0 of the MPI job, while the other ranks do what `prepare`
/// says until it is done.
void on_farm(Console& console, const std::function<Farm::Answer()>& prepare,
             const std::function<void(Farm& farm)>& lead);

/// Simulates; where that takes many iterations, and there are streams to say so, with its progress.
Outcome run_with_progress(const Console& console, const Scenario& scenario);

/// Adds --engine to a command that runs on MPI, and nothing else but here; throws InputError for what is not mpi.
void add_engine(Command command, std::string& engine);
void require_mpi_or_none(const std::string& engine);

/// Options of a command of which some of its strategies take no value: those run without it, as a note says.
class OptionsOfSome {
 public:
  /// Takes out of the request what its scenario's strategy does not take, and resolves it again.
  void drop_others(Library& library, Request& request, Scenario& scenario);

  /// Throws InputError for an option that none takes.
  void require_taken() const;
  void tell(Console& console) const;

 private:
  std::set<std::string> taken_;
  std::map<std::string, Scenario> not_taken_;  // and the first of those that do not take it
  std::map<std::string, std::vector<std::string>> without_;
};

/// Says which of all strategies do not go with the options, where any do not.
void note_left_out(Console& console, const std::vector<std::string>& strategies);

/// What to warn of where one of several to be simulated cannot be.
std::string left_out(const std::string& name, const std::string& why, bool several = false);

}  // namespace allreplay
