#include "sim/studies/experiment/estimated_profile.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/workload/profile_file.hpp"

namespace allreplay {

namespace {

SourceLocation flag(const std::string& name) { return {"command line", name}; }

// Several changes of the batch apply in turn: 4, then x2.
std::int64_t batch_after(std::int64_t batch, const ChangeText& change) {
  constexpr std::int64_t most = 1'000'000'000;
  if (!change.value.starts_with('x')) return parse_integer(change.value, 1, most, change.place);
  const double size = static_cast<double>(batch) * parse_number(change.value.substr(1), change.place);
  const auto whole = static_cast<std::int64_t>(std::clamp(size, 0.0, static_cast<double>(most)));
  if (batch == 0 || whole < 1 || static_cast<double>(whole) != size)
    throw InputError(change.place, fmt::format("{} of {} samples is not a number of samples", change.value, batch),
                     "a whole number of samples");
  return whole;
}

Computation computation_of(const Files& files, const EstimateWords& words) {
  const std::string file = file_of_model(files, words.model, flag("--model"));
  const auto model = read_named_model(files, file);
  const auto tokens = [&](std::int64_t own) {
    return words.tokens.empty() ? own : parse_integer(words.tokens, 1, 10'000'000, flag("--seq"));
  };
  if (const auto* transformer = std::get_if<Transformer>(&model))
    return build(*transformer, tokens(transformer->tokens()), flag("--seq"), words.split);
  const auto& layers = std::get<Model>(model);
  refuse_split(words.split, layers.name);
  return from_model(layers, {file, ""}, tokens(0));
}

}  // namespace

std::string EstimateWords::text() const {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{} {} {} {} {}", model, device, precision, recompute, tokens, batch, split.tp,
                     split.cp, split.ep, split.sequence_parallel);
}

EstimateWords estimate_words(const Request& request, const ParallelOptions& parallel) {
  EstimateWords words{.model = request.model, .device = request.device, .tokens = request.tokens};
  words.split = {
      .tp = parallel.tp, .cp = parallel.cp, .sequence_parallel = request.sequence_parallel, .ep = parallel.ep};
  if (!request.profile.empty())
    throw InputError(request.profile.place, "cannot be combined with --model",
                     "one of them: with --model profiles are estimated");
  if (words.device.empty())
    throw InputError(flag("--device"), "is required with --model", "a name from `allreplay list devices`");
  if (request.forward_ratio.value)
    throw InputError(request.forward_ratio.place, "cannot be combined with --model",
                     "--profile, whose times it changes");
  for (const ChangeText& change : request.changes) {
    if (change.name == "batch") words.batch = batch_after(words.batch, change);
    if (change.name == "precision") words.precision = change.value;
    if (change.name == "recompute" && change.value == words.recompute)
      throw InputError(change.place, fmt::format("{} is recomputed already ({})", request.model, change.value),
                       "a model without recomputation");
    if (change.name == "recompute") words.recompute = change.value;
  }
  if (words.batch == 0)
    throw InputError(flag("--batch"), "is required with --model", "samples of one worker in a micro-batch");
  words.split.batch = words.batch;
  return words;
}

Profile estimated_profile(const Files& files, const EstimateWords& words) {
  EstimateRequest request;
  request.work = computation_of(files, words);
  request.device = read_device(files, words.device);
  request.precision = words.precision.empty() ? usual_precision(request.device) : words.precision;
  if (!element_bytes(request.precision))
    throw InputError(flag("--precision"), fmt::format("unknown precision '{}'", request.precision),
                     choices(names_of(precisions)));
  request.batch = words.batch;
  if (!words.recompute.empty())
    request.recompute = choose_by_name(recompute_rules, words.recompute, flag("--recompute"), "unknown '{}'").value;
  Profile profile = estimate(request).profile;
  profile.name = name_of_estimate(request.work.name, request.device.name, words.batch, words.split, request.recompute);
  return profile;
}

std::string name_of_estimate(const std::string& model, const std::string& device, std::int64_t batch,
                             const Split& split, Recompute recompute) {
  std::string name = fmt::format("{}_{}_b{}", model, device, batch);
  if (split.tp > 1) name += fmt::format("_tp{}", split.tp);
  if (split.cp > 1) name += fmt::format("_cp{}", split.cp);
  if (split.ep > 1) name += fmt::format("_ep{}", split.ep);
  if (recompute != Recompute::None) name += fmt::format("_{}", name_of(recompute_rules, recompute));
  return name;
}

void refuse_split(const Split& split, const std::string& model) {
  for (const auto& [given, name] : {std::pair(split.tp > 1, "--tp"),
                                    {split.cp > 1, "--cp"},
                                    {split.ep > 1, "--ep"},
                                    {split.sequence_parallel, "--sequence-parallel"}})
    if (given)
      throw InputError(flag(name), fmt::format("{} has no heads, tokens or experts to split", model), "a transformer");
}

namespace {

// The shipped model of this name on Hugging Face's hub, such as meta-llama/Meta-Llama-3-8B; "" if it has no owner.
std::string model_of_hub(const std::string& name) {
  const std::size_t slash = name.find_last_of('/');
  if (slash == std::string::npos || name.starts_with('.') || name.starts_with('/')) return "";
  std::string own = lower_case(name.substr(slash + 1));
  // Versions of one architecture. LLaMA 3.1 and 3.3 differ from 3 in the scaling of positions.
  for (const auto& [theirs, ours] : {std::pair("meta-", ""),
                                     {"llama-2-", "llama2-"},
                                     {"llama-3-", "llama3-"},
                                     {"llama-3.1-", "llama3-"},
                                     {"llama-3.3-", "llama3-"},
                                     {"deepseek-r1", "deepseek-v3"}})
    if (own.starts_with(theirs)) own.replace(0, std::string_view(theirs).size(), ours);
  const auto cut = [&](std::string_view kind) {
    const bool ends = own.ends_with(kind) && own != "bert-base";
    if (ends) own.resize(own.size() - kind.size());
    return ends;
  };
  const auto kinds = {"-hf",   "-2507",    "-instruct", "-thinking", "-chat", "-base",
                      "-0324", "-uncased", "-cased",    "-v0.1",     "-0528"};
  while (std::any_of(kinds.begin(), kinds.end(), cut)) {
  }
  return own;
}

// The known model that was meant, or three of them. Names of the hub are rarely misspelt.
std::string suggest_model(const std::string& name, std::vector<std::string> known, bool of_hub) {
  constexpr std::size_t most = 3;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string kind = name.substr(0, 4);
  std::vector<std::string> similar;
  for (const std::string& one : known)
    if (one.starts_with(kind)) similar.push_back(one);
  if (similar.empty()) similar = known;
  if (!of_hub && (!nearest(name, known).empty() || similar.size() <= most)) return suggest(name, similar);
  similar.resize(std::min(most, similar.size()));
  const std::size_t more = known.size() - similar.size();
  return fmt::format("known: {} and {} more, in `allreplay list models`", fmt::join(similar, ", "), more);
}

}  // namespace

std::string file_of_model(const Files& files, const std::string& name, const SourceLocation& place,
                          std::initializer_list<std::string_view> folders) {
  std::vector<std::string> known;
  const std::string in_folder = name + (name.ends_with('/') ? "" : "/") + "config.json";
  if (files.is_file(in_folder)) return in_folder;
  for (const std::string_view folder : folders) {
    if (const auto file = files.locate_data(folder, name)) return *file;
    for (std::string& one : files.list_data(folder)) known.push_back(std::move(one));
  }
  const std::string of_hub = model_of_hub(name);
  for (const std::string_view folder : folders)
    if (std::find(known.begin(), known.end(), of_hub) != known.end())
      if (const auto file = files.locate_data(folder, of_hub)) return *file;
  throw InputError(place, fmt::format("no model '{}', and no such file", name),
                   suggest_model(of_hub.empty() ? name : of_hub, std::move(known), !of_hub.empty()));
}

std::variant<Transformer, Model> read_named_model(const Files& files, const std::string& file) {
  const Json json = Json::read(files, file);
  if (!json.is_object()) json.fail("is not a model", "a file of models/, or a config.json");
  if (json.find("layers") && json.at("layers").is_array()) return read_model(json);
  if (!json.find("family") && !json.find("model_type"))
    json.fail("has neither layers nor a model_type", "a file of models/, or a Hugging Face config.json");
  Transformer transformer = read_transformer(json);
  transformer.name = name_of_transformer(file);
  return transformer;
}

}  // namespace allreplay
