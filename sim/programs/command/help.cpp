#include "sim/programs/command/help.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/plans/pipeline/schedules.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

namespace {

constexpr std::size_t column = 26;  // at which the texts of options begin
constexpr std::size_t deepest = 6;  // indentation of the continued lines of an example

// Formats a name and its text: next to each other, or the text below a name that is too long.
std::string help_entry(const std::string& name, const std::string& text, std::size_t width, std::size_t at = column) {
  std::string lines = wrapped(text, width > at ? width - at : 1);
  const std::string indent(at, ' ');
  for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1))
    lines.insert(end + 1, indent);
  const std::string start = "  " + name;
  if (width_of(start) + 2 > at) return start + "\n" + indent + lines + "\n";
  return start + std::string(at - width_of(start), ' ') + lines + "\n";
}

// Wraps a footer. Indented lines are example commands, which can still be pasted when broken; the others are prose.
std::string footer_lines(const std::string& footer, std::size_t width) {
  std::string text;
  for (std::size_t start = 0; start < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', start), footer.size());
    const std::string line = footer.substr(start, end - start);
    const bool example = line.starts_with("  ");
    text += (example ? wrapped_command(line, width, deepest) : wrapped(line, width)) + "\n";
    start = end + 1;
  }
  return text;
}

std::string usage(const Command& command) {
  std::string text = "Usage: allreplay " + command.name;
  for (const Option& option : command.options)
    if (option.is_positional()) text += " " + option.value_name() + (option.is_repeatable() ? "..." : "");
  for (const Option& option : command.options)
    if (option.is_required && !option.is_positional())
      text += fmt::format(" {} {}", option.longest_name(), option.value_name());
  return text + " [options]";
}

std::string option_entry(const Option& option, std::size_t width) {
  std::string name = option.is_positional() ? option.value_name() : option.names, text = option.full_help();
  if (!option.is_flag() && !option.is_positional()) name += " " + option.value_name();
  if (const std::string standard = option.default_text(); !standard.empty()) text += fmt::format(" ({})", standard);
  std::string entry = help_entry(name, text, width);
  for (const AnnotatedValue& value : option.value.annotated_words())
    entry += help_entry(std::string(column - 2, ' ') + value.name, value.about, width, column + 16);
  return entry;
}

constexpr Word<OptionKind> placeholders[] = {{OptionKind::Size, "SIZE"},
                                             {OptionKind::Duration, "TIME"},
                                             {OptionKind::Count, "N"},
                                             {OptionKind::CountOrSize, "N|SIZE"},
                                             {OptionKind::Share, "RATIO"},
                                             {OptionKind::Order, "ORDER"},
                                             {OptionKind::Wrap, "group|layer|SIZE"},
                                             {OptionKind::Rate, "RATE"},
                                             {OptionKind::Schedule, "SCHEDULE|FILE"},
                                             {OptionKind::Bucket, "tensor|SIZE"},
                                             {OptionKind::Cut, "balanced|equal|N/N/..."}};

// The placeholder after an option's flag; with `strategy`, only the words that this strategy accepts.
std::string value_of(const OptionRow& option, const Strategy* strategy) {
  if (option.kind != OptionKind::Choice) return std::string(name_of(placeholders, option.kind));
  return fmt::format("{}", fmt::join(strategy ? words_for(option, *strategy) : option.words, "|"));
}

std::string row_entry(const OptionRow& option, const Strategy* strategy, const std::string& default_text,
                      std::size_t width) {
  return help_entry(fmt::format("{} {}", flag_of(option.name), value_of(option, strategy)),
                    fmt::format("{} ({})", option.about, default_text), width);
}

bool is_read_by(const OptionRow& option, std::string_view name) {
  const std::string readers = ", " + readers_of(option) + ",";
  return readers.find(fmt::format(", {},", name)) != std::string::npos;
}

std::string entries(std::string_view reader, const Strategy* strategy, std::size_t width) {
  std::string text;
  for (const OptionRow& row : option_rows()) {
    const bool reads_it =
        strategy ? std::find(strategy->options.begin(), strategy->options.end(), row.name) != strategy->options.end()
                 : is_read_by(row, reader);
    if (!reads_it) continue;
    const std::string own = strategy && row.default_text_of ? row.default_text_of(*strategy) : "";
    text += row_entry(row, strategy, own.empty() ? default_of(row) : own, width);
  }
  return text;
}

std::string with_options(std::string_view name, std::string_view summary, const std::string& options,
                         std::size_t width) {
  std::string text = wrapped(fmt::format("{}: {}", name, summary), width, 2) + "\n";
  return text + (options.empty() ? "It has no options of its own.\n" : "\nOptions:\n" + options + "\n");
}

std::string strategy_help(const Strategy& strategy, std::size_t width) {
  std::string text = with_options(strategy.name, strategy.summary, entries(strategy.name, &strategy, width), width);
  if (!strategy.offer.framework.empty())
    text += fmt::format("Framework: {}{}\n", strategy.offer.framework, strategy.offer.maintained() ? "" : ", research");
  if (!strategy.source.empty()) text += wrapped(fmt::format("Source: {}.\n", strategy.source), width, 2);
  text += wrapped(fmt::format("Every strategy also reads: {}.\n", fmt::join(step_options(), ", ")), width, 2);
  return text + footer_lines(fmt::format("Example:\n  allreplay run --profile resnet50_k80_b16 --cluster k80-10gbe "
                                         "--strategy {}\n",
                                         strategy.name),
                             width);
}

std::string collective_help(const Algorithm& algorithm, std::size_t width) {
  std::string text = with_options(algorithm.name, algorithm.summary, entries(algorithm.name, nullptr, width), width);
  if (!algorithm.start_up.empty())
    text += wrapped(fmt::format("Alone, a collective of M bytes takes a + b·M: a = {}, b = {}. N: {}.\n",
                                algorithm.start_up, algorithm.per_byte, algorithm.workers),
                    width, 2);
  return text;
}

std::string codec_help(const Codec& codec, std::size_t width) {
  std::string options = entries(codec.name, nullptr, width) + entries("with a codec", nullptr, width);
  return with_options(codec.name, codec.summary, options, width) +
         wrapped(fmt::format("For a gradient x of n elements it sends {}: {} bytes.\n", codec.sent, codec.size), width,
                 2);
}

std::string option_help(const OptionRow& option, std::size_t width) {
  std::vector<std::string> words;
  for (const std::string& word : option.words) {
    const std::string takers = takers_of(option, word);
    words.push_back(takers.empty() ? word : fmt::format("{} ({})", word, takers));
  }
  return wrapped(fmt::format("{}: {}\n", option.name, option.about), width, 2) +
         wrapped(fmt::format("Value: {}{}. Default: {}. Used by: {}.\n", name_of(option_kinds, option.kind),
                             words.empty() ? "" : fmt::format(", {}", choices(words)), default_of(option),
                             readers_of(option)),
                 width, 2) +
         wrapped(fmt::format("On the command line: {0} VALUE, or --option {1}=VALUE. In files: \"{1}\".\n",
                             flag_of(option.name), option.name),
                 width, 2);
}

std::string schedule_help(const ScheduleRow& schedule, std::size_t width) {
  return wrapped(fmt::format("{}: {}\n", schedule.name, schedule.summary), width, 2) +
         wrapped(fmt::format("A pipeline schedule with {} on each rank{}.\n", counted(schedule.chunks, "chunk"),
                             schedule.any_chunks ? ", or more" : ""),
                 width, 2) +
         footer_lines(fmt::format("Its rows:\n  allreplay schedule {} --pp 4 --micro-batches 8\n", schedule.name),
                      width);
}

// Finds a column by its name in any case, without its unit ("bubble"), or by its first word ("exposed").
std::string column_help(std::span<const Column> known, std::string_view topic, std::size_t width) {
  std::string name(topic);
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto first = [&](const auto& matches) { return std::find_if(known.begin(), known.end(), matches); };
  auto found = first([&](const Column& one) { return one.key == name; });
  if (found == known.end()) found = first([&](const Column& one) { return one.key == name + "_s"; });
  if (found == known.end()) found = first([&](const Column& one) { return one.key.starts_with(name + "_"); });
  if (found == known.end()) return "";
  return wrapped(fmt::format("{}: {}\nA column of results.\n", found->key, found->text()), width, 2);
}

// A key of an input file, with an example.
struct FileKey {
  std::string_view name, about, written;
};

// The keys of a cluster file, except those that are also options.
constexpr FileKey cluster_keys[] = {
    {"alpha", "start-up of a message; with a topology, in addition to the latency of its links",
     R"("network": {"alpha": "5 us", "bandwidth": "50 GB/s"})"},
    {"bandwidth", "rate of a link, or of a node's port; or give beta, the time to send a byte",
     R"("network": {"alpha": "5 us", "bandwidth": "50 GB/s"})"},
    {"beta", "time to send a byte; or bandwidth, 1 / beta", R"("network": {"alpha": "5 us", "beta": "0.02 ns/B"})"},
    {"changes", "flags that `topology --cluster-out` saved, applied in turn",
     R"("changes": [{"bandwidth": "x2", "rails": "4"}])"},
    {"channels", "number of NCCL channels; by default as many as its model gives the GPU",
     R"("network": {"nccl": {"gpu": "h100", "channels": 16}})"},
    {"cpu", "processor of a node, for NCCL: intel or amd", R"("network": {"nccl": {"gpu": "h100", "cpu": "amd"}})"},
    {"fidelity", "how collectives are priced without --fidelity: alpha-beta, fluid or message",
     R"("network": {"fidelity": "fluid"})"},
    {"flows", "equal parts of a message with routing ecmp, each on its own route",
     R"("network": {"topology": {"routing": "ecmp", "flows": 4, "seed": 1}})"},
    {"gamma", "time to reduce a byte", R"("network": {"gamma": "0.1 ns/B"})"},
    {"gpu", "GPU of a node, for NCCL: v100, a100, h100 (also GH200) or b200",
     R"("network": {"nccl": {"gpu": "h100"}})"},
    {"gpus_per_host", "number of GPUs of each host of a topology, connected by links `inner`",
     R"("network": {"topology": {"gpus_per_host": 8, "inner": {"latency": "0.5 us", "bandwidth": "370 GB/s"}}})"},
    {"inner", "the links from a host to its GPUs",
     R"("network": {"topology": {"gpus_per_host": 8, "inner": {"latency": "0.5 us", "bandwidth": "370 GB/s"}}})"},
    {"interference", "how many times as long computation takes during communication",
     R"("interference": {"compute": 1.19})"},
    {"jitter", "how far the times of single layers vary around their mean, in each iteration",
     R"("jitter": {"sigma": 0.05, "distribution": "lognormal", "seed": 1})"},
    {"kind", "shape of a topology (allreplay list topologies)",
     R"("network": {"topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}})"},
    {"line_rate", "rate of the wire: a warning is printed if constants exceed it",
     R"("network": {"alpha": "25 us", "bandwidth": "9 Gbit/s", "line_rate": "10 Gbit/s"})"},
    {"link",
     "latency and bandwidth of all links of a topology; in \"nccl\", what connects the GPUs of a node: nvlink or pcie",
     R"("network": {"topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}})"},
    {"links", "links of a topology that differ from the others, or have failed",
     R"("network": {"topology": {"links": [{"between": ["leaf0", "spine1"], "down": true}]}})"},
    {"ll128", "whether NCCL has its protocol LL128, which needs GPU and port on one PCIe switch",
     R"("network": {"nccl": {"gpu": "h100", "ll128": false}})"},
    {"measured", "measured time of a collective: a + b·M for M bytes",
     R"("network": {"measured": {"collective": "ring", "workers": 16, "a": "972 us", "b": "1.97 ns/B"}})"},
    {"nics", "network ports of a host of several GPUs; `planes`: copies of the network, 1 or one for each",
     R"("network": {"topology": {"gpus_per_host": 8, "nics": 8, "planes": 8}})"},
    {"node", "network inside a node; alpha and bandwidth next to it are those of a node's port",
     R"("network": {"node": {"workers": 8, "alpha": "1 us", "bandwidth": "370 GB/s"}})"},
    {"nvls", "whether NCCL may reduce in NVLink's switches (NVLS)",
     R"("network": {"nccl": {"gpu": "h100", "nvls": false}})"},
    {"oversubscription", "bandwidth of hosts over that of the links above them",
     R"("network": {"topology": {"oversubscription": 2}})"},
    {"parallel", "degrees other than data parallelism, and a pipeline's schedule",
     R"("parallel": {"pp": 4, "tp": 8, "schedule": "1f1b"})"},
    {"placement", "placement of ranks on a topology: packed, spread, or a list of hosts",
     R"("network": {"topology": {"placement": "spread"}})"},
    {"planes", "copies of the network for hosts with `nics`: 1, or one for each port",
     R"("network": {"topology": {"gpus_per_host": 8, "nics": 8, "planes": 8}})"},
    {"pxn", "on rails: a message leaves by the port of the GPU that receives it (true), or by its sender's",
     R"("network": {"topology": {"kind": "rail", "pxn": false}})"},
    {"rails", "network ports of a node, or of a host on a topology of kind rail: at most one per GPU",
     R"("network": {"rails": 8})"},
    {"rendezvous", "additional time of every hop between nodes in NCCL, for messages above a size",
     R"("network": {"nccl": {"gpu": "h100", "rendezvous": {"from": "2 KiB", "time": "14 us"}}})"},
    {"routing", "which of several routes messages take: d-mod-k, adaptive, or ecmp with flows and seed",
     R"("network": {"topology": {"routing": "ecmp", "flows": 4, "seed": 1}})"},
    {"scale", "factors of bandwidths and latencies in NCCL's model, as a calibration writes them",
     R"("network": {"nccl": {"gpu": "h100", "scale": {"network": {"bandwidth": 0.9, "latency": 1.2}}}})"},
    {"seed", "seed of random numbers: jitter, spread, and the routes of ecmp",
     R"("network": {"topology": {"routing": "ecmp", "flows": 4, "seed": 7}})"},
    {"server", "alpha and beta of pushes to and pulls from parameter servers",
     R"("network": {"server": {"alpha": "50 us", "bandwidth": "1 GB/s"}})"},
    {"spread", "how far workers without stragglers differ permanently: all wait for the slowest",
     R"("spread": {"sigma": 0.024})"},
    {"stragglers", "workers that are slower than the others, and by which factor",
     R"("stragglers": [{"worker": 3, "slowdown": 1.5}])"},
    {"table", "measured times of the file's collective on its workers, by size",
     R"("network": {"table": [{"bytes": "4 KiB", "time": "162 us"}, {"bytes": "4 MiB", "time": "9 ms"}]})"},
    {"tables", "the same for two or more numbers of workers",
     R"("network": {"tables": [{"workers": 8, "table": [{"bytes": "4 KiB", "time": "162 us"}, {"bytes": "4 MiB", "time": "9 ms"}]}, )"
     R"({"workers": 16, "table": [{"bytes": "4 KiB", "time": "180 us"}, {"bytes": "4 MiB", "time": "10 ms"}]}]})"},
    {"topology", "network of the workers, link by link (docs/topologies.md)",
     R"("network": {"topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}})"},
    {"two_node_tree", "whether NCCL's tree between two nodes has its whole bandwidth (true), or half of it",
     R"("network": {"nccl": {"gpu": "h100", "two_node_tree": false}})"},
};

// The keys of a jobs file, and of the answer of `allreplay jobs --json` (docs/jobs.md).
constexpr FileKey jobs_keys[] = {
    {"background", "traffic of others, which shares links fairly with training",
     R"("background": [{"from": "h0", "to": "h9", "rate": "4 Gbit/s", "on": "20 ms", "off": "30 ms"}])"},
    {"events", "links, switches and workers that are slower or down for some time",
     R"("events": [{"at": "1 s", "for": "200 ms", "link": ["edge0", "agg1"], "bandwidth": "x0.5"}])"},
    {"placements", "possible placements of a job; --place chooses among them, otherwise the first is used",
     R"("jobs": [{"profile": "resnet50_k80_b16", "workers": 8, "placements": ["packed", "random:1", ["h0", "h4"]]}])"},
    {"reliability", "failures of a job's nodes, and how it handles them (docs/goodput.md)",
     R"("reliability": {"mtbf": "200 d", "checkpoint": "60 s", "restart": "5 min"})"},
};
std::string file_key_help(const FileKey& key, std::string_view where, std::size_t width) {
  return wrapped(fmt::format("{}: {}\n", key.name, key.about), width, 2) +
         fmt::format("{}:\n  {}\n", where, key.written);
}

// Help on a kind of topology or, if the topic is a key, on all kinds that have it.
std::string topology_help(std::string_view topic, std::size_t width) {
  std::string text;
  for (const KindSummary& kind : topology_kinds()) {
    const bool has_key = std::find(kind.keys.begin(), kind.keys.end(), topic) != kind.keys.end();
    if (kind.name != topic && (topic.empty() || !has_key)) continue;
    std::string keys;
    for (const std::string_view key : kind.keys)
      if (!key.empty()) keys += fmt::format("{}{}", keys.empty() ? "; keys of its own: " : ", ", key);
    text += wrapped(fmt::format("{}: a kind of topology: {}{}\n", kind.name, kind.summary, keys), width, 2);
  }
  return text.empty() ? "" : text + "See docs/topologies.md.\n";
}

// Help on a flag of commands, one section per command that takes it.
std::string flag_help(const CommandLine& app, std::string_view topic, std::size_t width) {
  const std::string flag = flag_of(option_of(topic));
  std::string text;
  for (const Command& command : app.commands)
    if (const Option* option = command.find(flag))
      text += fmt::format("allreplay {}:\n{}", command.name, option_entry(*option, width));
  return text;
}

}  // namespace

std::string flag_of(std::string_view option) {
  std::string flag = "--" + std::string(option);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string option_of(std::string_view flag) {
  std::string option(flag.starts_with("--") ? flag.substr(2) : flag);
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

std::string program_help(const CommandLine& app, std::size_t width) {
  constexpr std::size_t name_width = 14;
  std::string text = wrapped(app.about, width) + "\n\nUsage: allreplay COMMAND [options]\n\nOptions:\n";
  text += help_entry("-h,--help", "show this help; after a command, that command's help", width);
  text += help_entry("--version", "print the version, and how it was built", width);
  text += "\nCommands:\n";
  for (const Command& command : app.commands) text += help_entry(command.name, command.help, width, name_width);
  return text + "\n" + footer_lines(app.footer, width);
}

std::string command_help(const Command& command, std::size_t width) {
  std::string text = wrapped(command.help, width) + "\n" + wrapped(usage(command), width, deepest) + "\n";
  std::vector<std::string> groups;
  for (const Option& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.heading) == groups.end()) groups.push_back(option.heading);
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group.empty(); });
  for (const std::string& group : groups) {
    text += group.empty() ? "\nOptions:\n" : fmt::format("\n{}:\n", group);
    for (const bool positional : {true, false})
      for (const Option& option : command.options)
        if (option.heading == group && option.is_positional() == positional) text += option_entry(option, width);
  }
  return text + (command.footer.empty() ? "" : "\n" + footer_lines(command.footer, width));
}

std::vector<std::string> help_topics() {
  std::vector<std::string> topics = names_of(strategies());
  for (const auto& names : {names_of(algorithms()), names_of(codecs()), names_of(schedules()), names_of(option_rows()),
                            names_of(cluster_keys), names_of(jobs_keys), names_of(topology_kinds())})
    for (const std::string& name : names)  // some names, such as ring, are in two tables
      if (std::find(topics.begin(), topics.end(), name) == topics.end()) topics.push_back(name);
  return topics;
}

std::string topic_help(std::string_view topic, std::size_t width) {
  if (const Strategy* strategy = row_named(strategies(), topic)) return strategy_help(*strategy, width);
  if (const Algorithm* algorithm = row_named(algorithms(), topic)) return collective_help(*algorithm, width);
  if (const Codec* codec = row_named(codecs(), topic)) return codec_help(*codec, width);
  if (const OptionRow* option = row_named(option_rows(), option_of(topic))) return option_help(*option, width);
  if (const ScheduleRow* schedule = row_named(schedules(), topic)) return schedule_help(*schedule, width);
  if (const FileKey* key = row_named(cluster_keys, topic)) return file_key_help(*key, "In a cluster file", width);
  if (const FileKey* key = row_named(jobs_keys, topic)) return file_key_help(*key, "In a jobs file", width);
  if (const std::string kinds = topology_help(topic, width); !kinds.empty()) return kinds;
  return column_help(columns(), topic, width);
}

namespace {

struct HelpArguments {
  const CommandLine* app = nullptr;
  std::string topic;
};

void execute(Context& context, const HelpArguments& arguments) {
  const auto& [app, topic] = arguments;
  const std::size_t width = screen().width;
  if (topic.empty()) return context.console.print("{}", program_help(*app, width));
  std::string text = topic_help(topic, width);
  if (const Command* command = row_named(app->commands, topic))  // maybe a topic with the command's name
    return context.console.print("{}{}{}", text, text.empty() ? "" : "\n", command_help(*command, width));
  if (text.empty()) text = flag_help(*app, topic, width);
  if (text.empty()) text = column_help(all_columns(), topic, width);
  if (text.empty()) hint_at_non_strategy(topic, argument("help"));
  std::vector<std::string> known = help_topics();
  for (const std::string& name : names_of(app->commands)) known.push_back(name);
  if (text.empty()) fail_with_nearest(topic, known, argument("help"), "unknown name '{}'");
  context.console.print("{}", text);
}

}  // namespace

void add_help(CommandLine& app) {
  auto [command, arguments] = app.add<HelpArguments>("help",
                                                     "explain a command, strategy, collective, codec, schedule, "
                                                     "option, key of a cluster or jobs file, or result column",
                                                     execute);
  arguments.app = &app;
  command.add_option("topic", arguments.topic, one_of("NAME", help_topics),
                     "its name, such as ddp, ring, topk, bucket_cap or compare (none: all commands)");
  command.footer = "Examples:\n  allreplay help fsdp2\n  allreplay help bucket_cap";
}

}  // namespace allreplay
