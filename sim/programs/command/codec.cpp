#include <bit>

#include <fmt/format.h>

#include "sim/output/report/codec_report.hpp"
#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

struct CodecArguments {
  std::string codec, elements, workers = "1", distribution = "normal", correlation = "0", iterations = "10",
                               repetitions = "5", seed = "1", residuals = "conserving";
  std::vector<std::string> options;
  bool json = false;
};

CodecRequest request_of(Console& console, const CodecArguments& arguments) {
  const auto number = [](const std::string& text, std::int64_t most, const char* option) {
    return parse_integer(text, 1, most, argument(option));
  };
  CodecRequest request;
  request.codec = &find_compressor(arguments.codec, argument("--codec"));
  request.elements = number(arguments.elements, most_elements, "--elements");
  request.workers = number(arguments.workers, most_workers, "--workers");
  request.iterations = number(arguments.iterations, 1'000'000, "--iterations");
  request.repetitions = number(arguments.repetitions, 1000, "--repetitions");
  request.distribution =
      find_by_name(distributions, arguments.distribution, argument("--distribution"), "no distribution '{}'").value;
  request.correlation = parse_number(arguments.correlation, argument("--correlation"));

  ScenarioArguments words;
  words.options = arguments.options;
  Options options;
  for (const OptionText& option : words.request("").options) {
    options.set(option.name, option.value, option.place);
    if (option.name != find_codec(arguments.codec, {}).options[0])
      console.warn_on_success(fmt::format("{} has no effect: {} does not use it", option.name, arguments.codec));
  }
  request.options = {options.codec.density, options.codec.bits, parse_seed(arguments.seed)};

  if (!(request.correlation >= 0 && request.correlation <= 1))
    throw InputError(argument("--correlation"), fmt::format("{} is not a valid correlation", arguments.correlation),
                     "0 to 1");
  request.residuals =
      choose_by_name(residual_rules, arguments.residuals, argument("--residuals"), "no residuals '{}'").value;
  if (request.workers > most_elements / request.elements)
    throw InputError(argument("--workers"),
                     fmt::format("{} workers with {} elements each do not fit", request.workers, request.elements),
                     fmt::format("at most {} elements in total", most_elements));
  if (request.codec->aggregation == Aggregation::GTopKTree &&
      !std::has_single_bit(static_cast<std::uint64_t>(request.workers)))
    throw InputError(argument("--workers"), fmt::format("{} is not a power of two", request.workers),
                     fmt::format("{}'s tree pairs workers: 2, 4, 8, ...", request.codec->name));
  return request;
}

void execute(Context& context, const CodecArguments& arguments) {
  const CodecMeasurement report = measure_codec(request_of(context.console, arguments));
  context.console.show(codec_view(), codec_json(report), arguments.json);
}

}  // namespace

void add_codec(CommandLine& app) {
  auto [command, arguments] = app.add<CodecArguments>(
      "codec", "run one codec on random gradients: bytes, times on this processor, errors", execute);
  command.add_option("-k,--codec", arguments.codec, values::codec, "see `allreplay list codecs`").required();
  command
      .add_option("-e,--elements", arguments.elements, values::number, "elements of a gradient in fp32, at most 2^25")
      .required();
  command.add_option(
      "-n,--workers", arguments.workers, values::number,
      "if more than one, also exchange gradients as the codec's collective does; a power of two for gtopk");
  command.add_option("--iterations", arguments.iterations, values::number,
                     "iterations of the mean error and of the exchange");
  command.add_option("--repetitions", arguments.repetitions, values::number,
                     "repetitions of each time measurement; the median is reported");
  command.add_option("--distribution", arguments.distribution,
                     one_of("DISTRIBUTION", [] { return names_of(distributions); }),
                     "distribution of a gradient's elements: normal, laplace or lognormal (of either sign)");
  command.add_option("--correlation", arguments.correlation, values::ratio,
                     "correlation between the gradients of any two workers and iterations, 0 to 1");
  command.add_option(
      "--residuals", arguments.residuals, one_of("RULE", [] { return names_of(residual_rules); }),
      "gtopk: conserving (a receiver keeps the entries that it drops) or as-printed (Algorithm 4, line 10)");
  command.add_option("--seed", arguments.seed, values::number, "seed of all random numbers");
  command.add_option("-o,--option", arguments.options, {"KEY=VALUE", "options"},
                     "density=SHARE (0.001) or bits=NUMBER (8), any number of times");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer =
      "Errors are relative to the norm of the exact result: 0 is perfect, 1 is as bad as sending nothing.\n"
      "Examples:\n"
      "  allreplay codec --codec qsgd --elements 1000000 --option bits=4\n"
      "  allreplay codec --codec gtopk --elements 10000 --option density=0.01 --workers 16 --iterations 100 "
      "--residuals as-printed";
}

}  // namespace allreplay
