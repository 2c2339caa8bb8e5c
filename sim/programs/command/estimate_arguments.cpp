#include "sim/programs/command/estimate_arguments.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/freezing.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/model_file.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"

namespace allreplay {

namespace {

constexpr double most_imbalance = 1e6;

// True if --head asks for the layers that pre-training adds.
bool with_mlm(const EstimateArguments& arguments) {
  constexpr Word<bool> heads[] = {{false, "none"}, {true, "mlm"}};
  return !arguments.head.empty() && choose_by_name(heads, arguments.head, argument("--head"), "unknown '{}'").value;
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
  if (arguments.experts.empty()) {
    for (const auto& [text, name] :
         {std::pair{&arguments.top_k, "--top-k"}, std::pair{&arguments.expert_ffn, "--expert-ffn"},
          std::pair{&arguments.shared_ffn, "--shared-ffn"}, std::pair{&arguments.dense_layers, "--dense-layers"},
          std::pair{&arguments.dense_ffn, "--dense-ffn"}})
      if (!text->empty()) throw InputError(argument(name), "needs --experts", "the number of experts of a block");
    return;
  }
  require_given(arguments.top_k, "--top-k", "experts for each token");
  require_given(arguments.expert_ffn, "--expert-ffn", "inner width of an expert");
  if (!arguments.ffn.empty())
    throw InputError(argument("--ffn"), "cannot be combined with --experts",
                     "--expert-ffn, and --dense-ffn for layers without experts");
  if (!arguments.dense_ffn.empty())
    require_given(arguments.dense_layers, "--dense-layers", "how many of the first layers have no experts");
  t.experts = {.count = whole_number(arguments.experts, "--experts"),
               .top_k = whole_number(arguments.top_k, "--top-k"),
               .ffn = whole_number(arguments.expert_ffn, "--expert-ffn")};
  if (!arguments.shared_ffn.empty()) t.experts.shared_ffn = whole_number(arguments.shared_ffn, "--shared-ffn");
  if (!arguments.dense_layers.empty()) t.experts.dense_layers = whole_number(arguments.dense_layers, "--dense-layers");
  if (!arguments.dense_ffn.empty()) t.ffn = whole_number(arguments.dense_ffn, "--dense-ffn");
}

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
  t.layers = whole_number(arguments.layers, "--layers");
  t.hidden = whole_number(arguments.hidden, "--hidden");
  t.heads = whole_number(arguments.heads, "--heads");
  t.kv_heads = arguments.kv_heads.empty() ? t.heads : whole_number(arguments.kv_heads, "--kv-heads");
  t.ffn = arguments.ffn.empty() ? 4 * t.hidden : whole_number(arguments.ffn, "--ffn");
  take_experts(t, arguments);
  t.vocab = whole_number(arguments.vocab, "--vocab");
  t.positions = arguments.seq.empty() ? 2048 : whole_number(arguments.seq, "--seq", most_tokens);
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

// The flags that describe a transformer instead of --model.
NamedValues words_of(const EstimateArguments& arguments) {
  return {{"--family", arguments.family},         {"--layers", arguments.layers},
          {"--hidden", arguments.hidden},         {"--heads", arguments.heads},
          {"--kv-heads", arguments.kv_heads},     {"--ffn", arguments.ffn},
          {"--vocab", arguments.vocab},           {"--experts", arguments.experts},
          {"--top-k", arguments.top_k},           {"--expert-ffn", arguments.expert_ffn},
          {"--shared-ffn", arguments.shared_ffn}, {"--dense-layers", arguments.dense_layers},
          {"--dense-ffn", arguments.dense_ffn}};
}

void refuse_words(const EstimateArguments& arguments) {
  for (const auto& [name, text] : words_of(arguments))
    if (!text.empty()) throw InputError(argument(name), "cannot be combined with --model", "one of them");
}

// Adds the head that --head names. Throws InputError if the model cannot have it.
void take_head(Transformer& t, const EstimateArguments& arguments) {
  if (arguments.head.empty()) return;
  t.mlm = with_mlm(arguments);
  if (t.mlm && t.family != Family::Bert)
    throw InputError(argument("--head"), fmt::format("{} predicts no masked tokens", t.name), "none, or a BERT");
}

std::int64_t degree(const EstimateArguments& arguments, const std::string& flag) {
  const auto given = arguments.setting.parallel.find(flag);
  return given == arguments.setting.parallel.end() || given->second.empty() ? 1 : whole_number(given->second, flag);
}

Split split_of(const EstimateArguments& arguments) {
  Split split{.tp = degree(arguments, "--tp"),
              .cp = degree(arguments, "--cp"),
              .sequence_parallel = arguments.sequence_parallel,
              .ep = degree(arguments, "--ep")};
  if (!arguments.batch.empty()) split.batch = whole_number(arguments.batch, "--batch");
  if (arguments.imbalance.empty()) return split;
  const SourceLocation place = argument("--expert-imbalance");
  split.imbalance = parse_number(arguments.imbalance, place);
  if (!(split.imbalance >= 1 && split.imbalance <= most_imbalance))
    throw InputError(place, fmt::format("{} times the mean is not the busiest worker's", arguments.imbalance),
                     fmt::format("1 to {}", most_imbalance));
  return split;
}

void refuse_without_experts(const EstimateArguments& arguments, const Computation& work) {
  if (!arguments.imbalance.empty() && !work.has_experts())
    throw InputError(argument("--expert-imbalance"), fmt::format("{} has no experts", work.name),
                     "a mixture of experts, or leave it out");
}

Computation computation_of(Context& context, const EstimateArguments& arguments) {
  const Split split = split_of(arguments);
  const auto tokens = [&](std::int64_t own) {
    return arguments.seq.empty() ? own : whole_number(arguments.seq, "--seq", most_tokens);
  };
  if (arguments.model.empty()) {
    Transformer t = of_words(arguments);
    take_head(t, arguments);
    return build(t, tokens(t.tokens()), argument("--seq"), split);
  }
  refuse_words(arguments);
  const std::string file = file_of_model(context.files(), arguments.model, argument("--model"));
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
    context.console.print_stderr(
        fmt::format("note: keys missing in {} have the defaults of its class: {}", file, fmt::join(t.left_out, ", ")));
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
  for (const auto& [text, name] :
       {std::pair{&arguments.mfu, "--mfu"}, std::pair{&arguments.tokens_per_second, "--tokens-per-second"},
        std::pair{&arguments.samples_per_second, "--samples-per-second"}})
    if (!text->empty()) return name;
  return "";
}

}  // namespace

std::int64_t whole_number(const std::string& text, const std::string& option, std::int64_t limit) {
  return parse_integer(text, 1, limit, argument(option));
}

void require_given(const std::string& text, const std::string& option, const std::string& right) {
  if (text.empty()) throw InputError(argument(option), "is required", right);
}

const HostFigures* host_of(const EstimateArguments& arguments) {
  return arguments.host.empty() ? nullptr
                                : &choose_by_name(host_figures(), arguments.host, argument("--host"), "unknown '{}'");
}

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
      one.batch = whole_number(std::string(trim(part.substr(at + 1))), option);
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
  if (!arguments.mfu.empty()) {
    if (!(work.model_flops > 0))
      throw InputError(argument("--mfu"), fmt::format("{} has no operations that count", work.name),
                       "--samples-per-second");
    set("--mfu", {{100 * ratio_of(arguments.mfu, "--mfu"), 100 * work.model_flops / peak, "% MFU", argument("--mfu"),
                   request.batch}});
  }
  if (!arguments.tokens_per_second.empty()) {
    const std::string option = "--tokens-per-second";
    if (tokens_of(work.input) == 0)
      throw InputError(argument(option), fmt::format("samples of {} are not tokens", work.name),
                       "--samples-per-second");
    set(option,
        speeds_of(arguments.tokens_per_second, option, {static_cast<double>(work.tokens), "tokens/s"}, request.batch));
  }
  if (!arguments.samples_per_second.empty())
    set("--samples-per-second",
        speeds_of(arguments.samples_per_second, "--samples-per-second", {1, "samples/s"}, request.batch));
  for (const KnownSpeed& one : known)
    if (one.samples_per_s() * work.model_flops / peak > 1) {
      const double most = one.value / one.samples_per_s() * (peak / work.model_flops);
      throw InputError(one.place,
                       fmt::format("is {:.0f} % of the peak of {} in {}", 100 * (one.value / most), request.device.name,
                                   request.precision),
                       fmt::format("at most {}", one.text(most)));
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
  if (!arguments.freeze.empty()) {
    if (!arguments.lora.empty())
      throw InputError(argument("--freeze"), "cannot be combined with --lora, which freezes all but its adapters",
                       "one of them");
    freeze(work, words_of_list(arguments.freeze, "--freeze", "such as embeddings,blocks:0-15"), argument("--freeze"));
  }
  if (arguments.lora.empty()) {
    if (!arguments.lora_targets.empty())
      throw InputError(argument("--lora-targets"), "needs --lora", "the rank of the adapters");
    return;
  }
  if (work.tp > 1)
    throw InputError(argument("--tp"), "cannot be combined with --lora: PEFT does not split adapters", "--tp 1");
  const auto targets = arguments.lora_targets.empty()
                           ? std::vector<std::string>()
                           : words_of_list(arguments.lora_targets, "--lora-targets", "such as q,k,v,o");
  add_adapters(work, whole_number(arguments.lora, "--lora"), targets, argument("--lora"), argument("--lora-targets"));
}

}  // namespace

EstimateRequest estimate_request(Context& context, const EstimateArguments& arguments) {
  require_given(arguments.device, "--device", "a name from `allreplay list devices`");
  require_given(arguments.batch, "--batch", "samples of one device in a mini-batch");
  EstimateRequest request;
  request.work = computation_of(context, arguments);
  refuse_without_experts(arguments, request.work);
  take_freezing(request.work, arguments);
  request.device = read_device(context.files(), arguments.device);
  request.precision = arguments.precision.empty() ? usual_precision(request.device) : arguments.precision;
  request.batch = whole_number(arguments.batch, "--batch");
  if (!arguments.recompute.empty())
    request.recompute =
        choose_by_name(recompute_rules, arguments.recompute, argument("--recompute"), "unknown '{}'").value;
  request.host = host_of(arguments);
  if (!arguments.efficiency.empty()) {
    if (const std::string speed = speed_flag(arguments); !speed.empty())
      throw InputError(argument("--efficiency"), fmt::format("cannot be combined with {}", speed), "one of them");
    request.efficiency = efficiency_of(arguments.efficiency);
  }
  if (!arguments.optimizer.empty())
    request.work.optimizer =
        choose_by_name(optimizers, arguments.optimizer, argument("--optimizer"), "unknown '{}'").value;
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
  NamedValues refused{{"--model", arguments.model},
                      {"--recompute", arguments.recompute},
                      {"--optimizer", arguments.optimizer},
                      {"--head", arguments.head},
                      {"--mfu", arguments.mfu},
                      {"--tokens-per-second", arguments.tokens_per_second},
                      {"--samples-per-second", arguments.samples_per_second},
                      {"--efficiency", arguments.efficiency},
                      {"--expert-imbalance", arguments.imbalance},
                      {"--lora", arguments.lora},
                      {"--lora-targets", arguments.lora_targets},
                      {"--freeze", arguments.freeze}};
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

}  // namespace allreplay
