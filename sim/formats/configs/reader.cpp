#include "sim/formats/configs/reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

std::int64_t product(std::initializer_list<std::int64_t> factors, const SourceLocation& place) {
  double exact = 1;  // up to 2^53
  for (const std::int64_t factor : factors) exact *= static_cast<double>(factor);
  if (exact > 1e15)
    throw InputError(place, fmt::format("{} is too large", fmt::join(factors, " x ")), "numbers of a training");
  return static_cast<std::int64_t>(exact);
}

std::optional<std::int64_t> replicas_to_group(const ConfigFacts& facts, const SourceLocation& place) {
  if (facts.finds_layout || facts.given.contains("--shard-group")) return std::nullopt;
  if (const auto workers = facts.given.find("--workers");
      workers != facts.given.end() && facts.number("--workers", 0) == 0)
    throw InputError(place, fmt::format("shards in groups that follow from the workers, which are {}", workers->second),
                     "one number of workers, or --shard-group");
  return facts.replicas();
}

void read_launcher(ConfigReader& read) {
  Entries& entries = read.entries;
  // Numbers may also be words ("gpu"), ranges of elastic jobs ("1:4") or variables that nothing sets.
  const auto number = [&](std::string_view key) -> std::optional<std::int64_t> {
    const Entry* entry = entries.find(key);
    const bool is_number =
        entry && !entry->value.empty() && entry->value.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? entries.count(key) : std::nullopt;
  };
  for (const auto& [processes, nodes] :
       {std::pair<std::string_view, std::string_view>("nproc_per_node", "nnodes"),  // torchrun: of a node
        {"num_gpus", "num_nodes"},                                                  // deepspeed: of a node
        {"num_processes", ""}}) {                                                   // accelerate: of all nodes
    if (!entries.has(processes)) continue;
    const auto each = number(processes), times = nodes.empty() || !entries.has(nodes) ? 1 : number(nodes);
    if (!each || !times) continue;
    const SourceLocation place = read.place_of(processes);
    const std::string workers = std::to_string(product({*each, *times}, place));
    for (const ConfigSetting& one : read.config.settings)
      if (one.flag == "--workers" && one.value != workers)
        throw InputError(
            place,
            fmt::format("starts {} workers, but {}: {} gives {}", workers, one.place.file, one.place.path, one.value),
            "the same number");
      else if (one.flag == "--workers")
        return;
    return read.set("--workers", workers, place);
  }
}

void ConfigReader::shard_in_nodes(const SourceLocation& place) {
  later(place, [](const ConfigFacts& facts, LaterSettings& settings) {
    if (facts.finds_layout || facts.given.contains("--shard-group")) return;
    if (facts.node == 0)
      throw InputError(settings.place, "shards in groups of unknown size: nothing says how many workers a node has",
                       "--shard-group on the command line, or --cluster of nodes");
    settings.set("--shard-group", facts.node);
  });
}

void ConfigReader::count(std::string_view key, std::string_view flag, std::int64_t least) {
  if (const auto value = entries.count(key, least)) set(flag, std::to_string(*value), place_of(key));
}

void ConfigReader::degree(std::string_view key, std::string_view flag) {
  if (const auto value = entries.count(key); value && *value > 1) set(flag, std::to_string(*value), place_of(key));
}

void ConfigReader::yes_or_no(std::string_view key, std::string_view flag) {
  if (entries.find(key)) set(flag, entries.flag(key) ? "true" : "false", place_of(key));
}

// Variants with fewer bytes of state ("adamw_8bit") differ in time and memory.
void ConfigReader::optimizer(const std::string& key) {
  const Entry* entry = entries.find(key);
  if (!entry || entry->value.empty()) return;
  const std::string name = lower_case(entry->value);
  const std::string strategy = [&] {
    for (const ConfigSetting& one : config.settings)
      if (one.flag == "--strategy") return one.value;
    return std::string();
  }();
  const bool takes_muon = strategy == "megatron" || strategy == "fsdp2" || strategy == "ddp";
  const bool is_plain_adam = name.starts_with("adam") && name.find("bit") == std::string::npos &&
                             name.find("bnb") == std::string::npos && name.find("anyprecision") == std::string::npos;
  const std::string text = fmt::format("{} {}", key, entry->value);
  if (is_plain_adam || name == "fusedadam") return;
  if (name.ends_with("muon") && takes_muon) {
    if (name != "muon") note(text + ", simulated as muon");
    return set("--optimizer", "muon", entry->place);
  }
  note(text + (name.ends_with("muon") && !strategy.empty() ? fmt::format(", which {} is not simulated with", strategy)
                                                           : std::string(", simulated as Adam")));
}

void ConfigReader::units(std::string_view key) {
  constexpr std::string_view parts = "parts_of_";
  const std::string modules = entries.text(key);
  if (modules == "layers") set("--wrap", "layer", place_of(key));
  if (modules.starts_with(parts) && modules.ends_with("_bytes"))
    set("--wrap", modules.substr(parts.size(), modules.find("_bytes") - parts.size()) + " B", place_of(key));
}

std::string ConfigReader::word(std::string_view key, ConfigWords words) {
  const Entry* entry = entries.find(key);
  if (!entry) return "";
  std::vector<std::string_view> known;
  for (const auto& [theirs, ours] : words) {
    if (entry->value == theirs) return std::string(ours);
    known.push_back(theirs);
  }
  throw InputError(entry->place, fmt::format("'{}' is not known here", entry->value),
                   fmt::format("{}", fmt::join(known, ", ")));
}

SourceLocation ConfigReader::place_of(std::string_view key) {
  const Entry* entry = entries.find(key);
  return entry ? entry->place : SourceLocation{entries.file(), std::string(key)};
}

void ConfigReader::not_simulated(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const Entry* entry = entries.find(key);
    if (!entry) continue;
    const std::string& value = entry->value;
    const bool says_no = value == "false" || value == "False" || value == "0" || value == "no" || value == "none";
    if (says_no || (value == "1" && (key.ends_with("degree") || key.ends_with("_size")))) continue;
    note(value.empty() || value == "true" || value == "True" ? std::string(key) : fmt::format("{} {}", key, value));
  }
}

std::int64_t ConfigFacts::number(std::string_view flag, std::int64_t otherwise) const {
  const auto found = given.find(flag);
  if (found == given.end() || found->second.empty()) return otherwise;
  std::int64_t value = 0;
  for (const char c : found->second) {
    if (c < '0' || c > '9' || value > 1'000'000'000'000) return otherwise;
    value = 10 * value + (c - '0');
  }
  return value;
}

std::optional<std::int64_t> ConfigFacts::replicas() const {
  std::int64_t rest = number("--workers", 0);
  for (const std::string_view flag : {"--pp", "--tp", "--cp"}) {
    const std::int64_t degree = number(flag, 1);
    if (rest == 0 || degree <= 0 || rest % degree != 0) return std::nullopt;
    rest /= degree;
  }
  return rest;
}

std::string stages_of_blocks(const std::vector<std::int64_t>& blocks_of_chunk, const ConfigFacts& facts) {
  std::vector<std::int64_t> layers;
  std::size_t block = 0;
  std::int64_t begin = 0;
  for (std::size_t chunk = 0; chunk < blocks_of_chunk.size(); ++chunk) {
    block += static_cast<std::size_t>(blocks_of_chunk[chunk]);
    const bool last = chunk + 1 == blocks_of_chunk.size();
    if (block > facts.blocks.size() || (last && block != facts.blocks.size()) ||
        (!last && block == facts.blocks.size()))
      return "";
    const std::int64_t end = last ? facts.layers : facts.blocks[block];
    layers.push_back(end - begin);
    begin = end;
  }
  return fmt::format("{}", fmt::join(layers, "/"));
}

}  // namespace allreplay
