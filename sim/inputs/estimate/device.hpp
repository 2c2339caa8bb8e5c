// A device's peak rates, bandwidth and memory, from its data sheet. Files: models/devices/*.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"

namespace allreplay {

/// The fractions of a device's roofline that trainings reach, as fitted to published ones.
struct Efficiency {
  double products = 1;   ///< of all kernels but attention
  double attention = 1;  ///< of attention, whose roofline is half the peak
  std::string source = {};
};
/// As `allreplay estimate --efficiency` reads it: "0.59,0.37".
std::string in_words(const Efficiency& efficiency);

struct Device {
  std::string name;  ///< its file's name without extension
  std::string description;
  std::vector<std::string> also;         ///< its names in profiles
  std::map<std::string, double> peak;    ///< FLOP/s of dense products, by precision
  Bytes memory = 0;                      ///< available to programs: the file's usable_memory, else its memory
  double bandwidth = 0;                  ///< of its memory, bytes/s
  double copy = 0;                       ///< rate of FSDP's copies into and out of flat buffers, bytes/s
  std::int64_t sms = 0;                  ///< multiprocessors: each computes one tile at a time
  std::optional<Efficiency> efficiency;  ///< on tensor cores; none: the usual ones
  std::optional<double> watts;           ///< rated power; none: unknown
};

/// Reads a device from a path, or by a name found in models/devices/. Throws InputError.
Device read_device(const Files& files, const std::string& name);
Device parse_device(const Json& json, const std::string& name);

/// Finds a shipped device by its name or by one of its names in profiles; nothing if there is none.
std::optional<Device> device_called(const Files& files, const std::string& name);

/// The device's precisions in which all of a model can be computed, best first: bf16, fp16, tf32, fp32.
std::vector<std::string> precisions_of(const Device& device);

/// The precision of an estimate that names none: bf16 if the device has it, else fp32.
std::string usual_precision(const Device& device);

/// True for fp8 and fp4, in which only the products of blocks are computed.
bool is_narrow(const std::string& precision);

}  // namespace allreplay
