// What a device can do, from its data sheet. Files: models/devices/*.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.hpp"

namespace allreplay {

struct Device {
  std::string name;  ///< of its file
  std::string description;
  std::vector<std::string> also;       ///< what profiles call it
  std::map<std::string, double> peak;  ///< FLOP/s of dense products, by precision
  Bytes memory = 0;                    ///< that programs can have: the file's usable_memory, else its memory
  double bandwidth = 0;                ///< of its memory, bytes/s
  std::int64_t sms = 0;                ///< multiprocessors: as many tiles are computed at once
};

/// From a path, or a name found in models/devices/. Throws InputError.
Device read_device(const Files& files, const std::string& name);
Device parse_device(const Json& json, const std::string& name);

/// The shipped device of a profile: by its name, or by what profiles call it; nothing where none is known.
std::optional<Device> device_called(const Files& files, const std::string& name);

/// The precisions of it that profiles have, best first: bf16, fp16, tf32, fp32.
std::vector<std::string> precisions_of(const Device& device);

}  // namespace allreplay
