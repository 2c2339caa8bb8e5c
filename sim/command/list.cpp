#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/interchange/importers/importer.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

using Rows = std::vector<std::vector<std::string>>;

// What a data file says of itself.
std::string summary(const std::string& folder, const std::string& name) {
  const Json json = Json::read(find_data(folder, name, "file"));
  for (const auto key : {"description", "reproduces"})
    if (const auto text = json.find(key)) return text->text();
  if (const auto device = json.find("device"))
    return fmt::format("{}, batch {}, {}, {}", device->text(), json.at("batch_size").dump(),
                       json.at("precision").text(), json.at("origin").text());
  return "";
}

// Names alone need no file read: one that is damaged does not stop a shell's completion.
Rows data(const std::string& folder, bool names_only) {
  Rows rows{{"name", ""}};
  for (const std::string& name : list_data(folder)) rows.push_back({name, names_only ? "" : summary(folder, name)});
  return rows;
}

Rows rows_of(const std::string& what, bool names_only) {
  Rows rows{{"name", ""}};
  if (what == "strategies")
    for (const Strategy& strategy : strategies()) {
      std::string options;
      for (const std::string_view option : strategy.options)
        options += fmt::format("{}{}", options.empty() ? "; options: " : ", ", option);
      rows.push_back({std::string(strategy.name), std::string(strategy.summary) + options});
    }
  else if (what == "collectives")
    for (const Algorithm& algorithm : algorithms())
      rows.push_back({std::string(algorithm.name), std::string(algorithm.summary)});
  else if (what == "codecs" && !names_only)
    for (const std::string& name : list_data("models/codecs")) {
      const Json json = Json::read(find_data("models/codecs", name, "codec"));
      const CodecCosts costs = read_codec(json, name);
      rows.push_back({name, fmt::format("{}; {} on {}", costs.codec->summary, costs.origin, costs.device)});
    }
  else if (what == "topologies")
    for (const KindSummary& kind : topology_kinds())
      rows.push_back({std::string(kind.name), std::string(kind.summary)});
  else if (what == "options")
    for (const OptionHelp& option : option_help()) rows.push_back({option.name, option.help});
  else if (what == "importers")
    for (const Importer& importer : importers())
      rows.push_back({std::string(importer.name), std::string(importer.summary)});
  else if (what == "profiles")
    return data("traces", names_only);
  else if (what == "clusters")
    return data("topologies", names_only);
  else
    return data(what == "codecs" ? "models/codecs" : what, names_only);
  return rows;
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> known{"strategies", "collectives", "codecs", "topologies", "options",
                                              "profiles",   "clusters",    "models", "configs",    "importers"};
  return known;
}

void add_list(CLI::App& app) {
  auto what = std::make_shared<std::string>();
  auto names = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("list", "what there is to choose from");
  command->add_option("what", *what, fmt::format("{}", fmt::join(listable(), ", ")))->required();
  command->add_flag("--names", *names, "only the names, one a line, for scripts");
  command->callback([what, names] {
    if (std::find(listable().begin(), listable().end(), *what) == listable().end())
      throw InputError(argument("list"), fmt::format("nothing is called '{}'", *what), suggest(*what, listable()));
    const Rows rows = rows_of(*what, *names);
    if (!*names) return fmt::print("{}", format_table(rows));
    for (std::size_t i = 1; i < rows.size(); ++i) fmt::print("{}\n", rows[i][0]);
  });
}

}  // namespace allreplay
