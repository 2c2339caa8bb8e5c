// The arguments of `estimate`, and the request that they make.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/inputs/estimate/estimate.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/calibration/known_speed.hpp"

namespace allreplay {

/// A flag with a value, and what it can be combined with.
struct EstimateFlag {
  std::string_view name;
  OptionValue value;
  const char* about;
  enum class Use : std::uint8_t {
    Any,           ///< also with --from, which rescales a profile
    Model,         ///< not with --from
    Architecture,  ///< describes a transformer instead of --model
    Experts,       ///< the same; needs --experts
  } use = Use::Model;
};

/// The flags of `estimate`, except those of the setting.
std::span<const EstimateFlag> estimate_flags();

struct EstimateArguments {
  std::map<std::string, std::string, std::less<>> texts;  ///< the values of estimate_flags()
  ScenarioArguments setting;
  std::string strategy, plan;
  bool plain = false, force = false, sequence_parallel = false;

  /// The value of a flag; "" if it is not given.
  const std::string& operator[](std::string_view flag) const;
  bool has(std::string_view flag) const { return !(*this)[flag].empty(); }

  static constexpr std::int64_t most = 1'000'000'000;
  /// The value of a flag as a number, at least 1. Throws InputError, which says what is `right`, if it is missing.
  std::int64_t number(std::string_view flag, std::string_view right) const;
  std::int64_t number_or(std::string_view flag, std::int64_t otherwise, std::int64_t limit = most) const;
};

constexpr std::int64_t most_tokens = 10'000'000;

/// Throws InputError if an option that describes a model is combined with --from, which rescales a profile.
void refuse_options_with_from(const EstimateArguments& arguments);

/// The figures that --host names; null if it is not given.
const HostFigures* host_of(const EstimateArguments& arguments);

/// The model, the device and how they compute.
EstimateRequest estimate_request(Context& context, const EstimateArguments& arguments);

/// The known speeds of one GPU, by the batch at which each was measured.
std::vector<KnownSpeed> known_speeds(const EstimateArguments& arguments, const EstimateRequest& request);

/// The setting in which that speed was measured.
Request setting_of_estimate(const EstimateArguments& arguments);

/// Changes a request to one GPU, which sends nothing, whatever the plan, even if it holds only a part of the model.
Request alone_on_a_gpu(Request request = {});

}  // namespace allreplay
