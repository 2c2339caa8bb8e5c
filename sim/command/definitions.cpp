#include "sim/command/definitions.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/calibration/measurement_log.hpp"
#include "sim/command/help.hpp"
#include "sim/compression/codec_measurement.hpp"
#include "sim/experiment/cluster_words.hpp"
#include "sim/interchange/exporters/exporter.hpp"
#include "sim/network/fidelity.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/view/plot_options.hpp"

namespace allreplay {

namespace {

// A word of a cluster, or nothing.
const ClusterWordRow* cluster_word(std::string_view option) {
  return option.starts_with("--") ? row_named(cluster_word_rows(), option.substr(2)) : nullptr;
}

template <class Rows>
std::vector<AnnotatedValue> summaries(const Rows& rows) {
  std::vector<AnnotatedValue> values;
  for (const auto& row : rows) values.push_back({std::string(row.name), std::string(row.summary)});
  return values;
}

// By an option's long name, or a positional's; the same in every command.
const std::map<std::string, ValueKind>& kinds() {
  static const ValueKind file{.name = "FILE", .file = true}, number{.name = "N"};
  static const std::map<std::string, ValueKind> known{
      {"--profile", {.name = "PROFILE", .list = "profiles", .file = true}},
      {"--cluster", {.name = "CLUSTER", .list = "clusters", .file = true}},
      {"--codec", {.name = "CODEC", .list = "codecs", .file = true}},
      {"--config", {.name = "CONFIG", .list = "configs", .file = true}},
      {"--strategy", {.name = "STRATEGY", .list = "strategies"}},
      {"--now", {.name = "STRATEGY", .list = "strategies"}},
      {"--tie", {.name = "SHARE"}},
      {"--strategies", {.name = "STRATEGY,...", .list = "strategies"}},
      {"--collective", {.name = "COLLECTIVE", .list = "collectives"}},
      {"--fidelity", {.name = "FIDELITY", .words = names_of(fidelities)}},
      {"--framework", {.name = "FRAMEWORK,...", .words = names_of(frameworks())}},
      {"compare --strategy", {.name = "STRATEGY,...", .list = "strategies"}},
      {"--accumulate", {.name = "N"}},
      {"--zero", {.name = "STAGE", .words = {"0", "1", "2", "3"}}},
      {"--pp", {.name = "P"}},
      {"--tp", {.name = "T"}},
      {"--cp", {.name = "C"}},
      {"--ep", {.name = "E"}},
      {"--schedule", {.name = "SCHEDULE", .list = "schedules", .file = true}},
      {"schedule name", {.name = "NAME", .list = "schedules"}},
      {"--chunks", {.name = "V"}},
      {"--stages", {.name = "CUT", .words = {"balanced", "equal"}}},
      {"--micro-batches", {.name = "M"}},
      {"--global-batch", {.name = "B"}},
      {"--microbatch-group", {.name = "G"}},
      {"--shard-group", {.name = "N"}},
      {"--memory", {.name = "SIZE"}},
      {"--bandwidth", {.name = "RATE|xN"}},
      {"--latency", {.name = "TIME|xN"}},
      {"--inner-bandwidth", {.name = "RATE|xN"}},
      {"--inner-latency", {.name = "TIME|xN"}},
      {"--node", number},
      {"--placement", {.name = "packed|spread|HOST,..."}},
      {"--routing", {.name = "WAY[:flows=N,seed=N]", .words = {"d-mod-k", "ecmp", "adaptive"}}},
      {"--operation",
       {.name = "OPERATION", .words = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"}}},
      {"--plan", file},
      {"--stragglers", {.name = "xN|none|WORKER:FACTOR"}},
      {"--method", {.name = "METHOD", .words = names_of(tune_methods)}},
      {"--option", {.name = "KEY=VALUE", .list = "options"}},
      {"--over", {.name = "KEY=LO:HI", .list = "options"}},
      {"import --communication-out", {.name = "CSV", .file = true}},
      {"import --from", {.name = "FORMAT", .list = "importers"}},
      {"export --to", {.name = "FORMAT", .annotated = summaries(exporters())}},
      {"calibrate --format", {.name = "FORMAT", .annotated = summaries(log_formats())}},
      {"calibrate --from", {.name = "SIZE"}},
      {"calibrate --to", {.name = "SIZE"}},
      {"calibrate --time", {.name = "TIME", .words = {"out-of-place", "in-place", "avg", "min", "max"}}},
      {"--gamma", {.name = "TIME/B"}},
      {"--line-rate", {.name = "RATE"}},
      {"--model", {.name = "NAME", .list = "models"}},
      {"--match", {.name = "MODEL", .list = "models", .file = true}},
      {"--precision", {.name = "PRECISION", .words = names_of(precisions)}},
      {"--distribution", {.name = "DISTRIBUTION", .words = names_of(distributions)}},
      {"--residuals", {.name = "RULE", .words = names_of(residual_rules)}},
      {"--correlation", {.name = "RATIO"}},
      {"estimate --model", {.name = "MODEL", .list = "models", .file = true}},
      {"estimate --from", {.name = "PROFILE", .list = "profiles", .file = true}},
      {"estimate --device", {.name = "DEVICE", .list = "devices", .file = true}},
      {"recommend --model", {.name = "MODEL", .list = "models", .file = true}},
      {"recommend --device", {.name = "DEVICE", .list = "devices", .file = true}},
      {"--from-device", {.name = "DEVICE", .list = "devices", .file = true}},
      {"--recompute", {.name = "RULE", .words = {"full"}}},
      {"estimate --recompute", {.name = "RULE", .words = {"none", "selective", "full"}}},
      {"recommend --recompute", {.name = "RULE", .words = {"none", "selective", "full"}}},
      {"--family", {.name = "FAMILY", .words = {"gpt2", "bert", "llama", "vit"}}},
      {"--optimizer", {.name = "OPTIMIZER", .words = {"adam", "adam-unfused", "sgd"}}},
      {"--mfu", {.name = "RATIO"}},
      {"--tokens-per-second", number},
      {"--samples-per-second", number},
      {"--seq", number},
      {"--layers", number},
      {"--hidden", number},
      {"--heads", number},
      {"--kv-heads", number},
      {"--ffn", number},
      {"--vocab", number},
      {"--clock", {.name = "GHZ"}},
      {"--name", {.name = "NAME"}},
      {"--device", {.name = "NAME"}},
      {"import --framework", {.name = "NAME"}},
      {"--batch", number},
      {"--elements", number},
      {"--iterations", number},
      {"--repetitions", number},
      {"--cluster-out", file},
      {"FILE", file},
      {"--bytes", {.name = "SIZE"}},
      {"--forward-ratio", {.name = "RATIO"}},
      {"--efficiency", {.name = "RATIO"}},
      {"--workers", number},
      {"--rails", number},
      {"--jobs", number},
      {"--shard", {.name = "I/N", .words = {"auto"}}},
      {"--merge", {.name = "PART", .file = true}},
      {"--engine", {.name = "ENGINE", .words = {"mpi"}}},
      {"sweep --engine", {.name = "ENGINE", .words = {"mpi", "slurm"}}},
      {"--partition", {.name = "NAME"}},
      {"sweep --time", {.name = "TIME"}},
      {"--chunk", number},
      {"--budget", number},
      {"--seed", number},
      {"jobs file", file},
      {"--stagger", {.name = "[N]"}},
      {"--minimise", {.name = "AIM", .words = {"worst", "mean"}}},
      {"--mtbf", {.name = "TIME"}},
      {"--checkpoint", {.name = "TIME"}},
      {"--restart", {.name = "TIME"}},
      {"--interval", {.name = "TIME|N", .words = {"optimal"}}},
      {"--repair", {.name = "TIME"}},
      {"--spares", number},
      {"--horizon", {.name = "TIME"}},
      {"--timelines", number},
      {"--kind", {.name = "KIND", .words = names_of(plot_kinds())}},
      {"--set", {.name = "KEY=VALUE"}},
      {"--dpi", number},
      {"--out", file},
      {"--timeline", file},
      {"--plot", file},
      {"--dot", file},
      {"--html", file},
      {"--profile-out", file},
      {"--steps", {.name = "FIRST-LAST,..."}},
      {"file", file},
      {"sweep file", {.name = "FILE", .list = "configs", .file = true}},
      {"list what", {.name = "WHAT", .words = listable()}},
      {"help topic", {.name = "NAME", .words = help_topics()}},
      {"completion shell", {.name = "SHELL", .words = shells()}},
  };
  return known;
}

// Of one command first ("sweep file"), then of any.
ValueKind kind_of(const std::string& command, const OptionDefinition& option) {
  std::string name = option.positional ? option.names.front() : "";
  for (const std::string& one : option.names)
    if (name.empty() && one.starts_with("--")) name = one;
  for (const std::string& key : {command + " " + name, name})
    if (const auto found = kinds().find(key); found != kinds().end()) return found->second;
  if (const ClusterWordRow* word = cluster_word(name)) return {.name = std::string(word->value)};
  return {.name = "VALUE"};
}

OptionDefinition definition_of(const std::string& command, const Option& option) {
  OptionDefinition definition = option.definition();
  if (!definition.flag) definition.value = kind_of(command, definition);
  if (definition.several) definition.value.name += ",...";
  if (definition.value.list.empty() && definition.value.words.empty())
    definition.value.words = names_of(definition.value.annotated);
  return definition;
}

}  // namespace

std::vector<CommandDefinition> commands_of(const CommandLine& app) {
  std::vector<CommandDefinition> commands;
  for (const Command& one : app.get_subcommands()) {
    commands.push_back({one.get_name(), one.get_description(), one.get_footer(), {}});
    auto& options = commands.back().options;
    for (const Option& option : one.get_options()) options.push_back(definition_of(one.get_name(), option));
    std::stable_partition(options.begin(), options.end(), [](const auto& option) { return !option.positional; });
  }
  return commands;
}

std::string OptionDefinition::help_in_one_line() const {
  return value.annotated.empty() ? help : fmt::format("{} {}", help, fmt::join(names_of(value.annotated), ", "));
}

}  // namespace allreplay
