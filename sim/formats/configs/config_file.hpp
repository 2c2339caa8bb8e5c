// Users' own configurations of training, translated into the words of our command line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/file.hpp"

namespace allreplay {

/// A flag of the command line, with the place in the file that it follows from.
struct ConfigSetting {
  std::string flag, value;  ///< "--tp", "8"; the value of a flag without one is ""
  SourceLocation place;
  bool is_assumed = false;  ///< follows from the strategy of a file that names none: void if another file names one
};

/// Facts that a translation needs and the file may not say: from the other settings and the command line.
struct ConfigFacts {
  std::string precision;             ///< of the profile or the estimate; "" if unknown
  std::int64_t gradient_bytes = 0;   ///< of an element; 0: unknown
  std::int64_t hidden = 0;           ///< width of the model; 0: unknown
  std::vector<std::int64_t> blocks;  ///< the first layer of each block of the model; empty: unknown
  std::int64_t layers = 0;           ///< layers of its profile
  std::int64_t node = 0;             ///< workers of a node of the cluster; 0: unknown
  bool finds_layout = false;         ///< the command finds degrees and groups itself
  std::map<std::string, std::string, std::less<>> given;  ///< flags that are settled, with their values

  /// The value of a flag that is a whole number.
  std::int64_t number(std::string_view flag, std::int64_t otherwise) const;
  /// N / (pp x tp x cp) if the number of workers is known.
  std::optional<std::int64_t> replicas() const;
};

struct ConfigFile {
  std::string format;  ///< "torchtitan", "DeepSpeed", …
  std::string file;
  std::string included;  ///< another file, whose settings this one overrides; "": none
  std::vector<ConfigSetting> settings;
  /// Settings that depend on the facts; called once these are known.
  std::vector<std::function<std::vector<ConfigSetting>(const ConfigFacts&)>> later;
  std::vector<std::string> not_simulated;  ///< "float8": matters for the time, but is not simulated
  std::vector<std::string> approximated;   ///< "recompute_method block as every layer": is simulated as something else
  std::vector<std::string> unset;          ///< variables without a value: "--micro-batch-size $MBS"
  std::vector<std::string> unknown;        ///< keys that are not known here, and may matter
  std::vector<std::string> ignored;        ///< keys that do not matter for the time
};

/// Reads torchtitan's TOML, DeepSpeed's JSON, Megatron-LM's or torchtitan's arguments, a YAML or JSON file of Hugging
/// Face, or a model's folder or config.json. `given`: other configurations, one of which a script may name by
/// --job.config_file. Throws InputError.
ConfigFile read_config(const Files& files, const std::string& name, const std::vector<std::string>& given = {});

/// The model that a file of Megatron-LM's arguments describes, as the JSON of models/transformers/; none if the file is
/// JSON itself or does not exist. Throws InputError if the arguments describe the model incompletely.
std::optional<std::string> model_in_arguments(const Files& files, const std::string& file);
/// The places of that model's numbers in the arguments, by their paths in the JSON ("/heads"). REQUIRES: it has one.
std::map<std::string, SourceLocation> places_in_arguments(const Files& files, const std::string& file);

/// A setting of a framework, and the flags that follow from it, if it follows from it alone.
struct FrameworkSetting {
  std::string_view format;
  std::string key;                 ///< "zero_optimization.stage"
  std::vector<std::string> flags;  ///< "--strategy"
};

/// The settings that readers look for and whose key is `name`, in any spelling, or ends in it ("stage").
std::vector<FrameworkSetting> framework_settings(std::string_view name);

/// The names of the formats, for messages.
inline constexpr const char* config_formats =
    "torchtitan's TOML, DeepSpeed's JSON, Megatron-LM's arguments, a YAML of Hugging Face's Trainer or accelerate, a "
    "PyTorch script that calls DistributedDataParallel, FullyShardedDataParallel or fully_shard, or a model's folder "
    "with config.json";

inline constexpr std::uint64_t most_bytes_of_config = 4 << 20;  ///< logs of arguments are the longest

/// Converts the number of blocks of each chunk of a pipeline to the value of the option `stages`, which counts layers
/// of the profile: those before the first block are in the first chunk, those after the last in the last. Returns "" if
/// the facts are unknown.
std::string stages_of_blocks(const std::vector<std::int64_t>& blocks_of_chunk, const ConfigFacts& facts);

}  // namespace allreplay
