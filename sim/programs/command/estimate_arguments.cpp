#include "sim/programs/command/estimate_arguments.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/freezing.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"

namespace allreplay {

namespace {

using Use = EstimateFlag::Use;

constexpr EstimateFlag flag_rows[] = {
    {"--model", values::model, "a model, a file of one, or a config.json"},
    {"--from", values::profile, "a profile to rescale, instead of a model", Use::Any},
    {"--device", values::device, "a device, or a file of one", Use::Any},
    {"--from-device", values::device, "device of the profile (the one it names)", Use::Any},
    {"--batch", values::number, "samples of one device in a mini-batch", Use::Any},
    {"--seq", values::number, "tokens of a sample (the model's positions)", Use::Any},
    {"--precision", one_of("PRECISION", [] { return names_of(precisions); }),
     "fp32, tf32, fp16, bf16, or fp8 or fp4 for products of blocks (bf16, else fp32)", Use::Any},
    {"--recompute", one_of("RULE", [] { return names_of(recompute_rules); }),
     "recomputation in the backward pass: none (default), selective, full"},
    {"--optimizer", one_of("OPTIMIZER", [] { return names_of(optimizers); }),
     "adam, adam-unfused, sgd (transformers adam, else sgd)"},
    {"--head", {}, "head of BERT: none (default), or mlm, as in pre-training"},
    {"--host", one_of("SOFTWARE", [] { return names_of(host_figures()); }),
     "the time that launches and steps take: none (default: CUDA graphs, compilation), eager", Use::Any},
    {"--mfu", values::ratio, "measured model FLOPs over the peak, such as 45%"},
    {"--tokens-per-second", values::number,
     "measured tokens/s of one GPU in the setting; SPEED@BATCH,... at several batches"},
    {"--samples-per-second", values::number, "the same, in samples"},
    {"--efficiency", values::ratio,
     "kernels' part of the roofline, and that of attention: 59%,37% (the device's, or the usual)"},
    {"--family", one_of("FAMILY", families), "without --model: llama (default), gpt2, bert", Use::Architecture},
    {"--layers", values::number, "blocks", Use::Architecture},
    {"--hidden", values::number, "width", Use::Architecture},
    {"--heads", values::number, "attention heads", Use::Architecture},
    {"--kv-heads", values::number, "heads of keys and values (--heads)", Use::Architecture},
    {"--ffn", values::number, "inner width of the MLP (four times --hidden)", Use::Architecture},
    {"--vocab", values::number, "tokens of the vocabulary", Use::Architecture},
    {"--experts", values::number, "experts of a block (none)", Use::Architecture},
    {"--top-k", values::number, "experts for each token", Use::Experts},
    {"--expert-ffn", values::number, "inner width of an expert", Use::Experts},
    {"--shared-ffn", values::number, "inner width of all shared experts (none)", Use::Experts},
    {"--dense-layers", values::number, "first blocks without experts (none)", Use::Experts},
    {"--dense-ffn", values::number, "inner width of their MLP (four times --hidden)", Use::Experts},
    {"--expert-imbalance", values::ratio, "tokens of the busiest worker's experts, over the mean (1)"},
    {"--lora", values::number, "rank of LoRA's adapters: all else is frozen"},
    {"--lora-targets",
     {.name = "LAYERS"},
     "products with adapters, such as q,k,v,o,gate,up,down, ends of names, all-linear (PEFT's default)"},
    {"--freeze", {.name = "LAYERS"}, "layers that are not trained: embeddings, head, blocks:0-15, names with *"},
    {"--out", values::file, "the profile to write", Use::Any},
};

constexpr double most_imbalance = 1e6;

// The first flag that is given and for which `matches` holds; "" if there is none.
template <class Matches>
std::string first_given(const EstimateArguments& arguments, const Matches& matches) {
  for (const EstimateFlag& one : flag_rows)
    if (matches(one) && arguments.has(one.name)) return std::string(one.name);
  return "";
}

// The row of a table that a flag names; null if it is not given.
template <class Rows>
auto row_of(const EstimateArguments& arguments, const Rows& rows, const std::string& flag) {
  return arguments.has(flag) ? &choose_by_name(rows, arguments[flag], argument(flag), "unknown '{}'") : nullptr;
}

// True if --head asks for the layers that pre-training adds.
bool with_mlm(const EstimateArguments& arguments) {
  static constexpr Word<bool> heads[] = {{false, "none"}, {true, "mlm"}};
  const auto* head = row_of(arguments, heads, "--head");
  return head && head->value;
}

// Parses "45 %", "45%", "0.45" or "45", which is a percentage. Rejects numbers between 1 and 5, which could be either.
double ratio_of(const std::string& text, const std::string& option) {
  const SourceLocation place = argument(option);
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

// Parses "59%,37%": the efficiency of all kernels but attention, and that of attention. A single number is both.
Efficiency efficiency_of(const std::string& text) {
  constexpr const char* option = "--efficiency";
  const auto parts = split(text, ",");
  if (parts.size() > 2)
    throw InputError(argument(option), fmt::format("has {} numbers", parts.size()),
                     "one, or two: of attention the second, such as 59%,37%");
  return {ratio_of(std::string(trim(parts.front())), option), ratio_of(std::string(trim(parts.back())), option)};
}

// The numbers of a mixture of experts.
void take_experts(Transformer& t, const EstimateArguments& arguments) {
  if (!arguments.has("--experts")) {
    if (const std::string flag = first_given(arguments, [](const auto& one) { return one.use == Use::Experts; });
        !flag.empty())
      throw InputError(argument(flag), "needs --experts", "the number of experts of a block");
    return;
  }
  if (arguments.has("--ffn"))
    throw InputError(argument("--ffn"), "cannot be combined with --experts",
                     "--expert-ffn, and --dense-ffn for layers without experts");
  t.experts = {.count = arguments.number("--experts", ""),
               .top_k = arguments.number("--top-k", "experts for each token"),
               .ffn = arguments.number("--expert-ffn", "inner width of an expert")};
  if (arguments.has("--dense-ffn")) arguments.number("--dense-layers", "how many of the first layers have no experts");
  t.experts.shared_ffn = arguments.number_or("--shared-ffn", t.experts.shared_ffn);
  t.experts.dense_layers = arguments.number_or("--dense-layers", t.experts.dense_layers);
  t.ffn = arguments.number_or("--dense-ffn", t.ffn);
}

Transformer of_words(const EstimateArguments& arguments) {
  const auto required = [&](std::string_view flag) {
    return arguments.number(flag, "--model NAME, or --layers, --hidden, --heads and --vocab");
  };
  Transformer t;
  t.family = arguments.has("--family") ? family_of(arguments["--family"], argument("--family")) : Family::Llama;
  if (t.family == Family::Vit)
    throw InputError(argument("--family"), "flags cannot describe an image model",
                     "gpt2, bert or llama; a config.json for ViT");
  t.layers = required("--layers");
  t.hidden = required("--hidden");
  t.heads = required("--heads");
  t.vocab = required("--vocab");
  t.kv_heads = arguments.number_or("--kv-heads", t.heads);
  t.ffn = arguments.number_or("--ffn", 4 * t.hidden);
  take_experts(t, arguments);
  t.positions = arguments.number_or("--seq", 2048, most_tokens);
  t.tied = t.family == Family::Gpt2;
  t.qkv_bias = t.output_bias = t.mlp_bias = has_biases(t.family);
  require_sound(t, [](std::string_view name) {
    for (const auto& [key, flag] : {std::pair("kv_heads", "--kv-heads"),
                                    {"positions", "--seq"},
                                    {"experts/count", "--experts"},
                                    {"experts/top_k", "--top-k"},
                                    {"experts/ffn", "--expert-ffn"},
                                    {"experts/shared_ffn", "--shared-ffn"},
                                    {"experts/dense_layers", "--dense-layers"}})
      if (name == key) return argument(flag);
    return argument(fmt::format("--{}", name));
  });
  t.complete();
  t.name = fmt::format("{}-{}x{}", name_of(t.family), t.layers, t.hidden);
  return t;
}

bool describes(const EstimateFlag& flag) { return flag.use == Use::Architecture || flag.use == Use::Experts; }

// Adds the head that --head names. Throws InputError if the model cannot have it.
void take_head(Transformer& t, const EstimateArguments& arguments) {
  if (!arguments.has("--head")) return;
  t.mlm = with_mlm(arguments);
  if (t.mlm && t.family != Family::Bert)
    throw InputError(argument("--head"), fmt::format("{} predicts no masked tokens", t.name), "none, or a BERT");
}

Split split_of(const EstimateArguments& arguments) {
  const auto degree = [&](const std::string& flag) {
    const std::string given = arguments.setting.flag(flag);
    return given.empty() ? 1 : parse_integer(given, 1, EstimateArguments::most, argument(flag));
  };
  Split split{.tp = degree("--tp"),
              .cp = degree("--cp"),
              .sequence_parallel = arguments.sequence_parallel,
              .ep = degree("--ep")};
  split.batch = arguments.number_or("--batch", split.batch);
  if (!arguments.has("--expert-imbalance")) return split;
  const SourceLocation place = argument("--expert-imbalance");
  split.imbalance = parse_number(arguments["--expert-imbalance"], place);
  if (!(split.imbalance >= 1 && split.imbalance <= most_imbalance))
    throw InputError(place,
                     fmt::format("{} times the mean is not the busiest worker's", arguments["--expert-imbalance"]),
                     fmt::format("1 to {}", most_imbalance));
  return split;
}

// Rejects --expert-imbalance for a model without experts, or if the busiest worker would have more tokens than all.
void require_possible_imbalance(const EstimateArguments& arguments, const Computation& work) {
  if (!arguments.has("--expert-imbalance")) return;
  const SourceLocation place = argument("--expert-imbalance");
  if (!work.has_experts())
    throw InputError(place, fmt::format("{} has no experts", work.name), "a mixture of experts, or leave it out");
  const Split split = split_of(arguments);
  if (split.ep > 1 && split.imbalance > static_cast<double>(split.ep))
    throw InputError(
        place,
        fmt::format("{:g} times the mean is more than all tokens: --ep {} puts the experts on so many workers",
                    split.imbalance, split.ep),
        fmt::format("1 to {}", split.ep));
}

Computation computation_of(Context& context, const EstimateArguments& arguments) {
  const Split split = split_of(arguments);
  const auto tokens = [&](std::int64_t own) { return arguments.number_or("--seq", own, most_tokens); };
  if (!arguments.has("--model")) {
    Transformer t = of_words(arguments);
    take_head(t, arguments);
    return build(t, tokens(t.tokens()), argument("--seq"), split);
  }
  if (const std::string flag = first_given(arguments, describes); !flag.empty())
    throw InputError(argument(flag), "cannot be combined with --model", "one of them");
  const std::string file = file_of_model(context.files(), arguments["--model"], argument("--model"));
  const auto named = read_named_model(context.files(), file);
  if (std::holds_alternative<Model>(named)) {
    const auto& model = std::get<Model>(named);
    if (with_mlm(arguments))
      throw InputError(argument("--head"), fmt::format("{} has the layers that its file gives", model.name),
                       "a transformer, such as bert-base");
    refuse_split(split, model.name);
    return from_model(model, {file, ""}, tokens(0));
  }
  auto t = std::get<Transformer>(named);
  take_head(t, arguments);
  if (!t.left_out.empty())
    context.console.note_on_success(
        fmt::format("keys missing in {} have the defaults of its class: {}", file, fmt::join(t.left_out, ", ")));
  return build(t, tokens(t.tokens()), argument("--seq"), split);
}

// The first flag given that needs a setting with a cluster; "" if there is none.
std::string flag_of_setting(const EstimateArguments& arguments) {
  for (const auto& [text, name] :
       {std::pair{&arguments.strategy, "--strategy"}, std::pair{&arguments.plan, "--plan"},
        std::pair{&arguments.setting.workers, "--workers"}, std::pair{&arguments.setting.collective, "--collective"},
        std::pair{&arguments.setting.fidelity, "--fidelity"}, std::pair{&arguments.setting.codec, "--codec"}})
    if (!text->empty()) return name;
  const auto changes = changes_of(arguments.setting.changes);
  return changes.empty() ? "" : changes.front().place.path;
}

// The flag that gives a measured speed; "" if there is none.
std::string speed_flag(const EstimateArguments& arguments) {
  for (const char* flag : {"--mfu", "--tokens-per-second", "--samples-per-second"})
    if (arguments.has(flag)) return flag;
  return "";
}

}  // namespace

std::span<const EstimateFlag> estimate_flags() { return flag_rows; }

const std::string& EstimateArguments::operator[](std::string_view flag) const {
  static const std::string none;
  const auto found = texts.find(flag);
  return found == texts.end() ? none : found->second;
}

std::int64_t EstimateArguments::number(std::string_view flag, std::string_view right) const {
  if (!has(flag)) throw InputError(argument(std::string(flag)), "is required", right);
  return parse_integer((*this)[flag], 1, most, argument(std::string(flag)));
}

std::int64_t EstimateArguments::number_or(std::string_view flag, std::int64_t otherwise, std::int64_t limit) const {
  return has(flag) ? parse_integer((*this)[flag], 1, limit, argument(std::string(flag))) : otherwise;
}

const HostFigures* host_of(const EstimateArguments& arguments) { return row_of(arguments, host_figures(), "--host"); }

namespace {

struct SpeedUnit {
  double per_sample;
  std::string name;
};

// "6667@1,7450@4": each with its batch; a single one may leave that out.
std::vector<KnownSpeed> speeds_of(const std::string& text, const std::string& option, const SpeedUnit& unit,
                                  std::int64_t batch) {
  std::vector<KnownSpeed> speeds;
  const auto parts = split(text, ",");
  for (const std::string_view part : parts) {
    const std::size_t at = part.find('@');
    KnownSpeed one{positive_number(std::string(trim(part.substr(0, at))), option), unit.per_sample, unit.name,
                   argument(option), batch};
    if (at != std::string_view::npos)
      one.batch = parse_integer(trim(part.substr(at + 1)), 1, EstimateArguments::most, argument(option));
    else if (parts.size() > 1)
      throw InputError(argument(option), fmt::format("does not say the batch of {}", trim(part)),
                       "such as 6667@1,7450@4");
    for (const KnownSpeed& other : speeds)
      if (other.batch == one.batch)
        throw InputError(argument(option), fmt::format("has two speeds at batch {}", one.batch), "one for each batch");
    speeds.push_back(std::move(one));
  }
  return speeds;
}

}  // namespace

std::vector<KnownSpeed> known_speeds(const EstimateArguments& arguments, const EstimateRequest& request) {
  const Computation& work = request.work;
  const double peak = request.device.peak.at(request.precision);
  std::vector<KnownSpeed> known;
  const auto set = [&](const std::string& option, std::vector<KnownSpeed> speeds) {
    if (!known.empty())
      throw InputError(argument(option), fmt::format("cannot be combined with {}", known.front().place.path),
                       "one of them");
    known = std::move(speeds);
  };
  if (arguments.has("--mfu")) {
    if (!(work.model_flops > 0))
      throw InputError(argument("--mfu"), fmt::format("{} has no operations that count", work.name),
                       "--samples-per-second");
    set("--mfu", {{100 * ratio_of(arguments["--mfu"], "--mfu"), 100 * work.model_flops / peak, "% MFU",
                   argument("--mfu"), request.batch}});
  }
  if (const std::string option = "--tokens-per-second"; arguments.has(option)) {
    if (tokens_of(work.input) == 0)
      throw InputError(argument(option), fmt::format("samples of {} are not tokens", work.name),
                       "--samples-per-second");
    set(option, speeds_of(arguments[option], option, {static_cast<double>(work.tokens), "tokens/s"}, request.batch));
  }
  if (const std::string option = "--samples-per-second"; arguments.has(option))
    set(option, speeds_of(arguments[option], option, {1, "samples/s"}, request.batch));
  for (const KnownSpeed& one : known)
    if (one.samples_per_s() * work.model_flops / peak > 1) {
      const double most = one.value / one.samples_per_s() * (peak / work.model_flops);
      throw InputError(one.place,
                       fmt::format("is {:.0f} % of the peak of {} in {}", 100 * (one.value / most), request.device.name,
                                   request.precision),
                       fmt::format("at most {} for one GPU", one.text(most)));
    }
  if (known.size() > 1 && request.host)
    throw InputError(argument("--host"), "cannot be combined with several speeds, which determine the host's time",
                     "one of the two");
  return known;
}

namespace {

std::vector<std::string> words_of_list(const std::string& text, const std::string& option, const std::string& right) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ",")) {
    words.emplace_back(trim(word));
    if (words.back().empty()) throw InputError(argument(option), fmt::format("'{}' has an empty part", text), right);
  }
  return words;
}

void take_freezing(Computation& work, const EstimateArguments& arguments) {
  if (arguments.has("--freeze")) {
    if (arguments.has("--lora"))
      throw InputError(argument("--freeze"), "cannot be combined with --lora, which freezes all but its adapters",
                       "one of them");
    freeze(work, words_of_list(arguments["--freeze"], "--freeze", "such as embeddings,blocks:0-15"),
           argument("--freeze"));
  }
  if (!arguments.has("--lora")) {
    if (arguments.has("--lora-targets"))
      throw InputError(argument("--lora-targets"), "needs --lora", "the rank of the adapters");
    return;
  }
  if (work.tp > 1)
    throw InputError(argument("--tp"), "cannot be combined with --lora: PEFT does not split adapters", "--tp 1");
  const auto targets = arguments.has("--lora-targets")
                           ? words_of_list(arguments["--lora-targets"], "--lora-targets", "such as q,k,v,o")
                           : std::vector<std::string>();
  add_adapters(work, arguments.number("--lora", ""), targets, argument("--lora"), argument("--lora-targets"));
}

}  // namespace

EstimateRequest estimate_request(Context& context, const EstimateArguments& arguments) {
  if (!arguments.has("--device"))
    throw InputError(argument("--device"), "is required", "a name from `allreplay list devices`");
  EstimateRequest request;
  request.batch = arguments.number("--batch", "samples of one device in a mini-batch");
  request.work = computation_of(context, arguments);
  require_possible_imbalance(arguments, request.work);
  take_freezing(request.work, arguments);
  request.device = read_device(context.files(), arguments["--device"]);
  request.precision = arguments.has("--precision") ? arguments["--precision"] : usual_precision(request.device);
  if (const auto* rule = row_of(arguments, recompute_rules, "--recompute")) request.recompute = rule->value;
  request.host = host_of(arguments);
  if (arguments.has("--efficiency")) {
    if (const std::string speed = speed_flag(arguments); !speed.empty())
      throw InputError(argument("--efficiency"), fmt::format("cannot be combined with {}", speed), "one of them");
    request.efficiency = efficiency_of(arguments["--efficiency"]);
  }
  if (const auto* optimizer = row_of(arguments, optimizers, "--optimizer")) request.work.optimizer = optimizer->value;
  return request;
}

Request alone_on_a_gpu(Request request) {
  for (const char* degree : {"tp", "cp", "ep"}) set_option(request, degree, "");
  request.strategy = "wfbp";
  request.cluster_words = {{"nodes", "1", {}}, {"gpus", "1", {}}, {"network", "1 GB/s", {}}};
  return request;
}

Request setting_of_estimate(const EstimateArguments& arguments) {
  const std::string flag = flag_of_setting(arguments);
  if (!arguments.setting.has_cluster() && !flag.empty())
    throw InputError(argument("--cluster"), fmt::format("is required with {}", flag),
                     "a name from `allreplay list clusters`, or --nodes, --gpus, --network, --inner");
  const Split split = split_of(arguments);
  if (const std::string speed = speed_flag(arguments);
      !arguments.setting.has_cluster() && !speed.empty() && split.tp * split.cp * split.ep > 1)
    throw InputError(argument(speed), "is the speed of one GPU of a group, whose communication is unknown",
                     "the setting in which it was measured: --cluster, --workers, --strategy");
  if (arguments.setting.has_cluster()) require_strategy_or_plan(arguments.strategy, arguments.plan);
  const Request request = arguments.setting.request(arguments.strategy, arguments.plan);
  for (const OptionText& one : request.options)
    if (!arguments.setting.has_cluster() && (one.name == "pp" || one.name == "chunks" || is_pipeline_option(one.name)))
      throw InputError(one.place, "does not change the profile, which has all layers",
                       "leave it out; `run` takes it, and so does a measured speed with --cluster");
  return arguments.setting.has_cluster() ? request : alone_on_a_gpu(request);
}

void refuse_options_with_from(const EstimateArguments& arguments) {
  if (const std::string flag = first_given(arguments, [](const auto& one) { return one.use != Use::Any; });
      !flag.empty())
    throw InputError(argument(flag), "cannot be combined with --from",
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

}  // namespace allreplay
