#include "sim/studies/experiment/changes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

namespace {

// Returns the factor of "x4"; none for other texts.
std::optional<double> factor_of(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  if (trimmed.size() < 2 || trimmed[0] != 'x') return std::nullopt;
  const double factor = parse_number(trimmed.substr(1), place);
  if (!(factor > 0 && factor <= 1e6))
    throw InputError(place, fmt::format("'{}' is not a valid factor", text),
                     "above 0, at most x1000000, such as x2 or x0.5");
  return factor;
}

Adjustment rate_of(const ChangeText& change) {
  if (const auto factor = factor_of(change.value, change.place)) return {factor, 0};
  const double rate = parse_rate(change.value, change.place);
  if (!(rate > 0)) throw InputError(change.place, "is not above zero", "a rate above zero, such as 400 Gbit/s");
  return {std::nullopt, rate};
}

Adjustment time_of(const ChangeText& change) {
  if (trim(change.value) == "x0") return {0.0, 0};
  if (const auto factor = factor_of(change.value, change.place)) return {factor, 0};
  return {std::nullopt, parse_duration(change.value, change.place)};
}

// True if the latencies of NCCL's cost model apply.
bool runs_nccl(const Scenario& scenario) { return collective_named(scenario) == "nccl"; }

template <Level level>
void bandwidth(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  change_bandwidth(scenario.cluster.network, level, rate_of(change), change.place);
}

template <Level level>
void latency(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  change_latency(scenario.cluster.network, level, time_of(change), runs_nccl(scenario), change.place);
}

template <void (*change_to)(Network&, std::int64_t, const SourceLocation&)>
void to_count(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  change_to(scenario.cluster.network, parse_integer(change.value, 1, most_workers, change.place), change.place);
}

template <void (*change_to)(Network&, std::string_view, const SourceLocation&)>
void to_text(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  change_to(scenario.cluster.network, change.value, change.place);
}

void oversubscription(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  const double ratio = parse_number(change.value, change.place);
  if (!(ratio >= 1 && ratio <= 1e6))
    throw InputError(change.place, fmt::format("'{}' is not a valid oversubscription", change.value),
                     "a ratio of at least 1, such as 2");
  change_oversubscription(scenario.cluster.network, ratio, change.place);
}

// Scales layer times and activations in proportion; the update does not depend on samples.
void batch(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  Profile& profile = scenario.profile.own();
  if (!profile.batch_size)
    throw InputError(change.place, fmt::format("{} has no batch size", profile.name),
                     "a profile; a CSV table has none");
  const auto now = static_cast<double>(*profile.batch_size);
  constexpr std::int64_t most = 1'000'000'000;
  const auto factor = factor_of(change.value, change.place);
  const double size = factor ? *factor * now : static_cast<double>(parse_integer(change.value, 1, most, change.place));
  if (size != std::floor(size) || size < 1 || size > static_cast<double>(most))
    throw InputError(change.place, fmt::format("{} of {} samples is {}", change.value, now, size),
                     "a whole number of samples");
  const double more = size / now;
  if (more == 1) return;
  for (Layer& layer : profile.layers) {
    layer.forward = scaled(layer.forward, more);
    layer.backward = scaled(layer.backward, more);
    scale_parallel_parts(layer, more, more);
    if (layer.activation_bytes)
      layer.activation_bytes = static_cast<Bytes>(std::llround(static_cast<double>(*layer.activation_bytes) * more));
  }
  profile.source =
      fmt::format("{} at {}, {}, in proportion to the batch", profile.name, now, to_string(profile.origin));
  profile.origin = Origin::Estimated;
  profile.batch_size = static_cast<std::int64_t>(size);
}

void compute_again(Profile& profile, LayerId first, LayerId end, bool last, const SourceLocation& place) {
  const std::optional<Bytes>& read = profile.layers[first - 1].output_bytes;
  Bytes kept = 0, others = 0;  // of the unit, and of all layers after it
  for (LayerId l = first; l < profile.layers.size(); ++l)
    (l < end ? kept : others) += profile.layers[l].activation_bytes.value_or(0);
  if (kept > 0 && !read)
    throw InputError(place, fmt::format("the inputs of {} are not known", profile.layers[first].name),
                     fmt::format("\"output_bytes\" of {}", profile.layers[first - 1].name));
  if (kept > 0 && end - first > 1 && kept == profile.layers[first].activation_bytes.value_or(0))
    throw InputError(place,
                     fmt::format("{} is recomputed already: it keeps only its inputs", profile.layers[first].group),
                     "a profile without recomputation");
  for (LayerId l = first; l < end; ++l) {
    Layer& layer = profile.layers[l];
    layer.backward_weight = profile.weight_times()[l];
    layer.backward = add(layer.backward, layer.forward);
    std::vector<LayerCollective> again;
    for (const LayerCollective& one : layer.collectives)
      if (!one.backward) again.push_back({one.op, one.group, one.bytes, true});
    const auto backward = std::find_if(layer.collectives.begin(), layer.collectives.end(),
                                       [](const LayerCollective& one) { return one.backward; });
    layer.collectives.insert(backward, again.begin(), again.end());
    if (layer.activation_bytes) layer.activation_bytes = 0;
  }
  if (kept == 0) return;
  // The last unit is recomputed after the layers behind it are freed, so only the larger of the two counts.
  profile.layers[first].activation_bytes = *read + (last ? std::max<Bytes>(kept - others, 0) : 0);
}

// Scales times by the ratio of two rooflines of the profile's device.
void precision(Scenario& scenario, const ChangeText& change, const ProfileFile& file) {
  const Profile& profile = scenario.profile;
  if (!element_bytes(change.value))
    throw InputError(change.place, fmt::format("unknown precision '{}'", change.value), choices(names_of(precisions)));
  if (change.value == profile.precision) return;
  if (!profile.batch_size)
    throw InputError(change.place, fmt::format("{} has neither batch size nor device", profile.name),
                     "a profile; a CSV table has neither");
  if (!device_called(*file.files, profile.device))
    throw InputError(change.place, fmt::format("the device '{}' of {} is not known", profile.device, profile.name),
                     "a profile of `allreplay estimate --from`, which takes --from-device");
  const Model model = model_of_profile(*file.files, Json::read(*file.files, file.name));
  Profile changed = rescaled(*file.files, profile, model, {.precision = change.value}).profile;
  changed.name = profile.name;
  scenario.profile = std::move(changed);
}

// Each unit except the first and the last (embeddings, head) keeps only its inputs and recomputes itself before its
// backward pass; collectives of its forward pass are repeated.
void recompute(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  if (change.value != "full")
    throw InputError(change.place, fmt::format("a profile cannot be changed to '{}'", change.value),
                     "full; for a model: `allreplay estimate --recompute`");
  if (const std::string& rule = scenario.profile->recompute; !rule.empty())
    throw InputError(change.place, fmt::format("{} is recomputed already ({})", scenario.profile->name, rule),
                     "a profile without recomputation");
  Profile& profile = scenario.profile.own();
  std::vector<std::pair<LayerId, LayerId>> units;  // first layer, and one past the last
  const auto count = static_cast<LayerId>(profile.layers.size());
  for (LayerId first = 0, end = 0; first < count; first = end) {
    const std::string& group = profile.layers[first].group;
    while (end < count && profile.layers[end].group == group) ++end;
    units.emplace_back(first, end);
  }
  if (units.size() < 3)
    throw InputError(change.place, fmt::format("{} has no units between the first and the last", profile.name),
                     "a profile whose layers have a \"group\"");
  for (std::size_t unit = 1; unit + 1 < units.size(); ++unit)
    compute_again(profile, units[unit].first, units[unit].second, unit + 2 == units.size(), change.place);
  profile.recompute = "full";
  profile.source = fmt::format("{}, {}, whose units are recomputed", profile.name, to_string(profile.origin));
  profile.origin = Origin::Estimated;
}

// Accepts "x0.5" (scales the slowness), "none", or workers with factors: "0:1.5,3:2".
void stragglers(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  Stragglers& all = scenario.stragglers;
  if (change.value == "none") {
    all = {};
    return;
  }
  if (const auto factor = factor_of(change.value, change.place)) {
    for (Slowdown& one : all.slow) {
      one.factor = 1 + *factor * (one.factor - 1);
      if (!(one.factor > 0))
        throw InputError(change.place, fmt::format("worker {} would take no time", one.worker), "a smaller factor");
    }
    if (all.jitter && (all.jitter->sigma *= *factor) > 10)
      throw InputError(change.place, fmt::format("a relative deviation of {}", all.jitter->sigma), "a smaller factor");
    if (all.spread && (all.spread->sigma *= *factor) > 1)
      throw InputError(change.place, fmt::format("a spread of sigma {}", all.spread->sigma), "a smaller factor");
    return;
  }
  all.slow.clear();
  for (std::size_t start = 0; start <= change.value.size();) {
    const std::size_t end = std::min(change.value.find(',', start), change.value.size());
    const std::string one = change.value.substr(start, end - start);
    const std::size_t colon = one.find(':');
    if (colon == std::string::npos)
      throw InputError(change.place, fmt::format("'{}' slows no worker", one), "x0.5, none, or WORKER:FACTOR,...");
    const double slower = parse_number(one.substr(colon + 1), change.place);
    if (!(slower > 0 && slower <= 1e6))
      throw InputError(change.place, fmt::format("'{}' is not a valid slow-down", one), "above 0, such as 0:1.5");
    const std::int64_t worker = parse_integer(one.substr(0, colon), 0, scenario.workers - 1, change.place);
    for (const Slowdown& other : all.slow)
      if (other.worker == worker)
        throw InputError(change.place, fmt::format("worker {} is listed twice", worker), "each worker once");
    all.slow.push_back({worker, slower});
    start = end + 1;
  }
}

// Parses "2.4%" or "0.024", a relative deviation.
double sigma_of(const ChangeText& change) {
  std::string_view number = trim(change.value);
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  const double sigma = parse_number(trim(number), change.place) / (percent ? 100 : 1);
  if (!(sigma >= 0 && sigma <= 1))
    throw InputError(change.place, fmt::format("'{}' is not a valid {}", change.value, change.name),
                     "0 to 100%, such as 2.4%");
  return sigma;
}

void jitter(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  Jitter all = scenario.stragglers.jitter.value_or(Jitter());
  all.sigma = sigma_of(change);
  scenario.stragglers.jitter.reset();
  if (all.sigma > 0) scenario.stragglers.jitter = all;
}

void spread(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  const double sigma = sigma_of(change);
  scenario.stragglers.spread.reset();
  if (sigma > 0) scenario.stragglers.spread = Spread{.sigma = sigma};
}

void interference(Scenario& scenario, const ChangeText& change, const ProfileFile& /*file*/) {
  const double times = parse_number(change.value, change.place);
  if (!(times >= 1 && times <= 1000))
    throw InputError(change.place, fmt::format("'{}' is not a valid slow-down", change.value),
                     "1 to 1000: times as long, such as 1.19");
  scenario.cluster.interference.reset();
  if (times > 1) scenario.cluster.interference = Interference{.compute = times};
}

// Shortens a long list for a name.
std::string first_items(const std::string& list) {
  constexpr std::size_t most = 60;
  if (list.size() <= most) return list;
  const std::size_t comma = list.rfind(',', most / 2);
  return comma == std::string::npos ? list : list.substr(0, comma) + ",…";
}

constexpr ChangeRow rows[] = {
    {"bandwidth", "bandwidth of links between nodes: a rate, or a factor", Changed::Network, bandwidth<Level::Outside>,
     "RATE|xN"},
    {"latency", "latency of messages between nodes: a time, or a factor", Changed::Network, latency<Level::Outside>,
     "TIME|xN"},
    {"inner-bandwidth", "the same inside nodes", Changed::Network, bandwidth<Level::Inside>, "RATE|xN"},
    {"inner-latency", "the same inside nodes", Changed::Network, latency<Level::Inside>, "TIME|xN"},
    {"rails", "network ports of a node", Changed::Network, to_count<change_rails>},
    {"oversubscription", "of a topology: bandwidth of hosts over that of the links above them; 1: none",
     Changed::Network, oversubscription},
    {"node", "workers of a node", Changed::Network, to_count<change_node>},
    {"placement", "placement of ranks on a topology: packed, spread, or HOST,HOST,...", Changed::Network,
     to_text<change_placement>, "packed|spread|HOST,..."},
    {"routing", "routes of messages on a topology: d-mod-k, adaptive or ecmp[:flows=N,seed=N]", Changed::Network,
     to_text<change_routing>, "WAY[:flows=N,seed=N]", [] { return names_of(routings); }},
    {"protocol", "the only protocol that NCCL may choose, as its NCCL_PROTO: ll, ll128 or simple", Changed::Network,
     to_text<change_protocol>, "PROTOCOL", [] { return names_of(nccl_protocols); }},
    {"interference", "how many times as long computation takes during communication; 1: no longer", Changed::Network,
     interference, "N"},
    {"batch", "samples per worker: layer times and memory are scaled in proportion", Changed::Profile, batch},
    {"precision", "precision of the computation, by the device's roofline", Changed::Profile, precision, "PRECISION",
     [] { return names_of(precisions); }},
    {"recompute", "full: recompute units before their backward pass, keeping only their inputs", Changed::Profile,
     recompute, "RULE", [] { return std::vector<std::string>{"full"}; }},
    {"stragglers", "scale their slowness (xN), none, or WORKER:FACTOR,...", Changed::Stragglers, stragglers,
     "xN|none|WORKER:FACTOR"},
    {"jitter", "relative deviation of every task's time, at random, each its own, so that steps vary less; 0: none",
     Changed::Stragglers, jitter, "N%"},
    {"spread", "relative deviation by which workers differ permanently; 0: not at all", Changed::Stragglers, spread,
     "N%"},
};

}  // namespace

std::span<const ChangeRow> change_rows() { return rows; }

void apply_changes(Scenario& scenario, std::span<const ChangeText> changes, Changed what, const ProfileFile& file) {
  std::string applied;
  for (const ChangeRow& row : rows)
    for (const ChangeText& change : changes) {
      if (row.changed != what || change.name != row.name) continue;
      row.apply(scenario, change, file);
      const bool is_speed = change.name.ends_with("bandwidth") || change.name.ends_with("latency");
      if (is_speed && scenario.place_of_speed.file.empty()) scenario.place_of_speed = change.place;
      if (row.apply == &to_text<change_routing>) continue;  // rows and headings have the routing separately
      applied += fmt::format("{}{} {}", applied.empty() ? "" : ", ", change.name, first_items(change.value));
    }
  if (applied.empty()) return;
  std::string& name = what == Changed::Profile ? scenario.profile.own().name : scenario.cluster.name;
  name += fmt::format(" ({})", applied);
  if (what == Changed::Network) scenario.cluster.network.place.path += fmt::format(" (with {})", applied);
}

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
