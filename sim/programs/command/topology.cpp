#include <utility>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/topology_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/link_usage.hpp"
#include "sim/studies/experiment/changes.hpp"
#include "sim/studies/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

struct TopologyArguments {
  std::string cluster, workers, collective, fidelity, dot, plot, cluster_out;
  ClusterWordArguments cluster_words;
  ChangeArguments changes;
  bool json = false;
};

// The cluster file, or that of the cluster in words, with all other flags in it. Words may include the number of rails.
std::string changed_file(const Files& files, const TopologyArguments& arguments, const Request& request) {
  ClusterFlags flags{request.workers, request.collective, request.fidelity, {}};
  std::vector<ChangeText> words = words_of_cluster(arguments.cluster_words);
  flags.changes = changes_of(arguments.changes);
  if (!words.empty() && flags.changes.size() == 1 && flags.changes.front().name == "rails")
    words.push_back(std::exchange(flags.changes, {}).front());
  if (!words.empty()) return with_flags(Json::parse(cluster_file_of(words), "the cluster in words"), flags);
  if (flags.changes.empty() && !flags.workers && flags.collective.empty() && flags.fidelity.empty())
    throw InputError(argument("--cluster-out"), fmt::format("'{}' is already a file", arguments.cluster),
                     "flags that change it, such as --bandwidth 200Gbit/s, or that describe a cluster: --nodes 8 …");
  return with_flags(Json::read(files, file_behind(files, "topologies", arguments.cluster)), flags);
}

// Throws InputError if something is wrong that the description of a network does not need.
void require_usable(Library& library, const Request& request, Scenario scenario) {
  if (!request.collective.empty() || !request.fidelity.empty()) collective_of(scenario);
  library.set_stragglers(scenario, request);
}

Drawing topology_picture(const Cluster& cluster) {
  const TopologySpec spec = *topology_of(cluster.network);
  return links_picture(
      no_usage(make_topology(spec, cluster.workers)), spec,
      fmt::format("{}: {}, {}", named_with_routing(cluster), kind_name(spec.kind), counted(cluster.workers, "worker")));
}

void execute(Context& context, const TopologyArguments& arguments) {
  Library library(context.inputs);
  require_separate(context.files(),
                   {{"--dot", arguments.dot, false, "node [shape=box]"},
                    picture_at("--plot", arguments.plot),
                    {"--cluster-out", arguments.cluster_out, false, "\"network\""}},
                   {file_behind(context.files(), "topologies", arguments.cluster)});
  ScenarioArguments words;
  words.cluster = arguments.cluster;
  words.cluster_words = arguments.cluster_words;
  words.workers = arguments.workers;
  words.collective = arguments.collective;
  words.fidelity = arguments.fidelity;
  words.changes = arguments.changes;
  const Request request = words.request("");
  const Scenario scenario = library.resolve_network(request);
  require_usable(library, request, scenario);
  const std::string file = arguments.cluster_out.empty() ? "" : changed_file(context.files(), arguments, request);
  Cluster cluster = scenario.cluster;
  cluster.workers = scenario.workers;
  // A cluster without topology can be saved, but not described.
  const bool described = file.empty() || arguments.json || !arguments.dot.empty() || !arguments.plot.empty() ||
                         topology_of(cluster.network);
  const JsonValue description = described ? topology_json(cluster) : JsonValue();
  if (!file.empty()) context.write_cluster(arguments.cluster_out, file);
  if (!described) return context.console.note(fmt::format("{} is saved; it has no topology to show", cluster.name));
  if (!arguments.dot.empty()) context.files().write(arguments.dot, topology_dot(cluster));
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, topology_picture(cluster));
  context.console.show(topology_view(), description, arguments.json);
}

}  // namespace

void add_topology(CommandLine& app) {
  auto [command, arguments] = app.add<TopologyArguments>(
      "topology", "describe a cluster's network: hosts, switches, links, diameter, bisection", execute);
  add_cluster_options(command, arguments.cluster, arguments.cluster_words);
  command.add_option("-n,--workers", arguments.workers, values::number, "number of workers (the cluster file's)");
  command.add_option("--collective", arguments.collective, {"COLLECTIVE", "collectives"},
                     "all-reduce algorithm, in the file of --cluster-out");
  command.add_option("--fidelity", arguments.fidelity, one_of("FIDELITY", [] { return names_of(fidelities); }),
                     "how communication is priced, in the file of --cluster-out");
  add_change_options(command, arguments.changes, {Changed::Network, Changed::Stragglers});
  command.add_option("--dot", arguments.dot, values::file, "write the network to this file, for Graphviz");
  command.add_option("--plot", arguments.plot, values::file,
                     "draw the network, equal parts once: FILE.svg, .png or .pdf");
  command.add_option("--cluster-out", arguments.cluster_out, values::file,
                     "write the cluster to this file, with the flags that change or describe it");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer =
      "Example:\n  allreplay topology --cluster fat-tree-16 --plot fat-tree.svg\n"
      "  allreplay topology --cluster fat-tree-4 --dot fat-tree.dot && dot -Tsvg -O fat-tree.dot\n"
      "  allreplay topology --cluster h100x8-8x400gbps --bandwidth 200Gbit/s --workers 512 --cluster-out mine.json";
}

}  // namespace allreplay
