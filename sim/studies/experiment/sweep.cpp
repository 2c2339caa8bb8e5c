#include "sim/studies/experiment/sweep.hpp"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/text.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/over_seeds.hpp"

namespace allreplay {

namespace {

// Returns the items of a list. If the list is left out, returns one empty item, which stands for the default.
std::vector<std::optional<Json>> choices(const Json& sweep, std::string_view key) {
  const auto list = sweep.find(key);
  if (!list) return {std::nullopt};
  std::vector<std::optional<Json>> all;
  for (const Json& item : list->items()) all.emplace_back(item);
  if (all.empty()) list->fail("is empty", "at least one entry, or leave the key out");
  return all;
}

Requests::Choice profile_choice(const Files& files, const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("profile") : json;
  const std::string path = beside(files, file, name.text());
  Given<std::optional<double>> forward_ratio;
  if (json.is_object()) {
    json.allow_only({"profile", "forward_ratio"});
    if (const auto ratio = json.find("forward_ratio")) forward_ratio = {ratio->number(), ratio->place()};
  }
  if (!files.locate_data("traces", path))
    name.fail(fmt::format("no profile '{}'", name.text()), suggest(name.text(), files.list_data("traces")));
  return [=, profile = Given<std::string>(path, json.place())](Request& request) {
    request.profile = profile;
    request.forward_ratio = forward_ratio;
  };
}

// Returns the list `key` of the cluster's own entry if it has one, else that of the sweep.
std::vector<std::optional<Json>> choices_of(const std::optional<Json>& cluster, const Json& sweep,
                                            std::string_view key) {
  return choices(cluster && cluster->is_object() && cluster->find(key) ? *cluster : sweep, key);
}

void choose_nothing(Request& /*request*/) {}

// Expands {"each": "random:{}", "from": 1, "to": 10000} into one value for every number.
std::vector<OptionText> numbered_values(const std::string& option, const Json& json) {
  json.allow_only({"each", "from", "to"});
  const std::string text = json.at("each").text();
  const std::size_t hole = text.find("{}");
  if (hole == std::string::npos)
    json.at("each").fail(fmt::format("'{}' has no placeholder for the number", text),
                         "{} in its place, such as random:{}");
  constexpr std::int64_t most = 1'000'000'000'000;
  const std::int64_t from = json.at("from").integer(-most, most), to = json.at("to").integer(-most, most);
  if (from > to) json.fail(fmt::format("is reversed: from {} to {}", from, to), "\"from\" at most \"to\"");
  require_rows(static_cast<std::size_t>(to - from) + 1, json);
  std::vector<OptionText> values;
  for (std::int64_t number = from; number <= to; ++number)
    values.push_back({option, std::string(text).replace(hole, 2, std::to_string(number)), json.place()});
  return values;
}

// Returns the values of an option, which is given as one value, a list, or a range of numbers.
std::vector<OptionText> option_values(const std::string& option, const Json& json) {
  if (json.is_object()) return numbered_values(option, json);
  if (!json.is_array()) return {{option, json.is_string() ? json.text() : json.dump(), json.place()}};
  std::vector<OptionText> values;
  for (const Json& item : json.items())
    for (OptionText& value : option_values(option, item)) values.push_back(std::move(value));
  if (values.empty()) json.fail("is empty", "at least one value");
  return values;
}

// Returns a branch for a strategy, or for each if it is "all", with the values of its options.
std::vector<Requests::Branch> strategy_branches(const Inputs& inputs, const Json& json) {
  const Json name = json.is_object() ? json.at("name") : json;
  const bool all = name.text() == every_strategy;
  if (!all) find_strategy(name.text(), name.place(), inputs.strategies.get());
  Requests::Branch branch;
  if (json.is_object())
    for (const auto& [key, value] : json.members()) {
      if (key == "name") continue;
      branch.options.push_back(option_values(key, value));
      require_rows(branch.size(), value);
    }
  std::vector<Requests::Branch> branches;
  for (const std::string& one : all ? names_of_all_strategies() : std::vector{name.text()}) {
    branch.choose = [strategy = Given<std::string>(one, name.place())](Request& request) {
      request.strategy = strategy;
    };
    branches.push_back(branch);
  }
  return branches;
}

// Returns a branch for a plan file, which results name like the file.
Requests::Branch plan_branch(const Files& files, const Json& json) {
  const std::string file = beside(files, json.place().file, json.text());
  if (!files.is_file(file))
    json.fail(fmt::format("no file '{}'", json.text()), "a plan, as `allreplay plan` prints it");
  const std::string name = std::filesystem::path(file).stem().string();
  require_name(name, json.place());
  if (name.find_first_of(";=") != std::string::npos)
    json.fail(fmt::format("'{}' cannot be among options", name), "a file's name without ; and =");
  return {[plan = Given<std::string>(file, json.place()), name](Request& request) {
            request.plan = plan;
            request.plan_name = name;
          },
          {}};
}

using Words = Given<std::string> Request::*;

Requests::Choice choice_of(Words words, const Given<std::string>& text) {
  return [=](Request& request) { request.*words = text; };
}

// Returns the value `decided` on the command line, if any, else the file's list; paths are relative to `folder_of`.
std::vector<Requests::Choice> word_choices(const Files& files, Words words, const Given<std::string>& decided,
                                           const std::vector<std::optional<Json>>& list,
                                           const std::string& folder_of = "") {
  if (!decided.empty()) return {choice_of(words, decided)};
  std::vector<Requests::Choice> choices;
  for (const auto& one : list) {
    if (one)
      choices.push_back(
          choice_of(words, {folder_of.empty() ? one->text() : beside(files, folder_of, one->text()), one->place()}));
    else
      choices.emplace_back(choose_nothing);
  }
  return choices;
}

std::vector<Requests::Choice> worker_choices(const std::vector<std::optional<Json>>& list) {
  std::vector<Requests::Choice> choices;
  for (const auto& one : list) {
    if (one)
      choices.emplace_back([count = one->integer(1, most_workers), place = one->place()](Request& request) {
        request.workers = {count, place};
      });
    else
      choices.emplace_back(choose_nothing);
  }
  return choices;
}

// Returns a value of a flag, or one for every number: {"each": "ecmp:seed={}", "from": 1, "to": 20}.
std::vector<OptionText> change_words(const std::string& flag, const Json& json) {
  if (json.is_object()) return numbered_values(flag, json);
  const bool number = flag != "routing" && json.is_number();
  OptionText word{flag, number ? json.dump() : json.text(),
                  json.place()};  // GCC 12 mishandles a throwing text() in a list
  return {std::move(word)};
}

// Choices that act like the flag of this name, in addition to the changes by flags.
std::vector<Requests::Choice> change_choices(const std::string& flag, const std::vector<std::optional<Json>>& list) {
  std::vector<Requests::Choice> choices;
  for (const auto& one : list) {
    if (!one) choices.emplace_back(choose_nothing);
    for (const OptionText& word : one ? change_words(flag, *one) : std::vector<OptionText>())
      choices.emplace_back([change = ChangeText{word.name, word.value, word.place}](Request& request) {
        request.changes.push_back(change);
      });
  }
  return choices;
}

constexpr const char* flags_in_lists[] = {"routing", "jitter", "spread"};

// Returns the seeds of every row: "1:20", or a list of seeds and ranges; those of the command line if it has some.
std::vector<std::uint64_t> seeds_of(const Json& sweep, const SweepOverrides& instead) {
  const auto given = sweep.find("seeds");
  if (!instead.seeds.empty() || !given) return instead.seeds;
  const auto text_of = [](const Json& one) { return one.is_number() ? one.dump() : one.text(); };
  if (!given->is_array()) return parse_seeds(text_of(*given), given->place());
  std::vector<std::string> texts;
  for (const Json& one : given->items()) texts.push_back(text_of(one));
  return parse_seeds(fmt::format("{}", fmt::join(texts, ",")), given->place());
}

// Returns the key of a cluster flag: "inner_alpha" for --inner-alpha.
std::string key_of_word(std::string_view word) {
  std::string key(word);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// True if a sweep describes the cluster by the keys that correspond to cluster flags, instead of naming it.
bool is_in_words(const Json& cluster) {
  return cluster.is_object() && !cluster.find("cluster") && cluster.find("nodes");
}

// Rejects unknown keys in a cluster's entry: it has a name or a description, and perhaps its own lists.
void require_cluster_keys(const Json& cluster) {
  if (!cluster.is_object()) return;
  std::vector<std::string> words;
  for (const ClusterWordRow& row : cluster_word_rows()) words.push_back(key_of_word(row.name));
  std::vector<std::string_view> keys{"workers", "routing",    "collectives", "fidelities",
                                     "codecs",  "strategies", "plans"};
  if (is_in_words(cluster)) {
    keys.insert(keys.end(), words.begin(), words.end());
    keys.emplace_back("rails");
  } else {
    keys.emplace_back("cluster");
  }
  cluster.allow_only(keys);
}

Requests::Choice words_choice(const Json& json) {
  for (const char* key : {"gpus", "network"}) json.at(key);
  std::vector<ChangeText> words;
  const auto add = [&](std::string_view word) {
    if (const auto value = json.find(key_of_word(word)))
      words.push_back({std::string(word), value->is_string() ? value->text() : value->dump(), value->place()});
  };
  for (const ClusterWordRow& row : cluster_word_rows()) add(row.name);
  add("rails");
  if (json.at("gpus").integer(1, most_workers) > 1) json.at("inner");
  cluster_file_of(words);  // throws InputError for invalid words
  return [words = std::move(words)](Request& request) { request.cluster_words = words; };
}

Requests::Choice cluster_choice(const Files& files, const Json& json, const std::string& file) {
  require_cluster_keys(json);
  if (is_in_words(json)) return words_choice(json);
  const Json name = json.is_object() ? json.at("cluster") : json;
  const std::string path = beside(files, file, name.text());
  if (!files.locate_data("topologies", path))
    name.fail(fmt::format("no cluster '{}'", name.text()), suggest(name.text(), files.list_data("topologies")));
  return [=](Request& request) { request.cluster = path; };
}

// Returns all combinations for one cluster of the sweep; without `cluster`, for one that the request names later.
Requests::Product product_of(const Inputs& inputs, const std::optional<Json>& cluster, const Json& sweep,
                             const SweepOverrides& instead) {
  const Files& files = inputs.files;
  const std::string file = sweep.place().file;
  const auto list = [&](std::string_view key) { return choices_of(cluster, sweep, key); };
  const std::vector<std::uint64_t> seeds = seeds_of(sweep, instead);
  Requests::Product product;
  product.lists.push_back({cluster ? cluster_choice(files, *cluster, file) : choose_nothing});
  for (const char* flag : flags_in_lists)  // applied after the next list: the last one applies first
    product.lists.push_back(change_choices(flag, list(flag)));
  product.lists.push_back({[=, reuse = instead.reuse, changes = instead.changes](Request& request) {
    request.reuse = reuse;
    request.seeds = seeds;
    request.changes = changes;
  }});
  product.lists.push_back(worker_choices(list("workers")));
  product.lists.push_back(word_choices(files, &Request::collective, instead.collective, list("collectives"), file));
  product.lists.push_back(word_choices(files, &Request::fidelity, instead.fidelity, list("fidelities")));
  product.lists.push_back(word_choices(files, &Request::codec, instead.codec, list("codecs"), file));
  const auto plans = list("plans");
  for (const auto& plan : plans)
    if (plan) product.branches.push_back(plan_branch(files, *plan));
  for (const auto& strategy : list("strategies")) {
    if (!strategy && product.branches.empty()) product.branches.push_back({choose_nothing, {}});
    for (Requests::Branch& branch : strategy ? strategy_branches(inputs, *strategy) : std::vector<Requests::Branch>())
      product.branches.push_back(std::move(branch));
  }
  return product;
}

}  // namespace

void require_rows(std::size_t rows, const Json& json) {
  constexpr std::size_t most = 100'000;
  if (rows > most) json.fail(fmt::format("makes more than {} rows", most), "fewer values");
}

Sweep read_sweep(const Inputs& inputs, const std::string& name, const SweepOverrides& instead) {
  return read_sweep(inputs, Json::read(inputs.files, inputs.files.find_data("configs", name, "sweep")), instead);
}

Sweep read_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead) {
  json.allow_only({"name", "description", "reproduces", "profiles", "clusters", "workers", "routing", "jitter",
                   "spread", "seeds", "collectives", "fidelities", "codecs", "strategies", "plans", "plot"});
  for (const auto key : {"profiles", "clusters"}) json.at(key);
  if (!json.find("plans")) json.at("strategies");
  Sweep sweep;
  sweep.inputs = inputs;
  sweep.requests = read_requests(inputs, json, instead);
  sweep.seeded = !seeds_of(json, instead).empty();
  sweep.varies_sigma = json.find("jitter") || json.find("spread");
  if (const auto given = json.find("name")) sweep.name = given->text();
  if (const auto figure = json.find("reproduces")) sweep.reproduces = figure->text();
  return sweep;
}

Requests read_requests(const Inputs& inputs, const Json& json, const SweepOverrides& instead) {
  // Checks the sweep's lists even if every cluster has its own and does not use them.
  for (const auto& workers : choices(json, "workers"))
    if (workers) workers->integer(1, most_workers);
  for (const auto key : {"collectives", "fidelities", "codecs"})
    for (const auto& one : choices(json, key))
      if (one) one->text();
  for (const char* flag : flags_in_lists)
    for (const auto& one : choices(json, flag))
      if (one) change_words(flag, *one);
  for (const auto& strategy : choices(json, "strategies"))
    if (strategy) strategy_branches(inputs, *strategy);
  for (const auto& plan : choices(json, "plans"))
    if (plan) plan_branch(inputs.files, *plan);
  if (const auto plot = json.find("plot"))
    plot->members();  // must be an object; output/view/plot_options.cpp checks its keys
  std::vector<std::shared_ptr<const Requests::Product>> products;
  for (const auto& cluster : choices(json, "clusters"))
    products.push_back(std::make_shared<Requests::Product>(product_of(inputs, cluster, json, instead)));
  Requests requests;
  for (const auto& profile : choices(json, "profiles"))
    for (const auto& product : products) {
      require_rows(requests.size() + product->size(), json);
      requests.add(product, profile ? profile_choice(inputs.files, *profile, json.place().file) : choose_nothing);
    }
  return requests;
}

}  // namespace allreplay
