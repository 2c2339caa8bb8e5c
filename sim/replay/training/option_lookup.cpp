#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay {

namespace {

// Returns the names of the strategies, codecs and collectives whose rows name the option.
std::vector<std::string_view> named_readers(std::string_view option) {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies())
    if (reads(strategy, option)) names.push_back(strategy.name);
  for (const Codec& codec : codecs())
    if (codec.reads(option)) names.push_back(codec.name);
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.option == option || algorithm.message_option == option) names.push_back(algorithm.name);
  return names;
}

}  // namespace

const OptionRow* option_named(std::string_view name) {
  for (const OptionRow& row : option_rows())
    if (row.name == name) return &row;
  std::string other(name);  // flags have hyphens: micro-batches
  std::replace(other.begin(), other.end(), '-', '_');
  for (const OptionRow& row : option_rows())
    if (!row.other_name.empty() && row.other_name == other) return &row;
  return nullptr;
}

std::span<const std::string_view> step_options() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const OptionRow& row : option_rows())
      if (row.of_step) all.push_back(row.name);
    return all;
  }();
  return names;
}

// `best` has no planner: it starts from the plans of other strategies, which read the options.
bool reads(const Strategy& strategy, std::string_view option) {
  return !strategy.searched() &&
         std::find(strategy.options.begin(), strategy.options.end(), option) != strategy.options.end();
}

std::vector<const OptionRow*> tunable_options(const Strategy& strategy) {
  std::vector<const OptionRow*> options;
  for (const OptionRow& row : option_rows())
    if (row.tuned && reads(strategy, row.name)) options.push_back(&row);
  return options;
}

std::string readers_of(const OptionRow& option) {
  return option.reader.empty() ? fmt::format("{}", fmt::join(named_readers(option.name), ", "))
                               : std::string(option.reader);
}

// If strategies differ, lists the first one's default, then those that differ from it.
std::string default_of(const OptionRow& option) {
  if (!option.default_text.empty()) return std::string(option.default_text);
  if (!option.default_text_of) return option.get(Options());
  std::string first, text;
  for (const Strategy& strategy : strategies()) {
    const std::string own = option.default_text_of(strategy);
    if (first.empty()) first = text = own;
    if (own != first && !own.empty()) text += fmt::format("; {}: {}", strategy.name, own);
  }
  return text;
}

std::vector<std::string> words_for(const OptionRow& option, const Strategy& strategy) {
  std::vector<std::string> words = option.words;
  if (option.takes) std::erase_if(words, [&](const std::string& word) { return !option.takes(strategy, word); });
  return words;
}

std::string takers_of(const OptionRow& option, std::string_view word) {
  std::vector<std::string_view> readers, takers;
  for (const Strategy& strategy : strategies()) {
    if (!reads(strategy, option.name)) continue;
    readers.push_back(strategy.name);
    if (!option.takes || option.takes(strategy, word)) takers.push_back(strategy.name);
  }
  return takers.size() < readers.size() ? fmt::format("{}", fmt::join(takers, ", ")) : "";
}

std::string help_of(const OptionRow& option) {
  return fmt::format("{}: {} ({})", readers_of(option), option.about, default_of(option));
}

void Options::set(std::string_view name, const std::string& value, const SourceLocation& place) {
  const OptionRow* known = option_named(name);
  if (!known) hint_at_absent_name(name, place);
  const OptionRow& row = known ? *known : find_by_name(option_rows(), name, place, "unknown option '{}'");
  row.set(*this, value, place);
  places[std::string(row.name)] = place;
}

SourceLocation Options::place_of(const std::string& name) const {
  const auto found = places.find(name);
  return found == places.end() ? SourceLocation{"--option " + name, ""} : found->second;
}

std::string Options::get(std::string_view name) const {
  const OptionRow* row = option_named(name);
  return row ? row->get(*this) : "";
}

}  // namespace allreplay
