// Shared by the readers of frameworks' configurations.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/formats/configs/config_file.hpp"
#include "sim/formats/configs/entries.hpp"

namespace allreplay {

/// Multiplies numbers of a file. Throws InputError at `place` above 10^15.
std::int64_t product(std::initializer_list<std::int64_t> factors, const SourceLocation& place);

/// The data-parallel ranks that groups divide. None if the command finds the groups, has them, or will refuse the
/// number of workers itself. Throws InputError at `place` if there are several numbers of workers.
std::optional<std::int64_t> replicas_to_group(const ConfigFacts& facts, const SourceLocation& place);

using ConfigWords = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Settings that depend on facts, all at one place of a file.
struct LaterSettings {
  SourceLocation place;
  std::vector<ConfigSetting> all = {};

  template <class Value>
  void set(std::string_view flag, const Value& value) {
    all.push_back({std::string(flag), fmt::format("{}", value), place});
  }
};

/// Translates the entries of one file, and records the settings.
class ConfigReader {
 public:
  ConfigReader(Entries& of_file, ConfigFile& made) : entries(of_file), config(made) {}

  Entries& entries;
  ConfigFile& config;

  template <class Value>
  void set(std::string_view flag, const Value& value, const SourceLocation& place) {
    config.settings.push_back({std::string(flag), fmt::format("{}", value), place});
  }
  /// The same at the place of a key.
  template <class Value>
  void set(std::string_view flag, const Value& value, std::string_view key) {
    set(flag, value, place_of(key));
  }
  /// Sets the flag to the value if the key is there, as a whole number, at least `least`.
  void count(std::string_view key, std::string_view flag, std::int64_t least = 1);
  /// Degrees of parallelism: 1 says nothing.
  void degree(std::string_view key, std::string_view flag);
  /// Sets the units of FSDP by the modules that `recommend` names: layers, or parts_of_N_bytes.
  void units(std::string_view key);
  /// Sets Muon where the strategy takes it. Adam needs no setting; others are noted.
  void optimizer(const std::string& key);
  /// Sets an option that is true or false.
  void yes_or_no(std::string_view key, std::string_view flag);
  /// Translates one of several words. Throws InputError for another.
  std::string word(std::string_view key, ConfigWords words);
  SourceLocation place_of(std::string_view key);
  /// Records keys that matter for the time but are not simulated, if they say more than no.
  void not_simulated(std::initializer_list<std::string_view> keys);
  /// Shards among the workers of a node, once it is known how many these are.
  void shard_in_nodes(const SourceLocation& place);
  void note(std::string text) { config.not_simulated.push_back(std::move(text)); }
  /// Records a setting that is simulated as another one.
  void approximate(std::string_view setting, std::string_view as) {
    config.approximated.push_back(fmt::format("{} as {}", setting, as));
  }
  /// Calls `add` once the facts are known; it sets flags at this place.
  void later(const SourceLocation& place, const std::function<void(const ConfigFacts&, LaterSettings&)>& add) {
    config.later.push_back([place, add](const ConfigFacts& facts) {
      LaterSettings settings{place};
      add(facts, settings);
      return std::move(settings.all);
    });
  }
};

/// Sets the workers that the arguments of torchrun, deepspeed or accelerate start. Throws InputError if other settings
/// of the file are for another number.
void read_launcher(ConfigReader& read);

// The frameworks' readers. They throw InputError.
void read_torchtitan(ConfigReader& read);
void read_deepspeed(ConfigReader& read, const std::string& prefix = "");
void read_megatron(ConfigReader& read);
void read_hugging_face(ConfigReader& read, const Files& files);
void read_environment(ConfigReader& read);
bool has_environment(const Entries& entries);
/// The text with names that it imports "as" others in their place: FSDP( is FullyShardedDataParallel(.
std::string with_own_names(std::string text);
void read_pytorch(ConfigReader& read, std::string_view text);
bool calls_pytorch(std::string_view text);

}  // namespace allreplay
