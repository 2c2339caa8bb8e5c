#include <set>
#include <utility>

#include "sim/calibration/validation.hpp"
#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/picture/picture_file.hpp"
#include "sim/report/validation_report.hpp"
#include "sim/view/validation_picture.hpp"

namespace allreplay {

namespace {

struct ValidateArguments {
  std::string file, out, plot, engine;
  bool json = false;
};

// The CSV, and every file that it names.
std::vector<std::string> inputs_of(const MeasuredFile& measured) {
  std::set<std::string> files{measured.file};
  for (const MeasuredPoint& point : measured.points)
    files.insert({file_behind("traces", point.request.profile), file_behind("topologies", point.request.cluster),
                  file_behind("models/codecs", point.request.codec)});
  return {files.begin(), files.end()};
}

void validate_and_print(const ValidateArguments& arguments, Farm* farm) {
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  MeasuredFile measured = read_measured_file(arguments.file);
  require_separate({{"--out", arguments.out}, {"--plot", arguments.plot}}, inputs_of(measured));
  const Validation validation = validate(std::move(measured), farm);
  if (!arguments.plot.empty()) write_picture(arguments.plot, validation_picture(validation));
  if (!arguments.out.empty()) write_file(arguments.out, validation_csv(validation));
  for (const ValidatedPoint& point : validation.points) warn(point.predicted.warning);
  for (const std::string& note : not_told(validation)) warn(note);
  print("{}", arguments.json ? validation_json(validation) : validation_text(validation, screen()));
}

void execute(const ValidateArguments& arguments) {
  require_mpi_or_none(arguments.engine);
  if (arguments.engine.empty()) return validate_and_print(arguments, nullptr);
  on_farm([&] { return answer_validation(read_measured_file(arguments.file)); },
          [&](Farm& farm) { validate_and_print(arguments, &farm); });
}

}  // namespace

void add_validate(CommandLine& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  Command command = app.add_subcommand("validate", "predict what was measured, and say how far off that is");
  command.add_option("file", arguments->file, "a CSV of measured points: see docs/validating.md").required();
  command.add_option("--out", arguments->out, "write every point with its prediction to this CSV file");
  command.add_option("--plot", arguments->plot, "draw predicted against measured: FILE.svg, .png or .pdf");
  add_engine(command, arguments->engine);
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.footer(
      "Columns: profile, cluster, workers, strategy, any option, and what was measured: iteration_s, samples_per_s or "
      "speedup; of collectives alone cluster, collective, workers, bytes, time_s. Rows with a `calibrate` fit "
      "constants (\"beta by cluster workers; launch by strategy\") and are not scored. Every figure stands beside what "
      "no communication, and no overlap, would have predicted.\n"
      "Example:\n  allreplay validate measured.csv --plot measured.svg --out points.csv");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
