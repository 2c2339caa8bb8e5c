#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/collective_report.hpp"
#include "sim/output/report/topology_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/experiment/over_seeds.hpp"

namespace allreplay {

namespace {

struct CollectiveArguments {
  std::vector<std::string> clusters, workers, collectives, fidelities, options, bytes;
  std::string operation, plot, seeds;
  ClusterWordArguments cluster_words;
  ChangeArguments changes;
  bool json = false, csv = false, links = false;
};

// The given values; without any, one that leaves the choice to the cluster's file.
std::vector<std::string> some_or_none(std::vector<std::string> given) {
  if (given.empty()) given.emplace_back();
  return given;
}

std::vector<Bytes> sizes_of(const Files& files, const CollectiveArguments& arguments) {
  std::vector<std::string> ranges = split_list(files, arguments.bytes, "--bytes");
  if (ranges.empty()) ranges.emplace_back("8B:1GiB:x2");
  std::vector<Bytes> sizes;
  for (const std::string& range : ranges)
    for (const Bytes size : parse_sizes(range, argument("--bytes"))) sizes.push_back(size);
  if (ranges.size() > 1) {
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
  return sizes;
}

// The arguments of one collective, and which of them it competes with (PricedCollective::problem).
struct Combination {
  ScenarioArguments words;
  std::size_t problem = 0;
};

// The arguments of each combination of the given values.
std::vector<Combination> combinations(const Files& files, const CollectiveArguments& arguments) {
  std::vector<std::string> workers;
  for (const std::string& some : some_or_none(split_list(files, arguments.workers, "--workers")))
    for (const std::string& count : worker_counts(some)) workers.push_back(count);
  std::vector<std::string> given;
  if (const auto found = arguments.changes.find("protocol"); found != arguments.changes.end()) given = found->second;
  const std::vector<std::string> protocols = some_or_none(split_list(files, given, "--protocol"));
  std::vector<Combination> all;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> problems;
  ScenarioArguments words;
  words.cluster_words = arguments.cluster_words;
  words.options = arguments.options;
  words.changes = arguments.changes;
  words.seeds = arguments.seeds;
  for (const std::string& cluster : some_or_none(split_list(files, arguments.clusters, "--cluster", "topologies")))
    for (const std::string& count : workers)
      for (const std::string& collective : some_or_none(split_list(files, arguments.collectives, "--collective")))
        for (const std::string& fidelity : some_or_none(split_list(files, arguments.fidelities, "--fidelity")))
          for (const std::string& protocol : protocols) {
            words.cluster = cluster;
            words.workers = count;
            words.collective = collective;
            words.fidelity = fidelity;
            if (!protocol.empty()) words.changes["protocol"] = {protocol};
            const auto known = problems.try_emplace({cluster, count, fidelity}, problems.size()).first;
            all.push_back({words, known->second});
          }
  constexpr std::size_t most = 1'000;
  if (all.size() > most)
    throw InputError({"command line", ""}, fmt::format("this makes {} combinations", all.size()),
                     fmt::format("at most {}", most));
  return all;
}

Scenario scenario_of(Library& library, const CollectiveArguments& arguments, const ScenarioArguments& words) {
  Scenario scenario = library.resolve_network(words.request(""));
  if (!arguments.operation.empty()) scenario.operation = parse_operation(arguments.operation);
  scenario.options.parallel = {};  // of all workers, whatever they train
  return scenario;
}

std::string title_of(const JsonValue& json) {
  return std::string(trim(rendered(collectives_heading_view(), json, {.width = 1000})));
}

// In fluid and message a single collective's picture is its use of links.
void execute_one(Context& context, const CollectiveArguments& arguments, const PricedCollective& one) {
  const std::vector<CollectiveRow>& rows = one.pricing.rows;
  const bool drawn = !arguments.plot.empty();
  std::optional<LinkUsage> usage;  // of the largest
  if (arguments.links || (drawn && collective_of(one.scenario).detailed()))
    usage = link_usage(one.scenario, rows.back().bytes, rows.back().time_s,
                       argument(arguments.links ? "--links" : "--plot"));
  JsonValue json = collectives_json({one});
  if (arguments.links) json["rows"].back()["links"] = links_json(*usage);
  const std::string title = title_of(json);
  if (drawn)
    write_picture(context.files(), arguments.plot,
                  usage ? links_picture(*usage, *one.scenario.cluster.network.topology,
                                        fmt::format("{}; {}", title, write_size(rows.back().bytes)))
                        : busbw_picture({one}, title));
  if (arguments.json) return context.console.print_json(json["rows"]);
  context.console.show(collectives_view(), json);
  if (!arguments.links) return;
  context.console.print("\n");
  context.console.show(links_view(), links_document(*usage));
}

void execute_several(Context& context, const CollectiveArguments& arguments, const std::vector<PricedCollective>& all) {
  const JsonValue json = collectives_json(all);
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, busbw_picture(all, title_of(json)));
  if (arguments.csv) return print_csv(context.console, collectives_rows(all));
  if (!arguments.json) return context.console.show(collectives_view(), json);
  auto rows = JsonValue::array();
  for (const Row& row : collectives_rows(all)) rows.push_back(json_of(row));
  context.console.print_json(rows);
}

void execute(Context& context, const CollectiveArguments& arguments) {
  const Files& files = context.files();
  const std::vector<Combination> given = combinations(files, arguments);
  if (arguments.links && given.size() > 1)
    throw InputError(argument("--links"), fmt::format("there are {} collectives", given.size()), "one collective");
  Library library(context.inputs);
  std::vector<PricedCollective> all;
  for (const auto& [words, problem] : given) all.push_back({scenario_of(library, arguments, words), problem});
  const std::vector<Bytes> sizes = sizes_of(files, arguments);
  std::vector<std::string> read;
  for (const auto& [words, problem] : given) read.push_back(file_behind(files, "topologies", words.cluster));
  require_separate(files, {picture_at("--plot", arguments.plot)}, read);
  std::size_t steps = 0;
  for (const PricedCollective& one : all) steps += replays_of(one.scenario) * sizes.size();
  const std::function<void()> advance = context.console.watch("collective")(steps);
  for (PricedCollective& one : all) one.pricing = price_over_seeds(one.scenario, sizes, advance);
  for (const PricedCollective& one : all) {
    context.console.warn_on_success(one.pricing.warning);
    if (!one.pricing.note.empty()) context.console.note_on_success(one.pricing.note);
  }
  if (all.size() == 1 && !arguments.csv)
    execute_one(context, arguments, all.front());
  else
    execute_several(context, arguments, all);
}

}  // namespace

void add_collective(CommandLine& app) {
  auto [command, arguments] = app.add<CollectiveArguments>(
      "collective", "time a single collective, by message size, as nccl-tests prints it", execute);
  add_cluster_options(command, arguments.clusters, arguments.cluster_words);
  command.add_option("-n,--workers", arguments.workers, values::number, "number of workers (the cluster file's)")
      .several();
  command
      .add_option("--collective", arguments.collectives, {"COLLECTIVE", "collectives"},
                  "the algorithm (the cluster file's); see `allreplay list collectives`")
      .several();
  command
      .add_option("--fidelity", arguments.fidelities, one_of("FIDELITY", [] { return names_of(fidelities); }),
                  "alpha-beta, fluid or message (the cluster file's)")
      .several();
  command.add_option("--operation", arguments.operation,
                     one_of("OPERATION", [] { return names_of(operations_with(&OperationRow::usual)); }),
                     "the operation to time; --bytes as nccl-tests counts them: " +
                         choices(names_of(operations_with(&OperationRow::usual))));
  add_seeds_option(command, arguments.seeds);
  add_change_options(command, arguments.changes, {Changed::Network});
  command.add_option("--bytes", arguments.bytes, values::size, "sizes, or FROM:TO:xFACTOR (8B:1GiB:x2)").several();
  command.add_option("-o,--option", arguments.options, {"KEY=VALUE", "options"},
                     "key=value, any number of times; see `allreplay list options`");
  Option& json = command.add_flag("--json", arguments.json, "print a JSON array");
  Option& csv = command.add_flag("--csv", arguments.csv, "print CSV").excludes(json);
  command
      .add_flag("--links", arguments.links,
                "fluid, message: print the use of each kind of link at the largest size, and the hottest links by name")
      .excludes(csv);
  command.add_option(
      "--plot", arguments.plot, values::file,
      "draw busbw by size, and where the fastest changes; of a single collective in fluid or message, the "
      "topology, its links coloured by use: FILE.svg, .png or .pdf");
  command.footer =
      "algbw is bytes / time; busbw is the part that a link carries (2(N-1)/N of algbw for an all-reduce).\n"
      "With --operation the size is that of the whole buffer: of a rank after an all-gather, of a rank before a "
      "reduce-scatter, and all that it sends in an all-to-all.\n"
      "Of several values (also of --protocol) all combinations are timed; collectives and protocols compete on each "
      "cluster, number of workers and fidelity.\n"
      "Examples:\n  allreplay collective --cluster fat-tree-16 --workers 256 --collective ring --fidelity message "
      "--bytes 1MiB:1GiB:x4\n"
      "  allreplay collective --cluster k80-10gbe --workers 16 --collective ring,double-binary-tree,recursive-doubling "
      "--plot busbw.svg";
}

}  // namespace allreplay
