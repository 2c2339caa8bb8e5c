#include "sim/experiment/sweep.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

// A list that may be left out: one empty element then, which means "the default".
std::vector<std::optional<Json>> choices(const Json& sweep, std::string_view key) {
  const auto list = sweep.find(key);
  if (!list) return {std::nullopt};
  std::vector<std::optional<Json>> all;
  for (const Json& item : list->items()) all.emplace_back(item);
  if (all.empty()) list->fail("is empty", "at least one entry, or leave the key out");
  return all;
}

void set_profile(Request& request, const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("profile") : json;
  if (json.is_object()) {
    json.allow_only({"profile", "forward_ratio"});
    if (const auto ratio = json.find("forward_ratio")) {
      request.forward_ratio = ratio->number();
      request.place_of_ratio = ratio->place();
    }
  }
  request.profile = beside(file, name.text());
  request.place_of_profile = json.place();
  if (!locate_data("traces", request.profile))
    name.fail(fmt::format("no profile '{}'", name.text()), suggest(name.text(), list_data("traces")));
}

// "inner_alpha" is --inner-alpha.
std::string key_of_word(std::string_view word) {
  std::string key(word);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

bool is_in_words(const Json& cluster) {
  return cluster.is_object() && !cluster.find("cluster") && cluster.find("nodes");
}

// What may stand in the entry of a cluster: its name, or its words, and lists of its own.
void require_cluster_keys(const Json& cluster) {
  if (!cluster.is_object()) return;
  std::vector<std::string> words;
  for (const ClusterWordRow& row : cluster_word_rows()) words.push_back(key_of_word(row.name));
  std::vector<std::string_view> keys{"workers", "collectives", "fidelities", "codecs", "strategies"};
  if (is_in_words(cluster)) {
    keys.insert(keys.end(), words.begin(), words.end());
    keys.emplace_back("rails");
  } else {
    keys.emplace_back("cluster");
  }
  cluster.allow_only(keys);
}

void set_cluster_words(Request& request, const Json& json) {
  for (const char* key : {"gpus", "network"}) json.at(key);
  const auto add = [&](std::string_view word) {
    if (const auto value = json.find(key_of_word(word)))
      request.cluster_words.push_back(
          {std::string(word), value->is_string() ? value->text() : value->dump(), value->place()});
  };
  for (const ClusterWordRow& row : cluster_word_rows()) add(row.name);
  add("rails");
  if (json.at("gpus").integer(1, most_workers) > 1) json.at("inner");
  cluster_file_of(request.cluster_words);  // complains of what is wrong
}

void set_cluster(Request& request, const Json& json, const std::string& file) {
  if (is_in_words(json)) return set_cluster_words(request, json);
  const Json name = json.is_object() ? json.at("cluster") : json;
  request.cluster = beside(file, name.text());
  if (!locate_data("topologies", request.cluster))
    name.fail(fmt::format("no cluster '{}'", name.text()), suggest(name.text(), list_data("topologies")));
}

// Where a list of choices for this cluster stands: in the cluster's own entry, or in the sweep.
std::vector<std::optional<Json>> choices_of(const Json& cluster, const Json& sweep, std::string_view key) {
  return choices(cluster.is_object() && cluster.find(key) ? cluster : sweep, key);
}

constexpr std::int64_t most_rows = 100'000;

[[noreturn]] void fail_as_too_many(const Json& json) {
  json.fail(fmt::format("makes more than {} rows", most_rows), "fewer values");
}

// {"each": "random:{}", "from": 1, "to": 10000}: the text once for every number.
std::vector<OptionText> numbered_values(const std::string& option, const Json& json) {
  json.allow_only({"each", "from", "to"});
  const std::string text = json.at("each").text();
  const std::size_t hole = text.find("{}");
  if (hole == std::string::npos)
    json.at("each").fail(fmt::format("'{}' has no place for the number", text),
                         "{} where it stands, such as random:{}");
  constexpr std::int64_t most = 1'000'000'000'000;
  const std::int64_t from = json.at("from").integer(-most, most), to = json.at("to").integer(-most, most);
  if (from > to) json.fail(fmt::format("is reversed: from {} to {}", from, to), "\"from\" at most \"to\"");
  if (to - from >= most_rows) fail_as_too_many(json);
  std::vector<OptionText> values;
  for (std::int64_t number = from; number <= to; ++number)
    values.push_back({option, std::string(text).replace(hole, 2, std::to_string(number)), json.place()});
  return values;
}

// What an option shall be: one value, the values of a list, or those of a range.
std::vector<OptionText> option_values(const std::string& option, const Json& json) {
  if (json.is_object()) return numbered_values(option, json);
  if (!json.is_array()) return {{option, json.is_string() ? json.text() : json.dump(), json.place()}};
  std::vector<OptionText> values;
  for (const Json& item : json.items())
    for (OptionText& value : option_values(option, item)) values.push_back(std::move(value));
  if (values.empty()) json.fail("is empty", "at least one value");
  return values;
}

// One choice, the file's none, where the command line has decided.
std::vector<std::optional<Json>> choices_unless(const std::string& decided, const Json& cluster, const Json& sweep,
                                                std::string_view key) {
  return decided.empty() ? choices_of(cluster, sweep, key) : std::vector<std::optional<Json>>{std::nullopt};
}

// Every combination of the values of a strategy's options, the last option fastest.
std::vector<std::vector<OptionText>> option_choices(const Json& strategy) {
  std::vector<std::vector<OptionText>> choices{{}};
  if (!strategy.is_object()) return choices;
  for (const auto& [key, value] : strategy.members()) {
    if (key == "name") continue;
    const std::vector<OptionText> values = option_values(key, value);
    if (choices.size() * values.size() > most_rows) fail_as_too_many(value);
    std::vector<std::vector<OptionText>> longer;
    for (const auto& choice : choices)
      for (const OptionText& one : values) {
        longer.push_back(choice);
        longer.back().push_back(one);
      }
    choices = std::move(longer);
  }
  return choices;
}

void set_strategy(Request& request, const Json& json) {
  const Json name = json.is_object() ? json.at("name") : json;
  request.strategy = name.text();
  request.place_of_strategy = name.place();
  find_strategy(request.strategy, request.place_of_strategy);
}

}  // namespace

Sweep read_sweep(const std::string& name, const SweepOverrides& instead) {
  return read_sweep(Json::read(find_data("configs", name, "sweep")), instead);
}

Sweep read_sweep(const Json& json, const SweepOverrides& instead) {
  const std::string file = json.place().file;
  json.allow_only({"name", "description", "reproduces", "profiles", "clusters", "workers", "collectives", "fidelities",
                   "codecs", "strategies", "plot"});
  for (const auto key : {"profiles", "clusters", "strategies"}) json.at(key);
  // Lists that no cluster uses, because each has its own, are checked, too.
  for (const auto& workers : choices(json, "workers"))
    if (workers) workers->integer(1, most_workers);
  for (const auto key : {"collectives", "fidelities", "codecs"})
    for (const auto& one : choices(json, key))
      if (one) one->text();
  for (const auto& strategy : choices(json, "strategies")) {
    Request request;
    set_strategy(request, *strategy);
  }
  Sweep sweep;
  if (const auto given = json.find("name")) sweep.name = given->text();
  if (const auto plot = json.find("plot")) plot->members();  // an object; tools/plot.py knows its keys
  if (const auto figure = json.find("reproduces")) sweep.reproduces = figure->text();
  for (const auto& profile : choices(json, "profiles"))
    for (const auto& cluster : choices(json, "clusters")) {
      require_cluster_keys(*cluster);
      for (const auto& workers : choices_of(*cluster, json, "workers"))
        for (const auto& collective : choices_unless(instead.collective, *cluster, json, "collectives"))
          for (const auto& fidelity : choices_unless(instead.fidelity, *cluster, json, "fidelities"))
            for (const auto& codec : choices_unless(instead.codec, *cluster, json, "codecs"))
              for (const auto& strategy : choices_of(*cluster, json, "strategies")) {
                Request request;
                request.collective = instead.collective;
                request.place_of_collective = instead.place_of_collective;
                request.fidelity = instead.fidelity;
                request.place_of_fidelity = instead.place_of_fidelity;
                request.codec = instead.codec;
                request.place_of_codec = instead.place_of_codec;
                request.reuse = instead.reuse;
                request.changes = instead.changes;
                set_profile(request, *profile, file);
                set_cluster(request, *cluster, file);
                if (workers) {
                  request.workers = workers->integer(1, most_workers);
                  request.place_of_workers = workers->place();
                }
                if (collective) {
                  request.collective = collective->text();
                  request.place_of_collective = collective->place();
                }
                if (fidelity) {
                  request.fidelity = fidelity->text();
                  request.place_of_fidelity = fidelity->place();
                }
                if (codec) {
                  request.codec = beside(file, codec->text());
                  request.place_of_codec = codec->place();
                }
                set_strategy(request, *strategy);
                for (auto& options : option_choices(*strategy)) {
                  if (sweep.requests.size() == most_rows) fail_as_too_many(json);
                  request.options = std::move(options);
                  sweep.requests.push_back(request);
                }
              }
    }
  return sweep;
}

}  // namespace allreplay
