#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/report/collective_report.hpp"

namespace allreplay {

namespace {

struct CollectiveArguments {
  std::string cluster, workers, collective, fidelity, bytes = "8B:1GiB:x2";
  std::vector<std::string> options;
  bool json = false;
};

void execute(const CollectiveArguments& arguments) {
  ScenarioArguments words;
  words.cluster = arguments.cluster;
  words.workers = arguments.workers;
  words.collective = arguments.collective;
  words.fidelity = arguments.fidelity;
  words.options = arguments.options;
  Library library;
  const Scenario scenario = library.resolve_network(words.request(""));
  const std::vector<Bytes> sizes = parse_sizes(arguments.bytes, argument("--bytes"));
  const CollectivePricing pricing = collective_pricing(scenario);
  const std::vector<CollectiveRow> rows = measure_collective(pricing, sizes);
  warn(pricing.warning);
  print("{}", arguments.json ? collective_json(rows) : collective_heading(scenario, pricing) + collective_table(rows));
}

}  // namespace

void add_collective(CommandLine& app) {
  auto arguments = std::make_shared<CollectiveArguments>();
  Command command =
      app.add_subcommand("collective", "time one collective alone, by message size, as nccl-tests prints it");
  command.add_option("-c,--cluster", arguments->cluster, "a cluster file, or a name from `allreplay list clusters`")
      .required();
  command.add_option("-n,--workers", arguments->workers, "how many workers (the cluster file's)");
  command.add_option("--collective", arguments->collective,
                     "the algorithm (the cluster file's); see `allreplay list collectives`");
  command.add_option("--fidelity", arguments->fidelity, "alpha-beta, fluid or message (the cluster file's)");
  command.add_option("--bytes", arguments->bytes, "one size, or FROM:TO:xFACTOR").capture_default_str();
  command.add_option("-o,--option", arguments->options, "key=value, any number of times; see `allreplay list options`")
      .allow_extra_args(false);
  command.add_flag("--json", arguments->json, "print a JSON array");
  command.footer(
      "algbw is bytes / time; busbw what of it a link carries (2(N-1)/N of algbw for an all-reduce).\n"
      "Example:\n  allreplay collective --cluster fat-tree-16 --workers 256 --collective ring --fidelity message "
      "--bytes 1MiB:1GiB:x4");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
