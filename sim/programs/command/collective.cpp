#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/collective_report.hpp"
#include "sim/output/report/links_report.hpp"
#include "sim/output/view/links_picture.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/experiment/over_seeds.hpp"

namespace allreplay {

namespace {

struct CollectiveArguments {
  std::string cluster, workers, collective, operation, fidelity, plot, seeds, bytes = "8B:1GiB:x2";
  std::vector<std::string> options;
  ClusterWordArguments cluster_words;
  ChangeArguments changes;
  bool json = false, links = false;
};

void execute(Context& context, const CollectiveArguments& arguments) {
  ScenarioArguments words;
  words.cluster = arguments.cluster;
  words.cluster_words = arguments.cluster_words;
  words.workers = arguments.workers;
  words.collective = arguments.collective;
  words.fidelity = arguments.fidelity;
  words.options = arguments.options;
  words.changes = arguments.changes;
  words.seeds = arguments.seeds;
  Library library(context.inputs);
  Scenario scenario = library.resolve_network(words.request(""));
  if (!arguments.operation.empty())
    scenario.operation = choose_by_name(operations_with(&OperationRow::usual), arguments.operation,
                                        argument("--operation"), "unknown operation '{}'")
                             .value;
  scenario.options.parallel = {};  // of all workers, whatever they train
  const std::vector<Bytes> sizes = parse_sizes(arguments.bytes, argument("--bytes"));
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  require_separate(context.files(), {{"--plot", arguments.plot}},
                   {file_behind(context.files(), "topologies", arguments.cluster)});
  const CollectivePricing pricing = price_over_seeds(scenario, sizes);
  const std::vector<CollectiveRow>& rows = pricing.rows;
  std::optional<LinkUsage> usage;  // of the largest
  if (arguments.links || !arguments.plot.empty())
    usage =
        link_usage(scenario, rows.back().bytes, rows.back().time_s, argument(arguments.links ? "--links" : "--plot"));
  JsonValue json = collective_json(scenario, pricing);
  if (arguments.links) json["rows"].back()["links"] = links_json(*usage);
  if (!arguments.plot.empty())
    write_picture(context.files(), arguments.plot,
                  links_picture(*usage, *scenario.cluster.network.topology,
                                fmt::format("{}; {}", trim(rendered(collective_heading_view(), json, {.width = 1000})),
                                            format_size(rows.back().bytes))));
  context.console.warn(pricing.warning);
  context.console.note(pricing.note);
  if (arguments.json) return context.console.print_json(json["rows"]);
  context.console.show(collective_view(), json);
  if (!arguments.links) return;
  context.console.print("\n");
  context.console.show(links_view(), links_document(*usage));
}

}  // namespace

void add_collective(CommandLine& app) {
  auto arguments = std::make_shared<CollectiveArguments>();
  Command command =
      app.add_subcommand("collective", "time one collective alone, by message size, as nccl-tests prints it");
  add_cluster_options(command, arguments->cluster, arguments->cluster_words);
  command.add_option("-n,--workers", arguments->workers, values::number, "number of workers (the cluster file's)");
  command.add_option("--collective", arguments->collective, {"COLLECTIVE", "collectives"},
                     "the algorithm (the cluster file's); see `allreplay list collectives`");
  command.add_option("--fidelity", arguments->fidelity,
                     {.name = "FIDELITY", .words = [] { return names_of(fidelities); }},
                     "alpha-beta, fluid or message (the cluster file's)");
  command.add_option("--operation", arguments->operation,
                     {.name = "OPERATION", .words = [] { return names_of(operations_with(&OperationRow::usual)); }},
                     "the operation to time; --bytes as nccl-tests counts them: " +
                         choices(names_of(operations_with(&OperationRow::usual))));
  add_seeds_option(command, arguments->seeds);
  add_change_options(command, arguments->changes, {Changed::Network});
  command.add_option("--bytes", arguments->bytes, values::size, "one size, or FROM:TO:xFACTOR").capture_default_str();
  command
      .add_option("-o,--option", arguments->options, {"KEY=VALUE", "options"},
                  "key=value, any number of times; see `allreplay list options`")
      .allow_extra_args(false);
  command.add_flag("--json", arguments->json, "print a JSON array");
  command.add_flag(
      "--links", arguments->links,
      "fluid, message: print the use of each kind of link at the largest size, and the hottest links by name");
  command.add_option("--plot", arguments->plot, values::file,
                     "fluid, message: draw the topology, its links coloured by use: FILE.svg, .png or .pdf");
  command.footer(
      "algbw is bytes / time; busbw is the part that a link carries (2(N-1)/N of algbw for an all-reduce).\n"
      "With --operation the size is the whole buffer: what a rank has after an all-gather, what it has before a "
      "reduce-scatter, and all that it sends in an all-to-all.\n"
      "Example:\n  allreplay collective --cluster fat-tree-16 --workers 256 --collective ring --fidelity message "
      "--bytes 1MiB:1GiB:x4");
  command.callback([arguments](Context& context) { execute(context, *arguments); });
}

}  // namespace allreplay
