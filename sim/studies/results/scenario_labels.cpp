#include "sim/studies/results/scenario_labels.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

namespace {

// Returns "ring" and "fluid": the choice made for the network or, if it cannot have it, what was requested.
std::pair<std::string, std::string> carried_by(const Scenario& scenario) {
  try {
    const CollectiveChoice choice = collective_of(scenario);
    return {std::string(choice.algorithm->name), to_string(choice.fidelity)};
  } catch (const InputError&) {
    return {collective_named(scenario), scenario.fidelity};
  }
}

NamedValues layout_options(const Options& options) {
  NamedValues values;
  for (const std::string_view name : {"pp", "tp", "cp", "ep", "schedule", "accumulate"})
    values.emplace_back(name, options.get(name));
  if (options.parallel.chunks) values.emplace_back("chunks", std::to_string(*options.parallel.chunks));
  return values;
}

std::size_t place_of_name(std::string_view what) {
  return static_cast<std::size_t>(std::find(std::begin(named_by), std::end(named_by), what) - std::begin(named_by));
}

std::string value_in(const NamedValues& options, std::string_view name, std::string_view usual) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const auto& one) { return one.first == name; });
  return found == options.end() ? std::string(usual) : found->second;
}

}  // namespace

std::string layout_text(const NamedValues& options) {
  std::vector<std::string> words;
  for (const char* degree : {"pp", "tp", "cp", "ep"})
    if (const std::string workers = value_in(options, degree, "1"); workers != "1")
      words.push_back(fmt::format("{} {}", degree, workers));
  if (value_in(options, "pp", "1") != "1") {
    words.push_back(value_in(options, "schedule", "1f1b"));
    if (const std::string chunks = value_in(options, "chunks", ""); !chunks.empty())
      words.push_back(counted(std::stoll(chunks), "chunk"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string micro_batches_text(const NamedValues& options) { return value_in(options, "accumulate", "1"); }

Names identifying_names(const Scenario& scenario) {
  const auto [collective, fidelity] = carried_by(scenario);
  const NamedValues layout = layout_options(scenario.options);
  std::string degrees = layout_text(layout);
  if (const std::int64_t group = scenario.options.strategy.sharding.shard_group; group > 0)
    degrees += fmt::format("{}shard group {}", degrees.empty() ? "" : ", ", group);
  return {scenario.profile->name,
          std::to_string(scenario.workers),
          degrees,
          micro_batches_text(layout),
          strategy_text(scenario),
          named_with_routing(scenario.cluster),
          collective,
          fidelity,
          scenario.codec ? scenario.codec->name : "none"};
}

ScenarioLabels::ScenarioLabels(std::vector<Names> all) : all_(std::move(all)) {
  for (const Names& one : all_)
    for (std::size_t i = 0; i < one.size(); ++i) differs_[i] |= one[i] != all_.front()[i];
}

const std::string& ScenarioLabels::name(std::size_t scenario, std::string_view what) const {
  return all_[scenario][place_of_name(what)];
}

bool ScenarioLabels::differs_by(std::string_view what) const { return differs_[place_of_name(what)]; }

bool ScenarioLabels::differ_only_by_strategy() const {
  return std::none_of(std::begin(named_by), std::end(named_by),
                      [&](std::string_view what) { return what != "strategy" && differs_by(what); });
}

std::string ScenarioLabels::title() const {
  std::string text = name(0, "profile"), rest;
  if (!differs_by("cluster")) text += " on " + name(0, "cluster");
  const auto add = [&](std::string_view what, const std::string& words) {
    if (!differs_by(what) && !words.empty()) rest += (rest.empty() ? "" : ", ") + words;
  };
  add("workers", counted(std::stoll(name(0, "workers")), "worker"));
  add("collective", name(0, "collective"));
  add("fidelity", name(0, "fidelity"));
  add("codec", name(0, "codec") == "none" ? "" : name(0, "codec"));
  add("layout", name(0, "layout"));
  const std::string& batches = name(0, "micro-batches");
  const bool pipeline = name(0, "layout").starts_with("pp ");
  add("micro-batches", batches != "1" ? batches + " micro-batches" : pipeline ? "1 micro-batch" : "");
  return text + (rest.empty() ? "" : ": " + rest);
}

std::string ScenarioLabels::where(std::size_t scenario, const std::vector<std::string_view>& but) const {
  std::string text;
  const auto add = [&](std::string_view what, std::string_view before, const std::string& words) {
    if (differs_by(what) && std::find(but.begin(), but.end(), what) == but.end()) text += std::string(before) + words;
  };
  const std::string& codec = name(scenario, "codec");
  add("cluster", " on ", name(scenario, "cluster"));
  add("collective", " with ", name(scenario, "collective"));
  add("fidelity", ", ", name(scenario, "fidelity"));
  add("codec", ", ", codec == "none" ? "no codec" : codec);
  const std::string& layout = name(scenario, "layout");
  add("layout", ", ", layout.empty() ? "data parallelism alone" : layout);
  const std::string& batches = name(scenario, "micro-batches");
  add("micro-batches", ", ", batches + (batches == "1" ? " micro-batch" : " micro-batches"));
  add("workers", ", ", counted(std::stoll(name(scenario, "workers")), "worker"));
  return text;
}

std::string ScenarioLabels::label(std::size_t scenario, const std::vector<std::string_view>& but) const {
  return name(scenario, "strategy") + where(scenario, but);
}

ScenarioLabels labels_of(const std::vector<Outcome>& outcomes) {
  std::vector<Names> all;
  for (const Outcome& one : outcomes) all.push_back(identifying_names(one.scenario));
  return ScenarioLabels(std::move(all));
}

void add_names(JsonValue& row, const ScenarioLabels& labels, std::size_t place) {
  row["names"] = JsonValue::object();
  for (const std::string_view name : named_by)
    if (name == "strategy" || labels.differs_by(name)) {
      const std::string& value = labels.name(place, name);
      row["names"][name] = value.empty() ? "data parallel" : value;
    }
}

}  // namespace allreplay
