#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/topology_report.hpp"
#include "sim/output/view/links_picture.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

struct TopologyArguments {
  std::string cluster, workers, dot, plot, cluster_out;
  ClusterWordArguments cluster_words;
  ChangeArguments changes;
  bool json = false;
};

// A cluster file in words can also hold the number of rails, but no other flag.
std::string file_of_words(const TopologyArguments& arguments) {
  std::vector<ChangeText> words = words_of_cluster(arguments.cluster_words);
  if (words.empty())
    throw InputError(argument("--cluster-out"), fmt::format("'{}' is already a file", arguments.cluster),
                     "a cluster described by flags, such as --nodes 8 --gpus 8 --network 400Gbit/s --inner 370GB/s");
  for (const ChangeText& change : changes_of(arguments.changes)) {
    if (change.name != "rails")
      throw InputError(change.place,
                       "changes the cluster that the flags describe, which --cluster-out writes unchanged",
                       "other flags for the cluster, or no --cluster-out");
    words.push_back(change);
  }
  return cluster_file_of(words);
}

Drawing topology_picture(const Cluster& cluster) {
  const TopologySpec spec = *topology_of(cluster.network);
  return links_picture(
      no_usage(make_topology(spec, cluster.workers)), spec,
      fmt::format("{}: {}, {}", named_with_routing(cluster), kind_name(spec.kind), counted(cluster.workers, "worker")));
}

void execute(Context& context, const TopologyArguments& arguments) {
  Library library(context.inputs);
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  require_separate(context.files(),
                   {{"--dot", arguments.dot, false, "node [shape=box]"},
                    {"--plot", arguments.plot},
                    {"--cluster-out", arguments.cluster_out}},
                   {file_behind(context.files(), "topologies", arguments.cluster)});
  const std::string file = arguments.cluster_out.empty() ? "" : file_of_words(arguments);
  ScenarioArguments words;
  words.cluster = arguments.cluster;
  words.cluster_words = arguments.cluster_words;
  words.workers = arguments.workers;
  words.changes = arguments.changes;
  const Scenario scenario = library.resolve_network(words.request(""));
  Cluster cluster = scenario.cluster;
  cluster.workers = scenario.workers;
  if (!file.empty()) context.files().write(arguments.cluster_out, file);
  if (!arguments.dot.empty()) context.files().write(arguments.dot, topology_dot(cluster));
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, topology_picture(cluster));
  context.console.show(topology_view(), topology_json(cluster), arguments.json);
}

}  // namespace

void add_topology(CommandLine& app) {
  auto arguments = std::make_shared<TopologyArguments>();
  Command command =
      app.add_subcommand("topology", "describe a cluster's network: hosts, switches, links, diameter, bisection");
  add_cluster_options(command, arguments->cluster, arguments->cluster_words);
  command.add_option("-n,--workers", arguments->workers, values::number, "number of workers (the cluster file's)");
  add_change_options(command, arguments->changes, {Changed::Network});
  command.add_option("--dot", arguments->dot, values::file, "write the network to this file, for Graphviz");
  command.add_option("--plot", arguments->plot, values::file,
                     "draw the network, equal parts once: FILE.svg, .png or .pdf");
  command.add_option("--cluster-out", arguments->cluster_out, values::file,
                     "write the cluster described by flags to this file");
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "Example:\n  allreplay topology --cluster fat-tree-16 --plot fat-tree.svg\n"
      "  allreplay topology --cluster fat-tree-4 --dot fat-tree.dot && dot -Tsvg -O fat-tree.dot");
  command.callback([arguments](Context& context) { execute(context, *arguments); });
}

}  // namespace allreplay
