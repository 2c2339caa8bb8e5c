#include "sim/estimate/estimate.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/calibration/known_speed.hpp"
#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/core/text.hpp"
#include "sim/estimate/transformer.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"
#include "sim/workload/model_file.hpp"
#include "sim/workload/profile_file.hpp"
#include "sim/workload/profile_writer.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most = 1'000'000'000;
constexpr std::int64_t most_tokens = 10'000'000;

struct EstimateArguments {
  std::string model, from, device, from_device, batch, seq, precision, recompute, optimizer, head, out;
  std::string mfu, tokens_per_second, samples_per_second;
  std::string family, layers, hidden, heads, kv_heads, ffn, vocab;
  ScenarioArguments setting;
  std::string strategy, plan;
  bool plain = false, force = false, sequence_parallel = false;
};

std::int64_t count(const std::string& text, const std::string& option, std::int64_t limit = most) {
  return parse_integer(text, 1, limit, argument(option));
}

std::size_t index_of(const std::string& text, const std::string& option, std::vector<std::string> words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end())
    throw InputError(argument(option), fmt::format("unknown '{}'", text), fmt::format("{}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

// "45 %", "45%" and "0.45" are one number; 45 alone is taken as percent, and what could be either is refused.
double mfu_of(const std::string& text) {
  const SourceLocation place = argument("--mfu");
  const std::size_t sign = text.find('%');
  double value =
      parse_number(text.substr(0, sign == std::string::npos ? sign : text.find_last_not_of(' ', sign - 1) + 1), place);
  if (sign != std::string::npos && sign + 1 != text.size())
    throw InputError(place, fmt::format("'{}' is not a valid ratio", text), "such as 45% or 0.45");
  if (sign != std::string::npos || value >= 5) value /= 100;
  if (!(value > 0 && value <= 1))
    throw InputError(place, fmt::format("{} is not a valid utilisation", text),
                     "above 0, at most 100 %, such as 45% or 0.45");
  return value;
}

// --- the model -------------------------------------------------------------------------------------------------------

Transformer of_words(const EstimateArguments& arguments) {
  for (const auto& [text, name] : {std::pair{&arguments.layers, "--layers"}, std::pair{&arguments.hidden, "--hidden"},
                                   std::pair{&arguments.heads, "--heads"}, std::pair{&arguments.vocab, "--vocab"}})
    if (text->empty())
      throw InputError(argument(name), "is required", "--model NAME, or --layers, --hidden, --heads and --vocab");
  Transformer t;
  t.family = arguments.family.empty() ? Family::Llama : family_of(arguments.family, argument("--family"));
  if (t.family == Family::Vit)
    throw InputError(argument("--family"), "flags cannot describe an image model",
                     "gpt2, bert or llama; a config.json for ViT");
  t.layers = count(arguments.layers, "--layers");
  t.hidden = count(arguments.hidden, "--hidden");
  t.heads = count(arguments.heads, "--heads");
  t.kv_heads = arguments.kv_heads.empty() ? t.heads : count(arguments.kv_heads, "--kv-heads");
  t.ffn = arguments.ffn.empty() ? 4 * t.hidden : count(arguments.ffn, "--ffn");
  t.vocab = count(arguments.vocab, "--vocab");
  t.positions = arguments.seq.empty() ? 2048 : count(arguments.seq, "--seq", most_tokens);
  t.tied = t.family == Family::Gpt2;
  require_sound(t, [](std::string_view name) {
    return argument(name == "kv_heads" ? "--kv-heads" : name == "positions" ? "--seq" : fmt::format("--{}", name));
  });
  t.head_size = t.hidden / t.heads;
  t.name = fmt::format("{}-{}x{}", families()[static_cast<std::size_t>(t.family)], t.layers, t.hidden);
  return t;
}

// What says a transformer instead of --model.
NamedValues words_of(const EstimateArguments& arguments) {
  return {{"--family", arguments.family}, {"--layers", arguments.layers},     {"--hidden", arguments.hidden},
          {"--heads", arguments.heads},   {"--kv-heads", arguments.kv_heads}, {"--ffn", arguments.ffn},
          {"--vocab", arguments.vocab}};
}

void refuse_words(const EstimateArguments& arguments) {
  for (const auto& [name, text] : words_of(arguments))
    if (!text.empty()) throw InputError(argument(name), "cannot be combined with --model", "one of them");
}

// What estimate builds comes first: its transformers have units and activations, which the files of models/ do not.
std::string find_model(const Files& files, const std::string& name) {
  if (const auto file = files.locate_data("models/transformers", name)) return *file;
  if (const auto file = files.locate_data("models", name)) return *file;
  std::vector<std::string> known = files.list_data("models");
  for (const std::string& one : files.list_data("models/transformers")) known.push_back(one);
  throw InputError(argument("--model"), fmt::format("no model '{}', and no such file", name), suggest(name, known));
}

// Whether the model is BERT with what pre-training adds.
void take_head(Transformer& t, const EstimateArguments& arguments) {
  if (arguments.head.empty()) return;
  t.mlm = index_of(arguments.head, "--head", {"none", "mlm"}) == 1;
  if (t.mlm && t.family != Family::Bert)
    throw InputError(argument("--head"), fmt::format("{} predicts no masked tokens", t.name), "none, or a BERT");
}

std::int64_t degree(const EstimateArguments& arguments, const std::string& flag) {
  const auto given = arguments.setting.parallel.find(flag);
  return given == arguments.setting.parallel.end() || given->second.empty() ? 1 : count(given->second, flag);
}

Split split_of(const EstimateArguments& arguments) {
  return {degree(arguments, "--tp"), degree(arguments, "--cp"), arguments.sequence_parallel};
}

void refuse_split(const Split& split, const std::string& model) {
  for (const auto& [given, flag] :
       {std::pair(split.tp > 1, "--tp"), {split.cp > 1, "--cp"}, {split.sequence_parallel, "--sequence-parallel"}})
    if (given)
      throw InputError(argument(flag), fmt::format("{} has neither heads nor tokens to split", model), "a transformer");
}

Computation computation_of(Context& context, const EstimateArguments& arguments) {
  const Split split = split_of(arguments);
  const auto tokens = [&](std::int64_t own) {
    return arguments.seq.empty() ? own : count(arguments.seq, "--seq", most_tokens);
  };
  if (arguments.model.empty()) {
    Transformer t = of_words(arguments);
    take_head(t, arguments);
    return build(t, tokens(t.tokens()), argument("--seq"), split);
  }
  refuse_words(arguments);
  const std::string file = find_model(context.files(), arguments.model);
  const Json json = Json::read(context.files(), file);
  if (!json.is_object()) json.fail("is not a model", "a file of models/, or a config.json");
  if (json.find("layers") && json.at("layers").is_array()) {
    const Model model = read_model(json);
    if (!arguments.head.empty() && index_of(arguments.head, "--head", {"none", "mlm"}) == 1)
      throw InputError(argument("--head"), fmt::format("{} has the layers that its file gives", model.name),
                       "a transformer, such as bert-base");
    refuse_split(split, model.name);
    return from_model(model, {file, ""}, tokens(0));
  }
  if (!json.find("family") && !json.find("model_type"))
    json.fail("has neither layers nor a model_type", "a file of models/, or a Hugging Face config.json");
  Transformer t = read_transformer(json);
  t.name = name_of_transformer(file);
  take_head(t, arguments);
  if (!t.left_out.empty())
    context.console.print_stderr(
        fmt::format("note: defaults of its class for what {} leaves out: {}", file, fmt::join(t.left_out, ", ")));
  return build(t, tokens(t.tokens()), argument("--seq"), split);
}

// --- what is asked ---------------------------------------------------------------------------------------------------

// How fast one GPU is known to be.
std::optional<KnownSpeed> known_of(const EstimateArguments& arguments, const EstimateRequest& request) {
  const Computation& work = request.work;
  const double peak = request.device.peak.at(request.precision);
  std::optional<KnownSpeed> known;
  const auto set = [&](const std::string& option, double value, double per_sample, const std::string& unit) {
    if (known)
      throw InputError(argument(option), fmt::format("cannot be combined with {}", known->place.path), "one of them");
    known = KnownSpeed{value, per_sample, unit, argument(option)};
  };
  if (!arguments.mfu.empty()) {
    if (!(work.model_flops > 0))
      throw InputError(argument("--mfu"), fmt::format("{} has no operations that count", work.name),
                       "--samples-per-second");
    set("--mfu", 100 * mfu_of(arguments.mfu), 100 * work.model_flops / peak, "% MFU");
  }
  if (!arguments.tokens_per_second.empty()) {
    const std::string option = "--tokens-per-second";
    if (tokens_of(work.input) == 0)
      throw InputError(argument(option), fmt::format("samples of {} are not tokens", work.name),
                       "--samples-per-second");
    set(option, positive_number(arguments.tokens_per_second, option), static_cast<double>(work.tokens), "tokens/s");
  }
  if (!arguments.samples_per_second.empty())
    set("--samples-per-second", positive_number(arguments.samples_per_second, "--samples-per-second"), 1, "samples/s");
  const double mfu = known ? known->samples_per_s() * work.model_flops / peak : 0;
  if (mfu > 1)
    throw InputError(
        known->place,
        fmt::format("is {:.0f} % of the peak of {} in {}", 100 * mfu, request.device.name, request.precision),
        fmt::format("at most {}", known->text(known->value / mfu)));
  return known;
}

void require(const std::string& text, const std::string& option, const std::string& right) {
  if (text.empty()) throw InputError(argument(option), "is required", right);
}

EstimateRequest request_of(Context& context, const EstimateArguments& arguments) {
  require(arguments.device, "--device", "a name from `allreplay list devices`");
  require(arguments.batch, "--batch", "samples of one device in a mini-batch");
  EstimateRequest request;
  request.work = computation_of(context, arguments);
  request.device = read_device(context.files(), arguments.device);
  request.precision = arguments.precision;
  if (request.precision.empty()) {
    const auto known = precisions_of(request.device);  // bf16 where there is, else fp32, unasked
    request.precision = known.front() == "bf16" ? "bf16" : known.back();
  }
  request.batch = count(arguments.batch, "--batch");
  if (!arguments.recompute.empty())
    request.recompute =
        static_cast<Recompute>(index_of(arguments.recompute, "--recompute", {"none", "selective", "full"}));
  if (!arguments.optimizer.empty())
    request.work.optimizer =
        static_cast<Optimizer>(index_of(arguments.optimizer, "--optimizer", {"adam", "adam-unfused", "sgd"}));
  return request;
}

// The first of the flags that only a setting with a cluster has; "" where none is given.
std::string flag_of_setting(const EstimateArguments& arguments) {
  for (const auto& [text, name] :
       {std::pair{&arguments.strategy, "--strategy"}, std::pair{&arguments.plan, "--plan"},
        std::pair{&arguments.setting.workers, "--workers"}, std::pair{&arguments.setting.collective, "--collective"},
        std::pair{&arguments.setting.fidelity, "--fidelity"}, std::pair{&arguments.setting.codec, "--codec"}})
    if (!text->empty()) return name;
  const auto changes = changes_of(arguments.setting.changes);
  return changes.empty() ? "" : changes.front().place.path;
}

// One GPU talks to nobody, whatever the plan, and whoever else holds parts of the model.
Request alone(Request request = {}) {
  for (const char* degree : {"tp", "cp"}) set_option(request, degree, "");
  request.strategy = "wfbp";
  request.cluster_words = {{"nodes", "1", {}}, {"gpus", "1", {}}, {"network", "1 GB/s", {}}};
  return request;
}

// The flag that says a speed; "" where none is given.
std::string speed_flag(const EstimateArguments& arguments) {
  for (const auto& [text, name] :
       {std::pair{&arguments.mfu, "--mfu"}, std::pair{&arguments.tokens_per_second, "--tokens-per-second"},
        std::pair{&arguments.samples_per_second, "--samples-per-second"}})
    if (!text->empty()) return name;
  return "";
}

// What a speed was measured in.
Request setting_of(const EstimateArguments& arguments) {
  const std::string flag = flag_of_setting(arguments);
  if (!arguments.setting.has_cluster() && !flag.empty())
    throw InputError(argument("--cluster"), fmt::format("is required with {}", flag),
                     "a name from `allreplay list clusters`, or --nodes, --gpus, --network, --inner");
  const Split split = split_of(arguments);
  if (const std::string speed = speed_flag(arguments);
      !arguments.setting.has_cluster() && !speed.empty() && split.tp * split.cp > 1)
    throw InputError(argument(speed), "is the speed of one GPU of a group, but what the group sends is not known",
                     "the setting in which it was measured: --cluster, --workers, --strategy");
  if (arguments.setting.has_cluster()) require_strategy_or_plan(arguments.strategy, arguments.plan);
  const Request request = arguments.setting.request(arguments.strategy, arguments.plan);
  for (const OptionText& one : request.options)
    if (!arguments.setting.has_cluster() &&
        (one.name == "pp" || one.name == "ep" || one.name == "chunks" || of_pipelines(one.name)))
      throw InputError(one.place, "does not change the profile, which has all layers",
                       "leave it out; `run` takes it, and so does a measured speed with --cluster");
  return arguments.setting.has_cluster() ? request : alone(request);
}

void refuse_beside_from(const EstimateArguments& arguments) {
  NamedValues refused{{"--model", arguments.model},
                      {"--recompute", arguments.recompute},
                      {"--optimizer", arguments.optimizer},
                      {"--head", arguments.head},
                      {"--mfu", arguments.mfu},
                      {"--tokens-per-second", arguments.tokens_per_second},
                      {"--samples-per-second", arguments.samples_per_second}};
  for (const auto& word : words_of(arguments)) refused.push_back(word);
  for (const auto& [name, text] : refused)
    if (!text.empty())
      throw InputError(argument(name), "cannot be combined with --from",
                       "--batch, --device, --precision, --seq change a profile");
  const auto options = arguments.setting.request("").options;
  const std::string flag = arguments.setting.has_cluster() ? "--cluster"
                           : options.empty()               ? flag_of_setting(arguments)
                                                           : options.front().place.path;
  if (arguments.sequence_parallel)
    throw InputError(argument("--sequence-parallel"), "cannot be combined with --from",
                     "--model, whose layers it splits");
  if (!flag.empty())
    throw InputError(argument(flag), "cannot be combined with --from",
                     "leave it out: the computation is the profile's, wherever it was measured");
}

// --- what is said ----------------------------------------------------------------------------------------------------

Bytes activations_of(const Profile& profile) {
  Bytes kept = 0;
  for (const Layer& layer : profile.layers) kept += layer.activation_bytes.value_or(0);
  return kept;
}

// The bytes of the collectives of a micro-batch.
Bytes sent_inside_of(const Profile& profile) {
  Bytes sent = 0;
  for (const Layer& layer : profile.layers)
    for (const LayerCollective& one : layer.collectives) sent += one.bytes;
  return sent;
}

std::string rate_text(double rate) { return rate >= 1000 ? fmt::format("{:.0f}", rate) : fmt::format("{:.4g}", rate); }

// What was made, and how fast it is in its setting: one GPU, unless there is a cluster.
std::string summary(const Estimate& made, const std::string& input, const Device* device, const Outcome& outcome,
                    bool in_cluster) {
  const Profile& profile = made.profile;
  const Bytes kept = activations_of(profile);
  std::vector<std::pair<std::string, TableCell>> rows{
      {"model", profile.model},
      {"device", fmt::format("{}, {}", profile.device, profile.precision)},
      {"batch size", fmt::format("{}{}{}", *profile.batch_size, input.empty() ? "" : " of ", input)},
      {"layers", fmt::format("{}", profile.layers.size())},
      {"tensors", fmt::format("{}", profile.tensors.size())},
      {"parameters", fmt::format("{}", profile.elements())},
      {"forward", format_duration(to_seconds(profile.forward()))},
      {"backward", format_duration(to_seconds(profile.backward()))},
      {"update", profile.update ? format_duration(to_seconds(*profile.update)) : "not known"}};
  if (kept > 0) rows.push_back({"activations", format_size(kept)});
  const auto [tp, cp] = profile.tensor_and_context.value_or(std::pair(std::int64_t{1}, std::int64_t{1}));
  if (tp * cp > 1) {
    rows.insert(rows.begin() + 1, {"one worker of", fmt::format("tp {}, cp {}", tp, cp)});
    rows.push_back({"sent inside layers", format_size(sent_inside_of(profile))});
  }
  const Metrics& metrics = outcome.result.metrics;
  if (in_cluster) {
    const Scenario& setting = outcome.scenario;
    rows.push_back({"setting", fmt::format("{} workers of {}, {}", setting.workers, setting.cluster.name,
                                           setting.strategy->name)});
    rows.push_back({"iteration", format_duration(metrics.iteration_s)});
    rows.push_back({"exposed communication", format_duration(metrics.exposed_comm_s)});
  }
  // Alone, it was replayed as if it did all of a sample.
  const double group = in_cluster ? 1 : static_cast<double>(tp * cp);
  const SpeedPerGpu speed = speed_per_gpu(outcome.scenario, metrics);
  const char* each = in_cluster ? " of a GPU" : group > 1 ? " of a GPU, alone" : "";
  rows.push_back({fmt::format("samples/s{}", each), rate_text(speed.samples_per_s.value() / group)});
  if (speed.tokens_per_s) rows.push_back({fmt::format("tokens/s{}", each), rate_text(*speed.tokens_per_s / group)});
  if (speed.mfu) rows.push_back({"MFU", percent(*speed.mfu / group)});
  if (made.efficiency > 0) rows.push_back({"of the roofline", percent(made.efficiency)});
  if (device) rows.push_back({"device's memory", format_size(device->memory)});
  const std::string note = device && kept > device->memory ? "note: the activations alone do not fit into the device's "
                                                             "memory: use fewer samples at a time, or --recompute\n"
                                                           : "";
  return facts(rows, screen()) + wrapped(note, screen().width, 2);
}

// `before`: what the profile that was rescaled says of its own source.
void finish(Context& context, const EstimateArguments& arguments, const Estimate& made, const Model& model,
            const std::string& table, const std::string& before = "") {
  std::vector<std::string> notes = made.notes;
  if (!before.empty()) notes.push_back("before: " + before);
  if (!arguments.out.empty())
    write_own(context.files(), {"--out", arguments.out}, profile_json(made.profile, notes, &model),
              "\"origin\": \"estimated\"", arguments.force);
  for (const std::string& note : made.notes) context.console.print_stderr("note: " + note);
  context.console.print(
      "{}{}", table,
      wrapped(fmt::format("note: estimated, not measured ({})\n", made.profile.source), screen().width, 2));
}

void rescale(Context& context, const EstimateArguments& arguments) {
  refuse_beside_from(arguments);
  require_separate(context.files(), {{"--out", arguments.out}},
                   {file_behind(context.files(), "traces", arguments.from), arguments.model});
  const std::string file = context.files().find_data("traces", arguments.from, "profile");
  const std::string text = context.files().read(file);
  const Profile profile = parse_profile(context.files(), text, file);
  if (!profile.batch_size)
    throw InputError(argument("--from"), fmt::format("{} has neither batch size nor device", file), "a profile (JSON)");
  Model model = model_of_profile(context.files(), Json::parse(text, file));
  Change change;
  if (!arguments.batch.empty()) change.batch = count(arguments.batch, "--batch");
  if (!arguments.seq.empty()) change.tokens = count(arguments.seq, "--seq", most_tokens);
  if (!arguments.device.empty()) change.device = read_device(context.files(), arguments.device);
  if (!arguments.from_device.empty()) change.measured = read_device(context.files(), arguments.from_device);
  change.precision = arguments.precision;
  if (!change.batch && !change.tokens && !change.device && change.precision.empty())
    throw InputError(argument("--from"), "changes nothing", "--batch, --device, --precision or --seq");
  const Estimate made = rescaled(context.files(), profile, model, change);
  if (change.tokens) model = from_model(model, {file, "/model"}, *change.tokens).model();
  const Outcome outcome = run(Library(context.inputs).resolve(alone(), made.profile));
  finish(context, arguments, made, model,
         summary(made, model.input, change.device ? &*change.device : nullptr, outcome, false), profile.source);
}

// What tools/reconstruct_trace.py scales to a published total.
void print_plain(Context& context, const EstimateArguments& arguments) {
  require(arguments.model, "--model", "a file of models/");
  require(arguments.device, "--device", "a name from `allreplay list devices`, or a file");
  require(arguments.batch, "--batch", "samples of one device in a mini-batch");
  const std::string file = context.files().find_data("models", arguments.model, "model");
  const Computation work = plain_computation(read_model(Json::read(context.files(), file)), {file, ""});
  const Rates rates = rates_of(read_device(context.files(), arguments.device), "fp32", argument("--device"));
  std::vector<double> forward, backward;
  for (const ComputationLayer& layer : work.layers) {
    const LayerSeconds seconds = layer_seconds(layer, rates, count(arguments.batch, "--batch"));
    forward.push_back(seconds.forward);
    backward.push_back(seconds.backward);
  }
  context.console.print_text(fmt::format("{{\"forward_s\": [{}],\n \"backward_s\": [{}]}}\n", fmt::join(forward, ", "),
                                         fmt::join(backward, ", ")));
}

// Where computing times follow from a speed: what else is to be known of that.
void note_known(const EstimateArguments& arguments, const EstimateRequest& request, const KnownSpeed& known,
                const Outcome& outcome, Estimate& made) {
  const std::vector<std::string> flags = run_flags(arguments.setting.request(arguments.strategy, arguments.plan));
  made.profile.source =
      source_of(request.device, made.efficiency,
                flags.empty() ? known.text() : fmt::format("{} with {}", known.text(), fmt::join(flags, " ")));
  if (made.efficiency > 1)
    made.notes.push_back(
        fmt::format("{} is faster than the roofline allows ({:.0f} %): check it, no measurement is known to reach that",
                    known.place.path, 100 * made.efficiency));
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

void from_nothing(Context& context, const EstimateArguments& arguments) {
  require_separate(
      context.files(), {{"--out", arguments.out}},
      arguments.setting.files(context.files(),
                              {file_behind(context.files(), "models/transformers", arguments.model),
                               file_behind(context.files(), "models", arguments.model),
                               file_behind(context.files(), "models/devices", arguments.device), arguments.plan}));
  const EstimateRequest request = request_of(context, arguments);
  Estimate made = estimate(request);
  made.profile.name = made.profile.model;
  const std::optional<KnownSpeed> known = known_of(arguments, request);
  Profile profile = made.profile;
  if (!arguments.setting.has_cluster()) profile.tensor_and_context.reset();
  Scenario setting = Library(context.inputs).resolve(setting_of(arguments), std::move(profile));
  setting.peak = request.device.peak.at(request.precision);  // of a device that is a user's file, too
  const AtSpeed at = known ? at_speed(setting, *known) : AtSpeed{1, run(setting)};
  made.efficiency /= at.factor;
  made.profile.layers = at.outcome.scenario.profile->layers;
  made.profile.update = at.outcome.scenario.profile->update;
  if (known) note_known(arguments, request, *known, at.outcome, made);
  context.console.warn(at.outcome.result.warning);
  if (!at.note.empty()) made.notes.push_back(at.note);
  warn_of_idle_options(context.console, arguments.setting, at.outcome);
  finish(context, arguments, made, request.work.model(),
         summary(made, request.work.input, &request.device, at.outcome, arguments.setting.has_cluster()));
}

void execute(Context& context, const EstimateArguments& arguments) {
  if (arguments.plain) return print_plain(context, arguments);
  if (!arguments.precision.empty() && !element_bytes(arguments.precision))
    throw InputError(argument("--precision"), fmt::format("unknown precision '{}'", arguments.precision),
                     "fp32, tf32, fp16 or bf16");
  if (!arguments.from.empty()) return rescale(context, arguments);
  if (!arguments.from_device.empty()) throw InputError(argument("--from-device"), "needs --from", "--device");
  from_nothing(context, arguments);
}

}  // namespace

void add_estimate(CommandLine& app) {
  auto a = std::make_shared<EstimateArguments>();
  Command command = app.add_subcommand("estimate", "estimate a profile from data sheets; no model code or GPU needed");
  command.add_option("--model", a->model, "a model, a file of one, or a config.json");
  command.add_option("--from", a->from, "a profile to rescale, instead of a model");
  command.add_option("--device", a->device, "a device, or a file of one");
  command.add_option("--from-device", a->from_device, "device of the profile (the one it names)");
  command.add_option("--batch", a->batch, "samples of one device in a mini-batch");
  command.add_option("--seq", a->seq, "tokens of a sample (the model's positions)");
  command.add_option("--precision", a->precision, "fp32, tf32, fp16, bf16 (bf16, else fp32)");
  command.add_option("--recompute", a->recompute,
                     "recomputation in the backward pass: none (default), selective, full");
  command.add_flag("--sequence-parallel", a->sequence_parallel,
                   "tensor-parallel groups also split the tokens where they split no product (Megatron-LM)");
  command.add_option("--optimizer", a->optimizer, "adam, adam-unfused, sgd (transformers adam, else sgd)");
  command.add_option("--head", a->head, "head of BERT: none (default), or mlm, as in pre-training");
  command.add_option("--mfu", a->mfu, "measured model FLOPs over the peak, such as 45%");
  command.add_option("--tokens-per-second", a->tokens_per_second, "measured tokens/s of one GPU in the setting");
  command.add_option("--samples-per-second", a->samples_per_second, "the same, in samples");
  command.add_option("--family", a->family, "without --model: llama (default), gpt2, bert");
  command.add_option("--layers", a->layers, "blocks");
  command.add_option("--hidden", a->hidden, "width");
  command.add_option("--heads", a->heads, "attention heads");
  command.add_option("--kv-heads", a->kv_heads, "heads of keys and values (--heads)");
  command.add_option("--ffn", a->ffn, "inner width of the MLP (four times --hidden)");
  command.add_option("--vocab", a->vocab, "tokens of the vocabulary");
  command.add_option("--out", a->out, "the profile to write");
  command.add_flag("--force", a->force, help_on_force);
  command.add_flag("--plain", a->plain,
                   "print the plain roofline times of a model file's layers in fp32, in seconds, as JSON");
  add_setting_options(command, a->setting, {Changed::Network, Changed::Stragglers});
  add_strategy_or_plan(command, a->strategy, a->plan);
  command.footer(
      "With --mfu, --tokens-per-second or --samples-per-second, as measured for one GPU,\n"
      "`run` reproduces the measured speed in its setting: --cluster (or flags), --workers,\n"
      "--strategy and whatever else `run` takes. Without a cluster: one GPU that holds everything.\n"
      "With --tp, --cp and --sequence-parallel the profile is that of one worker of such a group,\n"
      "including what the group sends inside layers.\n"
      "For the accuracy see docs/estimation.md. Examples:\n"
      "  allreplay estimate --model llama3-8b --device h100 --batch 2 --seq 8192 \\\n"
      "    --precision bf16 --out mine.json\n"
      "  allreplay estimate --model llama3-8b --device h100 --batch 2 --seq 8192 \\\n"
      "    --tokens-per-second 6667 --cluster h100x8-8x400gbps --workers 64 \\\n"
      "    --strategy fsdp2 --out mine.json\n"
      "  allreplay estimate --model llama3-70b --device h100 --batch 1 --seq 8192 --tp 8 \\\n"
      "    --sequence-parallel --recompute selective --out mine.json\n"
      "  allreplay estimate --from resnet50_xeon_b8 --batch 16");
  command.callback([a](Context& context) { execute(context, *a); });
}

}  // namespace allreplay
