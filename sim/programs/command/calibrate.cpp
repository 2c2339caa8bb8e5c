#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/calibration_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay {

namespace {

struct CalibrateArguments {
  std::string collective, format, time, from, to, gamma, line_rate, cluster_out, name, plot, cluster, node, rails;
  std::vector<std::string> files, workers, options;
  bool table = false, json = false;
};

LogRequest log_request(const CalibrateArguments& arguments, std::size_t log) {
  if (!arguments.workers.empty() && arguments.workers.size() != arguments.files.size())
    throw InputError(argument("--workers"),
                     fmt::format("{} for {}", counted(std::ssize(arguments.workers), "number"),
                                 counted(std::ssize(arguments.files), "log")),
                     "once for each log; or not at all, if every log says it");
  LogRequest request{.format = {arguments.format, argument("--format")}, .time = {arguments.time, argument("--time")}};
  if (!arguments.collective.empty()) {
    const Algorithm& algorithm = find_algorithm(arguments.collective, argument("--collective"));
    request.operation = {algorithm.operation, argument("--collective")};
    if (!algorithm.coefficients) request.alternatives = {CollectiveOp::ReduceScatter, CollectiveOp::AllGather};  // nccl
  }
  if (!arguments.workers.empty())
    request.workers = {parse_integer(arguments.workers[log], 2, most_workers, argument("--workers")),
                       argument("--workers")};
  return request;
}

CalibrationRequest calibration_request(const CalibrateArguments& arguments) {
  CalibrationRequest request{.place_of_collective = argument("--collective"),
                             .place_of_options = argument("--option"),
                             .place_of_gamma = argument("--gamma"),
                             .place_of_range = argument(arguments.from.empty() ? "--to" : "--from")};
  if (!arguments.collective.empty())
    request.algorithm = &find_algorithm(arguments.collective, argument("--collective"));
  if (!arguments.gamma.empty()) request.gamma = parse_per_byte(arguments.gamma, argument("--gamma"));
  if (!arguments.from.empty()) request.from = parse_size(arguments.from, argument("--from"));
  if (!arguments.to.empty()) request.to = parse_size(arguments.to, argument("--to"));
  if (!arguments.line_rate.empty()) {
    request.line_rate = parse_rate(arguments.line_rate, argument("--line-rate"));
    if (*request.line_rate <= 0)
      throw InputError(argument("--line-rate"), "is not above zero", "a rate such as \"10 Gbit/s\"");
  }
  Options options;
  ScenarioArguments words;
  words.options = arguments.options;
  for (const OptionText& setting : words.request("").options) {
    options.set(setting.name, setting.value, setting.place);
    const std::string_view known = request.algorithm ? request.algorithm->option : "";
    if (setting.name != known)
      throw InputError(setting.place, fmt::format("a calibration does not depend on {}", setting.name),
                       known.empty() ? "leave it out" : std::string(known));
  }
  request.options = options.collective;
  if (arguments.files.size() > 1 && !options.places.contains("tree_bandwidth"))
    request.options.tree_bandwidth = TreeBandwidth::Physical;  // the only one that knows nodes
  return request;
}

// The options on which some algorithm's constants depend.
std::vector<std::string_view> constants() {
  std::vector<std::string_view> options;
  for (const Algorithm& algorithm : algorithms())
    if (!algorithm.option.empty()) options.push_back(algorithm.option);
  return options;
}

std::vector<Calibration> calibrated_logs(const Files& files, const CalibrateArguments& arguments,
                                         CalibrationRequest request) {
  std::vector<Calibration> logs;
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    const std::string& file = arguments.files[i];
    logs.push_back(calibrate(read_measurements(files.read(file), file, log_request(arguments, i)), request));
    const Calibration &first = logs.front(), &last = logs.back();
    if (first.algorithm != last.algorithm || first.log.operation != last.log.operation)
      throw InputError(
          {file, ""}, fmt::format("is of {}, but {} is of {}", last.log.benchmark, first.log.file, first.log.benchmark),
          "logs of one collective");
  }
  std::stable_sort(logs.begin(), logs.end(),
                   [](const Calibration& one, const Calibration& other) { return one.workers() < other.workers(); });
  for (std::size_t i = 1; i < logs.size(); ++i)
    if (logs[i].workers() == logs[i - 1].workers())
      throw InputError({logs[i].log.file, ""},
                       fmt::format("has the same {} workers as {}", logs[i].workers(), logs[i - 1].log.file),
                       "logs of different numbers of workers");
  return logs;
}

std::optional<std::int64_t> given_count(const std::string& text, const std::string& option) {
  if (text.empty()) return std::nullopt;
  return parse_integer(text, 1, most_workers, argument(option));
}

std::string name_of(const CalibrateArguments& arguments) {
  return arguments.name.empty() ? std::filesystem::path(arguments.cluster_out).stem().string() : arguments.name;
}

// The two levels before anything is fitted: those of --cluster, or only the layout.
Network levels_of(const Inputs& inputs, const CalibrateArguments& arguments, std::int64_t smallest, bool nccl) {
  const auto node = given_count(arguments.node, "--node"), rails = given_count(arguments.rails, "--rails");
  Network network;
  if (!arguments.cluster.empty()) {
    Library library(inputs);
    network = library.cluster_named(arguments.cluster).network;
    if (!network.node || (nccl && !network.nccl))
      throw InputError(
          argument("--cluster"), fmt::format("{} does not describe {}", arguments.cluster, nccl ? "nccl" : "nodes"),
          nccl ? "a cluster with node and nccl, such as h100x8-8x400gbps" : "a cluster with node, or --node");
  } else if (nccl) {
    throw InputError(argument("--collective"), "NCCL's model needs the constants of a cluster",
                     "--cluster and a cluster with node and nccl, such as h100x8-8x400gbps");
  } else {
    network.node = NodeLevel{.workers = node.value_or(smallest)};
  }
  if (node) network.node->workers = *node;
  if (rails) network.node->rails = *rails;
  if (network.node->rails > network.node->workers)
    throw InputError(argument("--rails"),
                     fmt::format("{} ports among the {} workers of a node", network.node->rails, network.node->workers),
                     fmt::format("at most {}", network.node->workers));
  network.place = network.node->place = argument("--collective");
  return network;
}

LevelOutcome outcome_of(const Inputs& inputs, const CalibrateArguments& arguments, std::span<const Calibration> logs) {
  const bool nccl = !logs.front().algorithm->coefficients;
  const Network start = levels_of(inputs, arguments, logs.front().workers(), nccl);
  const std::int64_t node = start.node->workers;
  LevelOutcome outcome{.logs = logs};
  if (!arguments.cluster.empty())
    outcome.base = Json::read(inputs.files, file_behind(inputs.files, "topologies", arguments.cluster));
  if (const auto changes = outcome.base ? outcome.base->find("changes") : std::nullopt)
    changes->fail("changes the constants that a calibration replaces", "a cluster file without \"changes\"");
  if (!nccl && (logs.front().workers() > node || logs.back().workers() <= node)) {
    outcome.fitted = false;
    outcome.fit.network = start;
    outcome.why = fmt::format("no log is of {} of {} workers, so the two levels cannot be separated",
                              logs.back().workers() <= node ? "several nodes" : "one node", node);
  } else {
    outcome.fit = fit_levels(logs, start);
    if (nccl && outcome.fit.median > 0.1)
      outcome.fit.warnings.push_back(
          fmt::format("NCCL's model misses a log by {:.1f} % in the median", outcome.fit.median * 100));
    if (!nccl && outcome.fit.median > 0.1)
      outcome.why = fmt::format("two levels miss a log by {:.1f} % in the median", outcome.fit.median * 100);
  }
  if (arguments.table && outcome.why.empty()) outcome.why = "as --table asks";
  outcome.tables = !outcome.why.empty();
  return outcome;
}

void execute_levels(Context& context, const CalibrateArguments& arguments, const std::vector<Calibration>& logs) {
  const LevelOutcome outcome = outcome_of(context.inputs, arguments, logs);
  const std::string cluster =
      arguments.cluster_out.empty() ? "" : levels_cluster(outcome, name_of(arguments), argument("--cluster-out"));
  if (!arguments.plot.empty()) {
    const std::string law = logs.front().algorithm->coefficients ? "two levels" : "nccl";
    std::vector<DrawnCalibration> drawn;
    for (const Calibration& log : logs) {
      drawn.push_back({log, {}, {}});
      if (!outcome.fitted) continue;
      drawn.back().law = law;
      drawn.back().seconds = [cost = level_price(outcome.fit, log)](double bytes) {
        return to_seconds(cost(static_cast<Bytes>(std::llround(bytes))));
      };
    }
    write_picture(context.files(), arguments.plot, calibration_picture(drawn));
  }
  if (!cluster.empty()) context.write_cluster(arguments.cluster_out, cluster);
  for (const Calibration& log : logs)
    for (const std::string& warning : log.warnings) context.console.warn(fmt::format("{}: {}", log.log.file, warning));
  for (const std::string& warning : outcome.fit.warnings) context.console.warn(warning);
  context.console.show(levels_view(), levels_json(outcome), arguments.json);
}

void execute_one(Context& context, const CalibrateArguments& arguments, const Calibration& calibration,
                 std::optional<double> line_rate) {
  for (const auto& [text, option] : {std::pair(arguments.cluster, "--cluster"), std::pair(arguments.rails, "--rails")})
    if (!text.empty())
      throw InputError(argument(option), "needs several logs, or NCCL's model", "several logs, or --collective nccl");
  if (!arguments.plot.empty())
    write_picture(context.files(), arguments.plot, calibration_picture({{calibration, {}, {}}}));
  if (!arguments.cluster_out.empty()) {
    const bool misses = calibration.line_misses() && calibration.algorithm->operation == CollectiveOp::AllReduce;
    if (misses && !arguments.table)
      context.console.warn_on_success(
          fmt::format("the line misses the measured times by {:.1f} % in the median: the table is written instead, "
                      "which holds only for {} with {} workers",
                      calibration.overall.line_median * 100, calibration.algorithm->name, calibration.workers()));
    auto node = given_count(arguments.node, "--node");
    if (const std::int64_t hosted = calibration.log.per_host; !node && hosted > 0) node = hosted;
    context.write_cluster(arguments.cluster_out,
                          calibration_cluster(calibration, name_of(arguments), arguments.table || misses, line_rate,
                                              argument(arguments.table ? "--table" : "--cluster-out"), node));
  }
  for (const std::string& warning : calibration.warnings) context.console.warn(warning);
  context.console.show(calibration_view(), calibration_json(calibration, arguments.table), arguments.json);
}

void execute(Context& context, const CalibrateArguments& arguments) {
  std::vector<std::string> inputs = arguments.files;
  inputs.push_back(file_behind(context.files(), "topologies", arguments.cluster));
  require_separate(
      context.files(),
      {{"--cluster-out", arguments.cluster_out, false, mark_of_clusters}, picture_at("--plot", arguments.plot)},
      inputs);
  const CalibrationRequest request = calibration_request(arguments);
  const std::vector<Calibration> logs = calibrated_logs(context.files(), arguments, request);
  if (logs.size() == 1 && logs.front().algorithm->coefficients)
    execute_one(context, arguments, logs.front(), request.line_rate);
  else
    execute_levels(context, arguments, logs);
}

}  // namespace

void add_calibrate(CommandLine& app) {
  auto [command, arguments] = app.add<CalibrateArguments>(
      "calibrate", "fit the network's constants to a log of nccl-tests, OSU or IMB, or a CSV", execute);
  command
      .add_option("FILE", arguments.files, values::file,
                  "a log; several, with different numbers of workers, give the two levels of a cluster")
      .required();
  command.add_option(
      "-n,--workers", arguments.workers, values::number,
      "number of workers of the log (what the log says); once for each log; selects the rows of a log that "
      "has several");
  command.add_option(
      "--node", arguments.node, values::number,
      "workers of a node (for one log, as many as it names on a host; for several, those of the smallest)");
  command.add_option("--rails", arguments.rails, values::number, "network ports of a node (1)");
  command.add_option("--cluster", arguments.cluster, values::cluster,
                     "cluster file whose nodes, and NCCL model, the factors apply to");
  command.add_option("--collective", arguments.collective, {"COLLECTIVE", "collectives"},
                     "the algorithm that ran (ring for a log of all-reduces); see `allreplay list collectives`");
  command.add_option("--format", arguments.format,
                     {.name = "FORMAT", .annotated = [] { return summaries(log_formats()); }},
                     "the log's format (recognised by default):");
  command.add_option(
      "--time", arguments.time, {.name = "TIME", .choices = "out-of-place,in-place,avg,min,max"},
      "the times to use: out-of-place or in-place (nccl-tests; the first), avg, min or max (osu, imb; avg), "
      "or the column's name (csv)");
  command.add_option("--from", arguments.from, values::size, "fit sizes from this one on, such as 64KiB");
  command.add_option("--to", arguments.to, values::size, "fit sizes up to this one");
  command.add_option("--gamma", arguments.gamma, {"TIME/B"},
                     "the part of b that is reduction, such as \"0.1 ns/B\" (0)");
  command.add_option("--line-rate", arguments.line_rate, {"RATE"},
                     "of a link, such as \"10 Gbit/s\": warn if the fit exceeds it");
  command.add_option(
      "-o,--option", arguments.options, {"KEY=VALUE", "options"},
      fmt::format("key=value, options that the algorithm's constants depend on: {}", fmt::join(constants(), ", ")));
  command.add_flag("--table", arguments.table,
                   "use a table of several lines instead of one line, for --cluster-out and busbw");
  Option& out =
      command.add_option("--cluster-out", arguments.cluster_out, values::file, "write the result as a cluster file");
  command.add_option("--name", arguments.name, values::name, "the cluster's name (the file's)").needs(out);
  command.add_option("--plot", arguments.plot, values::file,
                     "draw the times, both fits and their errors: FILE.svg, .png or .pdf");
  command.add_flag("--json", arguments.json, "print one JSON object: seconds, and seconds per byte");
  command.footer =
      "T(M) = a + b·M is fitted in relative error, robust to outliers; alpha = a/c and beta = b/d for the algorithm's\n"
      "coefficients (ring among N: c = 2(N-1), d = 2(N-1)/N). See docs/calibration.md.\n"
      "Examples:\n"
      "  all_reduce_perf -b 8 -e 256M -f 2 -g 8 > nccl.log && allreplay calibrate nccl.log --collective ring\n"
      "  allreplay calibrate osu.log --workers 8 --collective ring --from 64KiB --line-rate \"10 Gbit/s\"\n"
      "  allreplay calibrate osu.log --workers 8 --collective ring --table --cluster-out mine.json\n"
      "  allreplay compare --profile resnet50_p100_b64 --cluster mine.json\n"
      "  allreplay calibrate node.log --workers 8 two.log --workers 16 --rails 8 --cluster-out levels.json\n"
      "  allreplay calibrate node.log two.log --collective nccl --cluster h100x8-8x400gbps --cluster-out nccl.json";
}

}  // namespace allreplay
