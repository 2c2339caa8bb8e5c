#include "sim/formats/configs/entries.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/json.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

std::string key_below(const std::string& key, std::string_view name, const SourceLocation& place) {
  std::string whole = key.empty() ? std::string(name) : fmt::format("{}.{}", key, name);
  if (whole.size() > longest_name || !is_one_line(whole))
    throw InputError(place, "has a key that is too long or not visible",
                     fmt::format("one line of at most {} bytes, with those above it", longest_name));
  return whole;
}

void Entries::add(std::string key, std::string value, SourceLocation place) {
  key = key_below("", key, place);
  constexpr std::size_t most = 5'000;
  if (all_.size() == most)
    throw InputError({file_, ""}, fmt::format("has more than {} values", most), "a configuration");
  places_.emplace(key, all_.size());
  all_.push_back({std::move(key), std::move(value), std::move(place)});
}

void Entries::set(const std::string& key, std::string value, const SourceLocation& place) {
  if (Entry* known = at(key)) {
    known->value = std::move(value);
    known->place = place;
  } else {
    add(key, std::move(value), place);
  }
}

Entry* Entries::at(std::string_view key) {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &all_[found->second];
}

void Entries::add_missing(const Entries& other) {
  for (const Entry& one : other.all_)
    if (!at(one.key)) add(one.key, one.value, one.place);
}

const Entry* Entries::find(std::string_view key) {
  if (!asked_.contains(key)) asked_.emplace(key);
  Entry* entry = at(key);
  if (!entry) return nullptr;
  entry->is_read = true;
  if (from_shell_ && entry->value.find('$') != std::string::npos) {
    const std::string variable = fmt::format("{} {}", entry->key, entry->value);
    if (std::find(unset_.begin(), unset_.end(), variable) == unset_.end()) unset_.push_back(variable);
    return nullptr;
  }
  const bool says_nothing = entry->value == "null" || entry->value == "None" || entry->value == "auto";
  return says_nothing ? nullptr : entry;
}

bool Entries::has(std::string_view prefix) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Entry& one) { return one.key.starts_with(prefix); });
}

std::vector<const Entry*> Entries::all_of(std::string_view key) {
  asked_.emplace(key);
  std::vector<const Entry*> some;
  for (Entry& one : all_) {
    const bool is_item = one.key.size() > key.size() && one.key.starts_with(key) && one.key[key.size()] == '.';
    if (one.key != key && !is_item) continue;
    one.is_read = true;
    some.push_back(&one);
  }
  return some;
}

bool Entries::is_auto(std::string_view key) {
  const Entry* entry = at(key);
  return entry && entry->value == "auto";
}

std::optional<std::int64_t> Entries::count(std::string_view key, std::int64_t least) {
  const Entry* entry = find(key);
  if (!entry) return std::nullopt;
  constexpr std::int64_t most = 1'000'000'000'000'000;
  // JSON and YAML also write 5e8.
  if (entry->value.find_first_of(".eE") == std::string::npos)
    return parse_integer(entry->value, least, most, entry->place);
  const double value = parse_number(entry->value, entry->place);
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::floor(value))
    throw InputError(entry->place, fmt::format("'{}' is not a whole number, or out of range", entry->value),
                     fmt::format("a whole number, at least {}", least));
  return static_cast<std::int64_t>(value);
}

bool Entries::flag(std::string_view key) {
  if (Entry* own = at(key); own && from_shell_ && own->value.find('$') != std::string::npos) return own->is_read = true;
  const Entry* entry = find(key);
  if (!entry) return false;
  const std::string word = lower_case(entry->value);
  for (const std::string_view yes : {"", "true", "yes", "on", "1"})
    if (word == yes) return true;
  for (const std::string_view no : {"false", "no", "off", "0", "none"})
    if (word == no) return false;
  if (from_shell_) return true;  // the word after a flag is not its value
  throw InputError(entry->place, fmt::format("'{}' is neither true nor false", entry->value), "true or false");
}

std::string Entries::text(std::string_view key) {
  const Entry* entry = find(key);
  return entry ? entry->value : "";
}

std::vector<const Entry*> Entries::unread() const {
  std::vector<const Entry*> some;
  for (const Entry& one : all_)
    if (!one.is_read) some.push_back(&one);
  return some;
}

namespace {

void add_values(Entries& entries, const Json& json, const std::string& key) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.members()) add_values(entries, value, key_below(key, name, json.place()));
  } else if (json.is_array()) {
    std::size_t i = 0;
    for (const Json& item : json.items()) add_values(entries, item, key_below(key, std::to_string(i++), json.place()));
  } else {
    entries.add(key, json.is_string() ? json.text() : json.dump(), json.place());
  }
}

}  // namespace

Entries entries_of_json(std::string_view text, const std::string& file) {
  Entries entries(file);
  add_values(entries, Json::parse(text, file), "");
  return entries;
}

}  // namespace allreplay
