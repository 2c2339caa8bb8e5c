#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/inputs/workload/profile_writer.hpp"
#include "sim/output/report/profile_report.hpp"
#include "sim/programs/command/estimate_arguments.hpp"
#include "sim/studies/calibration/known_speed.hpp"

namespace allreplay {

namespace {

Output output_of(const EstimateArguments& arguments) {
  return {"--out", arguments["--out"], false, "\"origin\": \"estimated\"", arguments.force};
}

// Writes the estimate and prints its notes. `source`: where a rescaled profile's times came from; else "".
void finish(Context& context, const EstimateArguments& arguments, const Estimate& made, const Model& model,
            const JsonValue& document, const std::string& source = "") {
  std::vector<std::string> notes = made.notes;
  if (!source.empty()) notes.push_back("before: " + source);
  if (arguments.has("--out")) context.files().write(arguments["--out"], profile_json(made.profile, notes, &model));
  for (const std::string& note : made.notes) context.console.print_stderr("note: " + note);
  context.console.show(profile_view(), document);
}

void rescale(Context& context, const EstimateArguments& arguments) {
  refuse_options_with_from(arguments);
  require_separate(context.files(), {output_of(arguments)},
                   {file_behind(context.files(), "traces", arguments["--from"]), arguments["--model"]});
  const std::string file = context.files().find_data("traces", arguments["--from"], "profile");
  const std::string text = context.files().read(file);
  const Profile profile = parse_profile(context.files(), text, file);
  if (!profile.batch_size)
    throw InputError(argument("--from"), fmt::format("{} has neither batch size nor device", file), "a profile (JSON)");
  Model model = model_of_profile(context.files(), Json::parse(text, file));
  Change change;
  if (arguments.has("--batch")) change.batch = arguments.number("--batch", "");
  if (arguments.has("--seq")) change.tokens = arguments.number_or("--seq", 0, most_tokens);
  if (arguments.has("--device")) change.device = read_device(context.files(), arguments["--device"]);
  if (arguments.has("--from-device")) change.measured = read_device(context.files(), arguments["--from-device"]);
  change.precision = arguments["--precision"];
  const HostFigures* host = host_of(arguments);
  if (!change.batch && !change.tokens && !change.device && change.precision.empty() && !host)
    throw InputError(argument("--from"), "changes nothing", "--batch, --device, --precision, --seq or --host");
  Estimate made = rescaled(context.files(), profile, model, change);
  if (host) made.profile.host = floors_of(*host, profile.recompute == "full");
  if (change.tokens) model = from_model(model, {file, "/model"}, *change.tokens).model();
  Profile alone = made.profile;
  alone.degrees.reset();
  const Outcome outcome = run(Library(context.inputs).resolve(alone_on_a_gpu(), std::move(alone)));
  finish(context, arguments, made, model,
         estimate_json(made, model.input, change.device ? &*change.device : nullptr, outcome, false), profile.source);
}

// The profile that tools/reconstruct_trace.py scales to a published total.
void print_plain(Context& context, const EstimateArguments& arguments) {
  for (const auto& [flag, right] :
       {std::pair("--model", "a file of models/"), {"--device", "a name from `allreplay list devices`, or a file"}})
    if (!arguments.has(flag)) throw InputError(argument(flag), "is required", right);
  const std::int64_t batch = arguments.number("--batch", "samples of one device in a mini-batch");
  const std::string file = context.files().find_data("models", arguments["--model"], "model");
  const Computation work = plain_computation(read_model(Json::read(context.files(), file)), {file, ""});
  const Rates rates = rates_of(read_device(context.files(), arguments["--device"]), "fp32", argument("--device"));
  std::vector<double> forward, backward;
  for (const ComputationLayer& layer : work.layers) {
    const LayerSeconds seconds = layer_seconds(layer, rates, batch);
    forward.push_back(seconds.forward.total());
    backward.push_back(seconds.backward.total());
  }
  context.console.print_text(fmt::format("{{\"forward_s\": [{}],\n \"backward_s\": [{}]}}\n", fmt::join(forward, ", "),
                                         fmt::join(backward, ", ")));
}

// Notes the known speeds as the profile's source, and warns if one exceeds the roofline or is far below it, or if the
// model does not fit. `factor`: see note_on_unit().
void note_known(const EstimateArguments& arguments, const EstimateRequest& request,
                const std::vector<KnownSpeed>& speeds, double factor, const Outcome& outcome, Estimate& made) {
  const KnownSpeed& known = speeds.front();
  std::vector<std::string> texts;
  for (const KnownSpeed& one : speeds)
    texts.push_back(one.batch == request.batch && speeds.size() == 1
                        ? one.text()
                        : fmt::format("{} at batch {}", one.text(), one.batch));
  const std::string text = fmt::format("{}", fmt::join(texts, ", "));

  const std::vector<std::string> flags = run_flags(arguments.setting.request(arguments.strategy, arguments.plan));
  made.profile.source = source_of(request.device, made.efficiency,
                                  flags.empty() ? text : fmt::format("{} with {}", text, fmt::join(flags, " ")));
  if (made.efficiency.products > 1)
    made.notes.push_back(
        fmt::format("{} is faster than the roofline allows ({:.0f} %): check it, no measurement is known to reach that",
                    known.place.path, 100 * made.efficiency.products));
  if (std::string note = note_on_unit(known, made.efficiency.products, factor); !note.empty())
    made.notes.push_back(std::move(note));
  const auto needs = static_cast<Bytes>(outcome.result.memory.peak);
  if (needs <= request.device.memory) return;
  if (arguments.setting.has_cluster())
    made.notes.push_back(
        fmt::format("in this setting a GPU needs {}, and {} has {}: were {} measured in another setting?",
                    format_size(needs), request.device.name, format_size(request.device.memory), known.text()));
  else
    made.notes.push_back(
        fmt::format("a GPU that holds everything needs {}, and {} has {}: give the setting in which {} were measured "
                    "(--cluster, --workers, --strategy)",
                    format_size(needs), request.device.name, format_size(request.device.memory), known.text()));
}

// Sets the times of Newton-Schulz for the matrices of blocks, at this speed in FLOP/s.
void set_muon_times(Model& model, const Computation& work, double speed) {
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
    for (ModelTensor& tensor : model.layers[layer].tensors)
      if (work.layers[layer].block >= 0 && tensor.shape.size() == 2)
        tensor.muon_us = 1e6 * newton_schulz_operations(tensor.shape, tensor.fused) / speed;
}

// The setting of the estimate.
Scenario scenario_of(Context& context, const EstimateArguments& arguments, const EstimateRequest& request,
                     Profile profile) {
  profile.name = profile.model;
  if (!arguments.setting.has_cluster()) profile.degrees.reset();
  Scenario setting = Library(context.inputs).resolve(setting_of_estimate(arguments), std::move(profile));
  setting.peak = request.device.peak.at(request.precision);  // also if the device is a user's file
  return setting;
}

// Runs the setting with the known speeds, or as estimated if there are none. Several speeds, or one at another batch,
// give a rate and, if there are several, the host's floor.
AtSpeed at_speeds(Context& context, const EstimateArguments& arguments, const EstimateRequest& request,
                  const std::vector<KnownSpeed>& known, const Estimate& made) {
  Scenario setting = scenario_of(context, arguments, request, made.profile);
  if (known.empty()) return {1, run(setting)};
  if (known.size() == 1 && known.front().batch == request.batch) return at_speed(setting, known.front(), made.starts);
  std::vector<MeasuredSetting> measured;
  for (const KnownSpeed& one : known) {
    EstimateRequest other = request;
    other.batch = one.batch;
    Estimate there = estimate(other);
    measured.push_back({scenario_of(context, arguments, other, there.profile), one, there.starts});
  }
  AtSpeed found;
  Profile& profile = setting.profile.own();
  if (known.size() > 1) {
    const auto [factor, floor, errors] = rate_and_floor(measured);
    found.factor = factor;
    set_block_floor(profile, floor);
    if (floor == Time(0)) found.note = "no floor for the host: small batches are no slower than a single rate predicts";
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (constexpr double much = 0.005; std::abs(errors[i]) > much)
        found.note +=
            fmt::format("{}{} at batch {} comes out {:.1f} % {}", found.note.empty() ? "" : "; ", known[i].text(),
                        known[i].batch, 100 * std::abs(errors[i]), errors[i] > 0 ? "too slow" : "too fast");
  } else {
    AtSpeed there = at_speed(measured.front().setting, known.front(), measured.front().starts);
    found.factor = there.factor;
    found.note = std::move(there.note);
  }
  for (std::size_t i = 0; i < profile.layers.size(); ++i)
    scale_computing(profile.layers[i], found.factor, made.starts[i]);
  found.outcome = run(std::move(setting));
  return found;
}

void from_nothing(Context& context, const EstimateArguments& arguments) {
  require_separate(
      context.files(), {output_of(arguments)},
      arguments.setting.files(context.files(),
                              {file_behind(context.files(), "models/transformers", arguments["--model"]),
                               file_behind(context.files(), "models", arguments["--model"]),
                               file_behind(context.files(), "models/devices", arguments["--device"]), arguments.plan}));
  const EstimateRequest request = estimate_request(context, arguments);
  Estimate made = estimate(request);
  made.profile.name = made.profile.model;
  const std::vector<KnownSpeed> known = known_speeds(arguments, request);
  const AtSpeed at = at_speeds(context, arguments, request, known, made);
  made.efficiency.products /= at.factor;
  made.efficiency.attention /= at.factor;
  made.profile.layers = at.outcome.scenario.profile->layers;
  made.profile.update = at.outcome.scenario.profile->update;
  made.profile.host = at.outcome.scenario.profile->host;
  if (!known.empty()) note_known(arguments, request, known, at.factor, at.outcome, made);
  context.console.warn(at.outcome.result.warning);
  if (!at.note.empty()) made.notes.push_back(at.note);
  warn_of_idle_options(context.console, arguments.setting, {&at.outcome, 1});
  Model model = request.work.model();
  if (request.work.optimizer == Optimizer::Muon) {
    const std::string precision = is_narrow(request.precision) ? "bf16" : request.precision;  // only blocks are narrow
    set_muon_times(model, request.work, request.device.peak.at(precision) * made.efficiency.products);
  }
  finish(context, arguments, made, model,
         estimate_json(made, request.work.input, &request.device, at.outcome, arguments.setting.has_cluster()));
}

void execute(Context& context, const EstimateArguments& arguments) {
  if (arguments.plain) return print_plain(context, arguments);
  if (arguments.has("--precision") && !element_bytes(arguments["--precision"]))
    throw InputError(argument("--precision"), fmt::format("unknown precision '{}'", arguments["--precision"]),
                     "fp32, tf32, fp16, bf16, fp8 or fp4");
  if (arguments.has("--from")) return rescale(context, arguments);
  if (arguments.has("--from-device")) throw InputError(argument("--from-device"), "needs --from", "--device");
  from_nothing(context, arguments);
}

}  // namespace

void add_estimate(CommandLine& app) {
  auto [command, a] = app.add<EstimateArguments>(
      "estimate", "estimate a profile from data sheets; no model code or GPU needed", execute);
  for (const EstimateFlag& one : estimate_flags())
    command.add_option(std::string(one.name), a.texts[std::string(one.name)], one.value, one.about);
  command.add_flag("--sequence-parallel", a.sequence_parallel,
                   "tensor-parallel groups also split the tokens outside of their split products (Megatron-LM)");
  command.add_flag("--force", a.force, help_on_force);
  command.add_flag("--plain", a.plain,
                   "print the plain roofline times of a model file's layers in fp32, in seconds, as JSON");
  add_setting_options(command, a.setting, {Changed::Network, Changed::Stragglers});
  add_strategy_or_plan(command, a.strategy, a.plan);
  command.footer =
      "With --mfu, --tokens-per-second or --samples-per-second, as measured for one GPU,\n"
      "`run` reproduces the measured speed in its setting: --cluster (or flags), --workers,\n"
      "--strategy and whatever else `run` takes. Without a cluster: one GPU that holds everything.\n"
      "With --tp, --cp, --ep and --sequence-parallel the profile is that of one worker of such groups,\n"
      "including what the group sends inside layers.\n"
      "For the accuracy see docs/estimation.md. Examples:\n"
      "  allreplay estimate --model llama3-8b --device h100 --batch 2 --seq 8192 "
      "--precision bf16 --out mine.json\n"
      "  allreplay estimate --model llama3-8b --device h100 --batch 2 --seq 8192 "
      "--tokens-per-second 6667 --cluster h100x8-8x400gbps --workers 64 "
      "--strategy fsdp2 --out mine.json\n"
      "  allreplay estimate --model llama3-70b --device h100 --batch 1 --seq 8192 --tp 8 "
      "--sequence-parallel --recompute selective --out mine.json\n"
      "  allreplay estimate --model qwen3-30b-a3b --device h100 --batch 1 --seq 4096 --ep 8 --out mine.json\n"
      "  allreplay estimate --from resnet50_xeon_b8 --batch 16";
}

}  // namespace allreplay
