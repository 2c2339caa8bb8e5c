#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/base/core/named.hpp"
#include "sim/formats/interchange/exporters/exporter.hpp"
#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/output/report/table.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"
#include "sim/studies/results/row.hpp"
#include "sim/studies/search/search_space.hpp"

namespace allreplay {

namespace {

using TextRows = std::vector<std::vector<std::string>>;

// `name` as code in Markdown.
std::string code(std::string_view name) { return fmt::format("`{}`", name); }

std::string codes(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + code(name);
  return text;
}

// --- the program's own tables: X_lines() for `list X`, X_table() for --markdown, which docs/ contains

// Names and summaries of a table.
template <const auto& table>
TextRows summaries(const Files& /*files*/) {
  TextRows rows;
  for (const auto& row : table()) rows.push_back({std::string(row.name), std::string(row.summary)});
  return rows;
}

TextRows strategy_lines(const Files& /*files*/) {
  TextRows rows;
  for (const Strategy& strategy : strategies())
    rows.push_back({std::string(strategy.name),
                    fmt::format("{}{}{}", strategy.summary,
                                strategy.options.empty() ? "" : "; options: ", fmt::join(strategy.options, ", "))});
  return rows;
}

TextRows strategy_table() {
  TextRows rows{{"strategy", "what it sends", "options", "framework"}};
  for (const Strategy& strategy : strategies()) {
    const Offer& offer = strategy.offer;
    rows.push_back({code(strategy.name), std::string(strategy.summary),
                    codes({strategy.options.begin(), strategy.options.end()}),
                    offer.framework.empty() ? ""
                                            : code(offer.framework) + (offer.maintained() ? ""
                                                                       : offer.words      ? ", research"
                                                                                          : ", code to paste")});
  }
  return rows;
}

TextRows collective_table() {
  TextRows rows{{"collective", "what it does", "a", "b", "N"}};
  for (const Algorithm& one : algorithms())
    rows.push_back({code(one.name), std::string(one.summary), std::string(one.start_up), std::string(one.per_byte),
                    std::string(one.workers)});
  return rows;
}

TextRows codec_lines(const Files& files) {
  TextRows rows;
  for (const std::string& name : files.list_data("models/codecs")) {
    const CodecCosts costs = read_codec(Json::read(files, files.find_data("models/codecs", name, "codec")), name);
    rows.push_back({name, fmt::format("{}; {} on {}", costs.codec->summary, costs.origin, costs.device)});
  }
  return rows;
}

TextRows codec_table() {
  TextRows rows{{"codec", "sent for a vector x", "bytes", "option", "collective", "error feedback"}};
  for (const Codec& codec : codecs())
    rows.push_back({code(codec.name), std::string(codec.sent), std::string(codec.size),
                    codec.options[0].empty() ? "" : code(codec.options[0]),
                    codec.collective.empty() ? "the cluster's" : code(codec.collective),
                    codec.feedback ? "yes" : "no"});
  return rows;
}

TextRows topology_table() {
  TextRows rows{{"kind", "what it is", "keys of its own"}};
  for (const KindSummary& kind : topology_kinds()) {
    std::vector<std::string> keys(kind.keys.begin(), kind.keys.end());
    std::erase(keys, "");
    rows.push_back({code(kind.name), std::string(kind.summary), codes(keys)});
  }
  return rows;
}

TextRows option_lines(const Files& /*files*/) {
  TextRows rows;
  for (const OptionRow& option : option_rows()) rows.push_back({std::string(option.name), help_of(option)});
  return rows;
}

// The range that `tune` varies, in the option's unit.
std::string tuned(const OptionRow& option) {
  if (tuned_by_choice(option.name)) return option.words.empty() ? "a few" : "its words";
  if (!option.tuned) return "";
  const auto text = [&](double value) {
    if (option.kind == OptionKind::Size) return write_size(static_cast<Bytes>(value));
    return option.kind == OptionKind::Duration ? write_duration(to_time(value)) : fmt::format("{}", value);
  };
  return fmt::format("{} to {}", text(option.tuned->low), text(option.tuned->high));
}

std::string words_of(const OptionRow& option) {
  std::vector<std::string> words;
  for (const std::string& word : option.words) {
    const std::string takers = takers_of(option, word);
    words.push_back(code(word) + (takers.empty() ? "" : fmt::format(" ({})", takers)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

TextRows option_table() {
  TextRows rows{{"option", "value", "default", "used by", "meaning", "`tune` varies"}};
  for (const OptionRow& option : option_rows())
    rows.push_back({code(option.name),
                    option.words.empty() ? std::string(name_of(option_kinds, option.kind)) : words_of(option),
                    default_of(option), readers_of(option), std::string(option.about), tuned(option)});
  return rows;
}

TextRows importer_table() {
  TextRows rows{{"format", "what"}};
  for (const Importer& importer : importers()) rows.push_back({code(importer.name), std::string(importer.summary)});
  return rows;
}

template <const auto& keys>
TextRows column_lines(const Files& /*files*/) {
  TextRows rows;
  for (const std::string_view key : keys()) rows.push_back({std::string(key), column_of(key).text()});
  return rows;
}

template <const auto& keys>
TextRows column_table() {
  TextRows rows{{"column", "unit", "meaning"}};
  for (const std::string_view key : keys())
    rows.push_back({code(key), std::string(column_of(key).unit), std::string(column_of(key).about)});
  return rows;
}

// --- data files

// A data file's own description.
std::string summary(const Files& files, std::string_view folder, const std::string& name) {
  const Json json = Json::read(files, files.find_data(folder, name, "file"));
  for (const auto key : {"description", "reproduces"})
    if (const auto text = json.find(key)) return text->text();
  if (const auto device = json.find("device"))
    return fmt::format("{}, batch {}, {}, {}", device->text(), json.at("batch_size").dump(),
                       json.at("precision").text(), json.at("origin").text());
  return "";
}

TextRows data(const Files& files, std::string_view folder) {
  TextRows rows;
  for (const std::string& name : files.list_data(folder)) rows.push_back({name, summary(files, folder, name)});
  return rows;
}

// Lists the models of both folders: models/ and models/transformers, which `estimate` builds. Names that differ only in
// hyphens and underscores are one model.
TextRows models(const Files& files) {
  TextRows rows;
  std::set<std::string> built;
  const auto one_spelling = [](std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  };
  for (const std::string& name : files.list_data("models/transformers")) {
    rows.push_back({name, summary(files, "models/transformers", name)});
    built.insert(one_spelling(name));
  }
  for (const auto& row : data(files, "models"))
    if (!built.contains(one_spelling(row[0]))) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Returns the kind under which a cluster is listed: a machine if its nodes have several GPUs; a paper's cluster if its
// costs were measured or its source names a section; else a topology.
std::string kind_of_cluster(const Files& files, const std::string& name) {
  const Json json = Json::read(files, files.find_data("topologies", name, "cluster"));
  const Json network = json.at("network");
  const auto topology = network.find("topology"), source = json.find("source");
  if (network.find("node") || network.find("nccl") || (topology && topology->find("gpus_per_host"))) return "machines";
  if (!topology || (source && source->text().find(", section") != std::string::npos)) return "clusters of papers";
  return "topologies";
}

// Rows under their titles.
using Groups = std::vector<std::pair<std::string, TextRows>>;

Groups clusters_by_kind(const Files& files, const TextRows& rows) {
  Groups groups{{"machines", {}}, {"topologies", {}}, {"clusters of papers", {}}};
  for (const auto& row : rows)
    std::find_if(groups.begin(), groups.end(), [kind = kind_of_cluster(files, row[0])](const auto& one) {
      return one.first == kind;
    })->second.push_back(row);
  return groups;
}

TextRows schedule_table() {
  TextRows rows{{"schedule", "what it does", "chunks per rank"}};
  for (const ScheduleRow& one : schedules())
    rows.push_back(
        {code(one.name), std::string(one.summary), fmt::format("{}{}", one.chunks, one.any_chunks ? " or more" : "")});
  return rows;
}

struct Listing {
  std::string_view name;
  TextRows (*lines)(const Files& files) = nullptr;  // nullptr: the names and descriptions of the files in `folder`
  TextRows (*table)() = nullptr;                    // with its header; nullptr if no page contains it
  std::string_view folder = "";                     // of the data files that it lists; "": none
  Groups (*groups)(const Files& files, const TextRows& rows) = nullptr;
};

constexpr Listing listings[] = {
    {"strategies", strategy_lines, strategy_table},
    {"collectives", summaries<algorithms>, collective_table},
    {"codecs", codec_lines, codec_table, "models/codecs"},
    {"topologies", summaries<topology_kinds>, topology_table},
    {"options", option_lines, option_table},
    {"profiles", nullptr, nullptr, "traces"},
    {"clusters", nullptr, nullptr, "topologies", clusters_by_kind},
    {"models", models},
    {"devices", nullptr, nullptr, "models/devices"},
    {"configs", nullptr, nullptr, "configs"},
    {"schedules", summaries<schedules>, schedule_table},
    {"importers", summaries<importers>, importer_table},
    {"exporters", summaries<exporters>},
    {"columns", column_lines<row_keys>, column_table<row_keys>},
    {"job-columns", column_lines<job_keys>, column_table<job_keys>},
};

JsonValue listed_column(const Column& one) {
  JsonValue json{{"name", one.key}};
  json.update(json_of(one));
  return json;
}

JsonValue json_of(const Listing& listing, const TextRows& rows) {
  auto json = JsonValue::array();
  if (listing.name == "columns")
    for (const Column& one : all_columns()) json.push_back(listed_column(one));
  else if (listing.name == "job-columns")
    for (const auto& row : rows) json.push_back(listed_column(column_of(row[0])));
  else
    for (const auto& row : rows) json.push_back({{"name", row[0]}, {"about", row[1]}});
  return json;
}

struct ListArguments {
  std::string what;
  bool names = false, markdown = false, json = false;
};

void execute(Context& context, const ListArguments& arguments) {
  const Listing& listing = find_by_name(listings, arguments.what, argument("list"), "unknown name '{}'");
  if (arguments.markdown) {
    if (!listing.table)
      throw InputError(argument("--markdown"), fmt::format("no page contains the {}", listing.name), "leave it out");
    return context.console.print("{}", markdown_table(listing.table()));
  }
  if (arguments.names) {
    for (const std::string& name : listed_names(context.files(), listing.name)) context.console.print("{}\n", name);
    return;
  }
  const TextRows rows = listing.lines ? listing.lines(context.files()) : data(context.files(), listing.folder);
  if (arguments.json) return context.console.print("{}\n", json_text(json_of(listing, rows), 2));
  Table table({"name", ""});
  const Groups groups = listing.groups ? listing.groups(context.files(), rows) : Groups{{"", rows}};
  for (const auto& [title, some] : groups) {
    if (!title.empty() && !some.empty()) table.add({title + ":", ""});
    for (const auto& row : some) table.add({(title.empty() ? "" : "  ") + row[0], row[1]});
  }
  context.console.print("{}", table.text(screen()));
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> known = names_of(listings);
  return known;
}

// Reads no data file, so that a damaged one does not stop shell completion.
std::vector<std::string> listed_names(const Files& files, std::string_view what) {
  const Listing& listing = find_by_name(listings, what, argument("list"), "unknown name '{}'");
  if (!listing.folder.empty()) return files.list_data(listing.folder);
  std::vector<std::string> names;
  for (const auto& row : listing.lines(files)) names.push_back(row[0]);
  return names;
}

void add_list(CommandLine& app) {
  auto [command, arguments] = app.add<ListArguments>("list", "list the available names", execute);
  command
      .add_option("what", arguments.what, one_of("WHAT", [] { return listable(); }),
                  fmt::format("{}", fmt::join(listable(), ", ")))
      .required();
  Option& names = command.add_flag("--names", arguments.names, "only the names, one per line, for scripts");
  command.add_flag("--markdown", arguments.markdown, "print the Markdown table that docs/ contains").excludes(names);
  command.add_flag("--json", arguments.json, "print JSON; for columns, those of all commands").excludes(names);
}

}  // namespace allreplay
