#include "sim/programs/command/help.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/configs/config_file.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/output/report/phrases.hpp"
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

std::string column_help(const std::vector<const Column*>& columns, std::size_t width) {
  std::string text;
  for (const Column* one : columns) text += wrapped(fmt::format("{}: {}\n", one->key, one->text()), width, 2);
  return text + (columns.empty() ? "" : columns.size() == 1 ? "A column of results.\n" : "Columns of results.\n");
}

// Finds a column by its name in any case, without its unit ("bubble"), or by its first word ("exposed").
const Column* column_like(std::string_view topic) {
  const std::string name = lower_case(topic);
  const auto first = [&](const auto& matches) -> const Column* {
    const auto found = std::ranges::find_if(all_columns(), matches);
    return found == all_columns().end() ? nullptr : &*found;
  };
  if (const Column* found = first([&](const Column& one) { return one.key == name; })) return found;
  if (const Column* found = first([&](const Column& one) { return one.key == name + "_s"; })) return found;
  return first([&](const Column& one) { return one.key.starts_with(name + "_"); });
}

// True if the topic is the column's title on screens, or the end of it: "efficiency" of "scaling eff.".
bool is_titled(const Column& one, const std::string& topic) {
  const std::string own_title = lower_case(one.title);
  const std::vector<std::string_view> title = split(own_title, " "), words = split(topic, " ");
  if (own_title.empty() || words.size() > title.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view own = title[title.size() - words.size() + i];
    const bool is_short = own.ends_with('.');
    if (is_short) own.remove_suffix(1);
    if (is_short ? !words[i].starts_with(own) : words[i] != own) return false;
  }
  return true;
}

std::vector<const Column*> columns_of(std::string_view topic) {
  std::vector<const Column*> columns;
  for (const Column& one : all_columns())
    if (one.key == topic || is_titled(one, lower_case(topic))) columns.push_back(&one);
  return columns;
}

// Help on settings of frameworks that --config reads.
std::string setting_help(std::string_view topic, std::size_t width) {
  std::string text;
  for (const FrameworkSetting& one : framework_settings(topic)) {
    const std::string flags = one.flags.empty() ? "reads it, with others" : "sets " + listed(one.flags, 3);
    text += wrapped(fmt::format("{}: a setting of {}, for which --config {}\n", one.key, one.format, flags), width, 2);
  }
  return text.empty() ? "" : text + "See docs/configurations.md.\n";
}

// Help on a word of frameworks that has another name here.
std::string word_help(std::string_view topic, std::size_t width) {
  const auto hint = hint_on_word(topic);
  return hint ? wrapped(fmt::format("{}: {}\nHere: {}\n", topic, hint->wrong, hint->right), width, 2) : "";
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

// Help on a flag, once for all commands that describe it in the same words.
std::string flag_help(const CommandLine& app, std::string_view topic, std::size_t width) {
  const std::string flag = flag_of(option_of(topic));
  std::vector<std::pair<std::string, std::string>> entries;  // what commands say, and which
  for (const Command& command : app.commands) {
    const Option* option = command.find(flag);
    if (!option) continue;
    const std::string entry = option_entry(*option, width);
    const auto same = std::ranges::find(entries, entry, [](const auto& one) { return one.first; });
    if (same == entries.end())
      entries.emplace_back(entry, "allreplay " + command.name);
    else
      same->second += ", " + command.name;
  }
  std::string text;
  for (const auto& [entry, commands] : entries) text += wrapped(commands + ":", width) + "\n" + entry;
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

namespace {

// The files whose keys are explained.
std::vector<std::pair<std::string_view, std::string_view>> schemas() {
  return {{cluster_schema, "cluster"}, {sweep_schema, "sweep"}, {jobs_schema, "jobs"}};
}

}  // namespace

std::vector<std::string> help_topics() {
  std::vector<std::string> topics = names_of(strategies()), keys;
  for (const auto& [schema, file] : schemas())
    for (KeyDescription& one : keys_of_schema(schema)) keys.push_back(std::move(one.key));
  for (const auto& names : {names_of(algorithms()), names_of(codecs()), names_of(schedules()), names_of(option_rows()),
                            keys, names_of(topology_kinds())})
    for (const std::string& name : names)  // some names, such as ring, are in two tables
      if (std::find(topics.begin(), topics.end(), name) == topics.end()) topics.push_back(name);
  return topics;
}

namespace {

// Explains everything of that name; "" if there is nothing.
std::string topic_help(const CommandLine& app, std::string_view topic, std::size_t width) {
  std::vector<std::string> parts;
  if (const Strategy* strategy = row_named(strategies(), topic)) parts.push_back(strategy_help(*strategy, width));
  if (const Algorithm* algorithm = row_named(algorithms(), topic)) parts.push_back(collective_help(*algorithm, width));
  if (const Codec* codec = row_named(codecs(), topic)) parts.push_back(codec_help(*codec, width));
  const OptionRow* option = row_named(option_rows(), option_of(topic));
  if (option) parts.push_back(option_help(*option, width));
  if (const ScheduleRow* schedule = row_named(schedules(), topic)) parts.push_back(schedule_help(*schedule, width));
  for (const auto& [schema, file] : schemas())
    if (!option || file != "sweep")  // where every option is a key
      parts.push_back(key_help(schema, file, topic, width));
  parts.push_back(topology_help(topic, width));
  parts.push_back(column_help(columns_of(topic), width));
  parts.push_back(setting_help(topic, width));
  if (const Command* command = row_named(app.commands, topic)) parts.push_back(command_help(*command, width));
  std::erase(parts, "");
  const bool is_known = !parts.empty();
  parts.push_back(flag_help(app, topic, width));
  if (!is_known) parts.push_back(word_help(topic, width));
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, "\n"));
}

struct HelpArguments {
  const CommandLine* app = nullptr;
  std::string topic;
};

void execute(Context& context, const HelpArguments& arguments) {
  const auto& [app, topic] = arguments;
  const std::size_t width = screen().width;
  if (topic.empty()) return context.console.print("{}", program_help(*app, width));
  std::string text = topic_help(*app, topic, width);
  if (const Column* like = text.empty() ? column_like(topic) : nullptr) text = column_help({like}, width);
  std::vector<std::string> known = help_topics();
  for (const std::string& name : names_of(app->commands)) known.push_back(name);
  if (text.empty()) fail_with_nearest(topic, known, argument("help"), "unknown name '{}'");
  context.console.print("{}", text);
}

}  // namespace

void add_help(CommandLine& app) {
  auto [command, arguments] =
      app.add<HelpArguments>("help",
                             "explain all that has a name: command, option, strategy, "
                             "collective, codec, schedule, key of a file, result column, setting of a "
                             "framework",
                             execute);
  arguments.app = &app;
  command.add_option("topic", arguments.topic, one_of("NAME", help_topics),
                     "its name, such as ddp, ring, topk, bucket_cap or compare (none: all commands)");
  command.footer = "Examples:\n  allreplay help fsdp2\n  allreplay help jitter";
}

}  // namespace allreplay
