#include "sim/experiment/sweep.hpp"

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/combinations.hpp"

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

// Where a list of choices for this cluster stands: in the cluster's own entry, or in the sweep.
std::vector<std::optional<Json>> choices_of(const Json& cluster, const Json& sweep, std::string_view key) {
  return choices(cluster.is_object() && cluster.find(key) ? cluster : sweep, key);
}

constexpr std::size_t most_rows = 100'000;

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
  if (static_cast<std::size_t>(to - from) >= most_rows) fail_as_too_many(json);
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

// What a row takes of each entry of a list.

RequestSetting profile_of(const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("profile") : json;
  std::optional<double> forward_ratio;
  Place place_of_ratio;
  if (json.is_object()) {
    json.allow_only({"profile", "forward_ratio"});
    if (const auto ratio = json.find("forward_ratio")) {
      forward_ratio = ratio->number();
      place_of_ratio = ratio->place();
    }
  }
  const std::string profile = beside(file, name.text());
  if (!locate_data("traces", profile))
    name.fail(fmt::format("no profile '{}'", name.text()), suggest(name.text(), list_data("traces")));
  return [=, place = json.place()](Request& request) {
    request.profile = profile;
    request.place_of_profile = place;
    if (!forward_ratio) return;
    request.forward_ratio = forward_ratio;
    request.place_of_ratio = place_of_ratio;
  };
}

RequestSetting cluster_of(const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("cluster") : json;
  const std::string cluster = beside(file, name.text());
  if (!locate_data("topologies", cluster))
    name.fail(fmt::format("no cluster '{}'", name.text()), suggest(name.text(), list_data("topologies")));
  return [=](Request& request) { request.cluster = cluster; };
}

std::vector<RequestSetting> workers_of(const std::vector<std::optional<Json>>& list) {
  std::vector<RequestSetting> settings;
  for (const auto& json : list) {
    if (!json) return {[](Request&) {}};
    settings.emplace_back([count = json->integer(1, most_workers), place = json->place()](Request& request) {
      request.workers = count;
      request.place_of_workers = place;
    });
  }
  return settings;
}

// Names: of collectives, fidelities, codecs. One choice, the command line's, where that has decided.
std::vector<RequestSetting> words_of(const std::vector<std::optional<Json>>& list, const std::string& decided,
                                     const Place& place_of_decision, std::string Request::*name, Place Request::*place,
                                     const std::string& file = "") {
  const auto set = [&](const std::string& value, const Place& at) -> RequestSetting {
    return [=](Request& request) {
      request.*name = value;
      request.*place = at;
    };
  };
  if (!decided.empty() || !list.front()) return {set(decided, place_of_decision)};
  std::vector<RequestSetting> settings;
  for (const auto& json : list)
    settings.push_back(set(file.empty() ? json->text() : beside(file, json->text()), json->place()));
  return settings;
}

Json strategy_name(const Json& json) {
  Json name = json.is_object() ? json.at("name") : json;
  find_strategy(name.text(), name.place());
  return name;
}

// Each with every choice of its options.
std::vector<RequestSetting> strategies_of(const std::vector<std::optional<Json>>& list) {
  std::vector<RequestSetting> settings;
  for (const auto& json : list) {
    const Json name = strategy_name(*json);
    for (auto& options : option_choices(*json))
      settings.emplace_back(
          [strategy = name.text(), place = name.place(), options = std::move(options)](Request& request) {
            request.strategy = strategy;
            request.place_of_strategy = place;
            request.options = options;
          });
  }
  return settings;
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
  for (const auto& strategy : choices(json, "strategies")) strategy_name(*strategy);
  Sweep sweep;
  if (const auto given = json.find("name")) sweep.name = given->text();
  if (const auto plot = json.find("plot")) plot->members();  // an object; tools/plot.py knows its keys
  if (const auto figure = json.find("reproduces")) sweep.reproduces = figure->text();
  Request base;
  base.reuse = instead.reuse;
  base.changes = instead.changes;
  for (const auto& profile : choices(json, "profiles"))
    for (const auto& cluster : choices(json, "clusters")) {
      if (cluster->is_object())
        cluster->allow_only({"cluster", "workers", "collectives", "fidelities", "codecs", "strategies"});
      const auto list = [&](std::string_view key) { return choices_of(*cluster, json, key); };
      const auto rows = combinations(base,
                                     {{profile_of(*profile, file)},
                                      {cluster_of(*cluster, file)},
                                      workers_of(list("workers")),
                                      words_of(list("collectives"), instead.collective, instead.place_of_collective,
                                               &Request::collective, &Request::place_of_collective),
                                      words_of(list("fidelities"), instead.fidelity, instead.place_of_fidelity,
                                               &Request::fidelity, &Request::place_of_fidelity),
                                      words_of(list("codecs"), instead.codec, instead.place_of_codec, &Request::codec,
                                               &Request::place_of_codec, file),
                                      strategies_of(list("strategies"))},
                                     most_rows - sweep.requests.size());
      if (!rows) fail_as_too_many(json);
      sweep.requests.insert(sweep.requests.end(), rows->begin(), rows->end());
    }
  return sweep;
}

}  // namespace allreplay
