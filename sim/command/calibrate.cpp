#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/picture/picture_file.hpp"
#include "sim/report/calibration_report.hpp"
#include "sim/training/options.hpp"
#include "sim/view/calibration_picture.hpp"

namespace allreplay {

namespace {

struct Arguments {
  std::string file, workers, collective, format, time, from, to, gamma, line_rate, cluster_out, name, plot;
  std::vector<std::string> options;
  bool table = false, json = false;
};

LogRequest log_request(const Arguments& arguments) {
  LogRequest request{.format = arguments.format,
                     .time = arguments.time,
                     .place_of_format = argument("--format"),
                     .place_of_time = argument("--time"),
                     .place_of_workers = argument("--workers")};
  if (!arguments.workers.empty())
    request.workers = parse_integer(arguments.workers, 2, most_workers, argument("--workers"));
  return request;
}

CalibrationRequest calibration_request(const Arguments& arguments) {
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
  return request;
}

void execute(const Arguments& arguments) {
  require_separate({{"--cluster-out", arguments.cluster_out}, {"--plot", arguments.plot}}, {arguments.file});
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  const CalibrationRequest request = calibration_request(arguments);
  const Calibration calibration =
      calibrate(read_measurements(read_file(arguments.file), arguments.file, log_request(arguments)), request);
  if (!arguments.plot.empty()) write_picture(arguments.plot, calibration_picture(calibration));
  if (!arguments.cluster_out.empty()) {
    const std::string name =
        arguments.name.empty() ? std::filesystem::path(arguments.cluster_out).stem().string() : arguments.name;
    write_file(arguments.cluster_out, calibration_cluster(calibration, name, arguments.table, request.line_rate,
                                                          argument(arguments.table ? "--table" : "--cluster-out")));
  }
  for (const std::string& warning : calibration.warnings) warn(warning);
  fmt::print("{}", arguments.json ? calibration_json(calibration, arguments.table)
                                  : calibration_text(calibration, arguments.table));
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("calibrate", "fit the network's constants to a log of nccl-tests or OSU, or a CSV");
  std::string formats;
  for (const LogFormat& format : log_formats()) formats += fmt::format("\n  {}: {}", format.name, format.summary);
  command->add_option("FILE", arguments->file, "the log")->required();
  command->add_option("-n,--workers", arguments->workers,
                      "among how many it was taken (what the log says); chooses among the rows of a log of several");
  command->add_option("--collective", arguments->collective,
                      "the algorithm that ran (ring, for a log of all-reduces); see `allreplay list collectives`");
  command->add_option("--format", arguments->format, "what the log is, where that is not recognised:" + formats);
  command->add_option(
      "--time", arguments->time,
      "which times: out-of-place or in-place (nccl-tests; the first), avg, min or max (osu; avg), or the "
      "column's name (csv)");
  command->add_option("--from", arguments->from, "fit sizes from this one on, such as 64KiB");
  command->add_option("--to", arguments->to, "fit sizes up to this one");
  command->add_option("--gamma", arguments->gamma, "what of b is reduction, such as \"0.1 ns/B\" (0)");
  command->add_option("--line-rate", arguments->line_rate,
                      "of a link, such as \"10 Gbit/s\": warn where the fit beats it");
  command
      ->add_option("-o,--option", arguments->options,
                   "key=value, what the algorithm's constants depend on: servers, tree_bandwidth")
      ->allow_extra_args(false);
  command->add_flag("--table", arguments->table,
                    "take the table of several lines, not one line, for --cluster-out and busbw");
  auto* out = command->add_option("--cluster-out", arguments->cluster_out, "write a cluster file of the result");
  command->add_option("--name", arguments->name, "the cluster's name (the file's)")->needs(out);
  command->add_option("--plot", arguments->plot, "draw the times, both fits and their errors: FILE.svg, .png or .pdf");
  command->add_flag("--json", arguments->json, "print one JSON object: seconds, and seconds per byte");
  command->footer(
      "T(M) = a + b·M is fitted in relative error, robust to outliers; alpha = a/c and beta = b/d for the algorithm's\n"
      "coefficients (ring among N: c = 2(N-1), d = 2(N-1)/N). See docs/calibration.md.\n"
      "Examples:\n"
      "  all_reduce_perf -b 8 -e 256M -f 2 -g 8 > nccl.log && allreplay calibrate nccl.log --collective ring\n"
      "  allreplay calibrate osu.log --workers 8 --collective ring --from 64KiB --line-rate \"10 Gbit/s\"\n"
      "  allreplay calibrate osu.log --workers 8 --collective ring --table --cluster-out mine.json\n"
      "  allreplay compare --profile resnet50_p100_b64 --cluster mine.json");
  command->callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
