#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/report/topology_report.hpp"

namespace allreplay {

namespace {

struct TopologyArguments {
  std::string cluster, workers, dot;
  ChangeArguments changes;
  bool json = false;
};

void execute(const TopologyArguments& arguments) {
  Library library;
  require_separate({{"--dot", arguments.dot}}, {file_behind("topologies", arguments.cluster)});
  ScenarioArguments words;
  words.cluster = arguments.cluster;
  words.workers = arguments.workers;
  words.changes = arguments.changes;
  const Scenario scenario = library.resolve_network(words.request(""));
  Cluster cluster = scenario.cluster;
  cluster.workers = scenario.workers;
  if (!arguments.dot.empty()) write_file(arguments.dot, topology_dot(cluster));
  print("{}", arguments.json ? topology_json(cluster) : topology_table(cluster, screen()));
}

}  // namespace

void add_topology(CommandLine& app) {
  auto arguments = std::make_shared<TopologyArguments>();
  Command command =
      app.add_subcommand("topology", "describe a cluster's network: hosts, switches, links, diameter, bisection");
  command.add_option("-c,--cluster", arguments->cluster, "a cluster file, or a name from `allreplay list clusters`")
      .required();
  command.add_option("-n,--workers", arguments->workers, "how many workers (the cluster file's)");
  add_change_options(command, arguments->changes, true);
  command.add_option("--dot", arguments->dot, "write the network for Graphviz to this file");
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.footer("Example:\n  allreplay topology --cluster fat-tree-4 --dot fat-tree.dot && dot -Tsvg -O fat-tree.dot");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
