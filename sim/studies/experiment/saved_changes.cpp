#include "sim/studies/experiment/saved_changes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"

namespace allreplay {

namespace {

constexpr std::string_view changes_key = "changes";

void add_changes(ChangeSet& set, const std::string& name, const Json& value) {
  const std::vector<Json> values = value.is_array() ? value.items() : std::vector{value};
  for (const Json& one : values) set.push_back({name, one.is_number() ? one.dump() : one.text(), one.place()});
}

JsonValue json_of(const ChangeSet& set) {
  JsonValue json = JsonValue::object();
  for (const ChangeText& one : set) {
    JsonValue& value = json[one.name];
    if (std::count_if(set.begin(), set.end(), [&](const ChangeText& other) { return other.name == one.name; }) > 1)
      value.push_back(one.value);
    else
      value = one.value;
  }
  return json;
}

}  // namespace

std::vector<ChangeSet> saved_changes(const Json& cluster) {
  std::vector<ChangeSet> sets;
  const auto list = cluster.find(changes_key);
  if (!list) return sets;
  std::vector<std::string_view> names;
  for (const ChangeRow& row : change_rows())
    if (row.changed != Changed::Profile) names.push_back(row.name);
  for (const Json& item : list->items()) {
    item.allow_only(names);
    ChangeSet& set = sets.emplace_back();
    for (const auto& [name, value] : item.members()) add_changes(set, name, value);
  }
  return sets;
}

std::string with_flags(const Json& cluster, const ClusterFlags& flags) {
  JsonValue file = JsonValue::parse(cluster.dump());
  if (flags.workers) file["workers"] = *flags.workers;
  if (!flags.collective.empty()) file["network"]["collective"] = flags.collective;
  if (!flags.fidelity.empty()) file["network"]["fidelity"] = flags.fidelity;
  if (!flags.changes.empty()) file[changes_key].push_back(json_of(flags.changes));
  return json_text(file, 2) + "\n";
}

}  // namespace allreplay
