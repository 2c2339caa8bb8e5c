#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/ranks.hpp"
#include "sim/inputs/workload/profile_writer.hpp"
#include "sim/output/report/profile_report.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"

namespace allreplay {

namespace {

struct ImportArguments {
  std::vector<std::string> files;
  std::string from, out, communication_out, batch, forward_ratio, match, note;
  ImportOptions options;
};

constexpr std::size_t longest_note = 4000;  // bytes

// Returns a model of models/, or a transformer of models/transformers/ as a list of its layers.
Model model_called(const Files& files, const std::string& name) {
  const SourceLocation place = argument("--match");
  const auto model = read_named_model(files, file_of_model(files, name, place, {"models", "models/transformers"}));
  if (const auto* layers = std::get_if<Model>(&model)) return *layers;
  const auto& transformer = std::get<Transformer>(model);
  return build(transformer, transformer.tokens(), place).model();
}

ImportOptions options_of(const Files& files, const ImportArguments& arguments) {
  ImportOptions options = arguments.options;
  if (!arguments.batch.empty())
    options.batch_size = parse_integer(arguments.batch, 1, 1'000'000'000, argument("--batch"));
  if (!arguments.forward_ratio.empty()) {
    options.forward_ratio = parse_number(arguments.forward_ratio, argument("--forward-ratio"));
    if (!(*options.forward_ratio >= 0 && *options.forward_ratio <= 1000))
      throw InputError(argument("--forward-ratio"), fmt::format("{} is not a valid ratio", arguments.forward_ratio),
                       "0 to 1000, such as 0.5");
  }
  if (!options.precision.empty())
    choose_by_name(precisions, options.precision, argument("--precision"), "unknown precision '{}'");
  if (!arguments.match.empty()) options.match = model_called(files, arguments.match);
  return options;
}

Imported import_file(const Files& files, const std::string& file, const std::string& from,
                     const ImportOptions& options) {
  const Importer* importer = from.empty() ? nullptr : &find_importer(from, argument("--from"));
  ByteSource source(files, file);
  if (!importer) importer = &recognise(source);
  try {
    return import_profile(*importer, source, options);
  } catch (const TimeOverflow& error) {
    throw InputError({file, ""}, fmt::format("the sum of all times: {}", error.what()), "smaller times");
  }
}

void execute(Context& context, const ImportArguments& arguments) {
  const ImportOptions options = options_of(context.files(), arguments);
  std::vector<std::string> inputs = arguments.files;
  for (const std::string_view folder : {"models", "models/transformers"})
    inputs.push_back(file_behind(context.files(), folder, arguments.match));
  require_separate(context.files(),
                   {{"--out", arguments.out, false, "\"origin\": \"imported\""},
                    {"--communication-out", arguments.communication_out, false, "bytes,time_us"}},
                   inputs);
  std::vector<Imported> ranks;
  for (const std::string& file : arguments.files)
    ranks.push_back(import_file(context.files(), file, arguments.from, options));
  Imported imported = ranks.size() == 1 ? std::move(ranks.front()) : merged_ranks(ranks, arguments.files);
  if (!arguments.note.empty()) imported.notes.push_back(one_line(arguments.note, longest_note));
  const std::string measured =
      arguments.communication_out.empty() ? "" : collectives_csv(imported, {arguments.files.front(), ""});
  context.files().write(arguments.out, profile_json(imported.profile, imported.notes));
  if (!measured.empty()) context.files().write(arguments.communication_out, measured);
  for (const std::string& note : imported.notes) context.console.print_stderr("note: " + note);
  context.console.show(profile_view(), profile_summary(imported.profile));
}

}  // namespace

void add_import(CommandLine& app) {
  auto [command, arguments] =
      app.add<ImportArguments>("import", "convert the output of another profiler or simulator into a profile", execute);
  command
      .add_option("file", arguments.files, values::file,
                  "input file; .gz is decompressed. Several: Kineto traces of ranks of one job")
      .required();
  command.add_option("--from", arguments.from, {"FORMAT", "importers"},
                     "format of the input (recognised by default); see `allreplay list importers`");
  command.add_option("--out", arguments.out, values::file, "the profile to write").required();
  command.add_option("--communication-out", arguments.communication_out, {"CSV", "", true},
                     "write the measured times of a job's collectives, a CSV for `allreplay calibrate`");
  command.add_option("--batch", arguments.batch, values::number,
                     "samples per mini-batch, if the file does not have it");
  command.add_option("--model", arguments.options.model, {"NAME", "models"}, "the model's name (the file's)");
  command.add_option("--match", arguments.match, values::model,
                     "take layer names and tensors from this model; for a trace without shapes, also the sizes");
  command.add_option("--device", arguments.options.device, values::name,
                     "device that it ran on, if the file does not name it");
  command.add_option("--framework", arguments.options.framework, values::name,
                     "framework that ran it, if the file does not name it");
  command.add_option("--precision", arguments.options.precision,
                     one_of("PRECISION", [] { return names_of(precisions); }), "fp32 (default), tf32, fp16 or bf16");
  command.add_option("--source", arguments.options.source, {}, "where its times come from (the file's name)");
  command.add_option("--note", arguments.note, {}, "further text to keep in the profile's \"details\"");
  command.add_option("--forward-ratio", arguments.forward_ratio, values::ratio,
                     "set every layer's forward time to this multiple of its backward time");
  command.footer =
      "What was skipped, subtracted or attributed is reported, and kept in the profile's \"details\".\n"
      "Examples:\n"
      "  allreplay import worker0.pt.trace.json.gz --match resnet50 --out traces/resnet50_mine.json\n"
      "  allreplay import rank0.json rank1.json --communication-out job.csv --out mine.json\n"
      "  allreplay import table.csv --batch 128 --device V100 --out traces/vgg16_mine.json";
}

}  // namespace allreplay
