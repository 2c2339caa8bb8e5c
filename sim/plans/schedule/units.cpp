#include "sim/plans/schedule/units.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace allreplay {

bool is_numbered(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] >= '0' && name[i] <= '9' && (i + 1 == name.size() || name[i + 1] == '.')) return true;
  return false;
}

bool has_groups(const Profile& profile) {
  return std::any_of(profile.layers.begin(), profile.layers.end(), [](const Layer& one) { return !one.group.empty(); });
}

std::vector<bool> begins_of_groups(const Profile& profile) {
  std::vector<bool> begins(profile.layers.size(), false);
  std::set<std::string> seen;
  std::string current;
  for (std::size_t layer = 0; layer < begins.size(); ++layer) {
    const std::string& group = profile.layers[layer].group;
    if (group.empty() || group == current) continue;
    if (!seen.insert(group).second)
      throw InputError({profile.name, fmt::format("/layers/{}/group", layer)},
                       fmt::format("the layers of group '{}' are not consecutive: '{}' comes after '{}'", group,
                                   profile.layers[layer].name, current),
                       "consecutive layers for each name, or wrap=layer");
    current = group;
    begins[layer] = seen.size() > 1;  // layers before the first group belong to its unit
  }
  return begins;
}

namespace {

// Returns by layer whether it begins a unit, before units without tensors are joined.
std::vector<bool> by_size(const Profile& profile, const std::vector<Bytes>& bytes, Bytes size) {
  std::vector<bool> begins(profile.layers.size(), false);
  double sum = 0;
  for (std::size_t layer = 0; layer < begins.size(); ++layer) {
    if (sum >= static_cast<double>(size) && bytes[layer] > 0) {
      begins[layer] = true;
      sum = 0;
    }
    sum += static_cast<double>(bytes[layer]) * profile.parameter_share();
  }
  return begins;
}

}  // namespace

std::vector<Unit> units_of(const Profile& profile, const Wrap& wrap) { return units_of_part(profile, profile, wrap); }

std::vector<Unit> units_of_part(const Profile& part, const Profile& model, const Wrap& wrap) {
  std::vector<Bytes> bytes(part.layers.size(), 0);
  for (const Tensor& tensor : part.tensors) bytes[tensor.layer] += tensor.bytes;
  std::vector<bool> begins(part.layers.size(), true);
  if (wrap.by == Wrap::By::Given) {
    begins.assign(begins.size(), false);
    for (const std::uint32_t layer : wrap.begins) begins[layer] = true;
  } else if (wrap.by == Wrap::By::Size)
    begins = by_size(part, bytes, wrap.size);
  else if (has_groups(model) && wrap.by != Wrap::By::Layer)
    begins = begins_of_groups(part);
  else if (wrap.by == Wrap::By::Group)
    throw InputError(wrap.place, fmt::format("the layers of '{}' have no groups", model.name),
                     "wrap=layer, wrap=SIZE, or \"group\" in the profile's layers");
  std::vector<bool> tensors(begins.size());  // by layer: true if it or a later layer of its unit has tensors
  for (std::size_t layer = begins.size(); layer-- > 0;)
    tensors[layer] = bytes[layer] > 0 || (layer + 1 < begins.size() && !begins[layer + 1] && tensors[layer + 1]);
  std::vector<Unit> units;
  bool full = false;  // true if the last unit has tensors
  for (LayerId layer = 0; layer < begins.size(); ++layer) {
    // A unit without tensors joins the previous one, or the first.
    if (units.empty() || (begins[layer] && full && tensors[layer])) {
      units.push_back({layer, layer});
      full = false;
    }
    units.back().last = layer;
    full = full || bytes[layer] > 0;
  }
  return units;
}

namespace {

const std::string& name_of(const Unit& unit, const Profile& profile) {
  LayerId layer = unit.first;
  while (layer < unit.last && profile.layers[layer].group.empty()) ++layer;
  return profile.layers[layer].group;
}

double parameter_bytes_of(const Unit& unit, const Profile& profile) {
  Bytes bytes = 0;
  for (const Tensor& tensor : profile.tensors)
    if (tensor.layer >= unit.first && tensor.layer <= unit.last) bytes += tensor.bytes;
  return static_cast<double>(bytes) * profile.parameter_share();
}

}  // namespace

std::vector<bool> beyond_blocks(const Profile& profile, const std::vector<Unit>& units, const Wrap& wrap) {
  std::vector<bool> beyond(units.size(), false);
  if (!has_groups(profile) || (wrap.by != Wrap::By::Default && wrap.by != Wrap::By::Group)) return beyond;
  for (std::size_t unit = 0; unit < units.size(); ++unit) beyond[unit] = !is_numbered(name_of(units[unit], profile));
  if (std::find(beyond.begin(), beyond.end(), false) == beyond.end()) beyond.assign(units.size(), false);
  return beyond;
}

std::vector<bool> root_layers(const Profile& profile, const std::vector<Unit>& units, const Wrap& wrap) {
  if (units.size() == 1) return {true};
  std::vector<bool> root = beyond_blocks(profile, units, wrap);
  if (wrap.by == Wrap::By::Size)
    root.back() = parameter_bytes_of(units.back(), profile) < static_cast<double>(wrap.size);
  return root;
}

}  // namespace allreplay
