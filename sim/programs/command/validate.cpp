#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/validation_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/calibration/validation.hpp"

namespace allreplay {

namespace {

struct ValidateArguments {
  std::string file, out, plot, engine, matters;
  bool json = false;
};

// The CSV, and every file that it names.
std::vector<std::string> inputs_of(const Files& files, const MeasuredFile& measured) {
  std::set<std::string> named{measured.file};
  for (const MeasuredPoint& point : measured.points)
    named.insert({file_behind(files, "traces", point.request.profile),
                  file_behind(files, "topologies", point.request.cluster),
                  file_behind(files, "models/codecs", point.request.codec)});
  return {named.begin(), named.end()};
}

std::optional<double> share_of(const std::string& text, const MeasuredFile& measured) {
  if (text.empty()) return std::nullopt;
  constexpr const char* flag = "--where-it-matters";
  if (measured.quantity == Quantity::CollectiveTime)
    throw InputError(argument(flag), "a single collective has no computation to compare its communication with",
                     "rows of training runs");
  return parse_share(text, flag, "5% or 0.05");
}

void validate_and_print(Context& context, const ValidateArguments& arguments, Farm* farm) {
  MeasuredFile measured = read_measured_file(context.inputs, arguments.file);
  require_separate(context.files(),
                   {{"--out", arguments.out, false, "scored,predicted,error"}, picture_at("--plot", arguments.plot)},
                   inputs_of(context.files(), measured));
  const std::optional<double> matters = share_of(arguments.matters, measured);
  const Validation validation = validate(std::move(measured), farm, matters);
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, validation_picture(validation));
  if (!arguments.out.empty()) context.files().write(arguments.out, validation_csv(validation));
  for (const ValidatedPoint& point : validation.points) context.console.warn(point.predicted.warning);
  context.console.show(validation_view(), validation_json(validation), arguments.json);
}

void execute(Context& context, const ValidateArguments& arguments) {
  on_engine(
      context.console, arguments.engine,
      [&] { return answer_validation(read_measured_file(context.inputs, arguments.file)); },
      [&](Farm* farm) { validate_and_print(context, arguments, farm); });
}

}  // namespace

void add_validate(CommandLine& app) {
  auto [command, arguments] =
      app.add<ValidateArguments>("validate", "predict what you measured, and report the errors", execute);
  command.add_option("file", arguments.file, values::file, "a CSV of measured points: see docs/validating.md")
      .required();
  command.add_option("--out", arguments.out, values::file, "write every point with its prediction to this CSV file");
  command.add_option("--plot", arguments.plot, values::file, "draw predicted against measured: FILE.svg, .png or .pdf");
  command.add_option("--where-it-matters", arguments.matters, {},
                     "score separately the rows that the 'no communication' model misses by more, such as 5%");
  add_engine(command, arguments.engine);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer =
      "Columns: profile, cluster, workers, strategy, any option, and a measured one: iteration_s, samples_per_s or "
      "speedup; for collectives alone cluster, collective, workers, bytes, time_s. Rows with a `calibrate` fit "
      "constants (\"beta by cluster workers; launch by strategy\") and are not scored. Errors are compared with two "
      "null models: no communication, and no overlap.\n"
      "Example:\n  allreplay validate measured.csv --plot measured.svg --out points.csv";
}

}  // namespace allreplay
