// Estimates profiles: of a model on a device, or of a measured profile under other conditions.
#pragma once

#include <optional>
#include <span>

#include "sim/base/core/named.hpp"
#include "sim/inputs/estimate/roofline.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

/// The part of the forward pass that the backward pass computes again, so that it need not be kept.
enum class Recompute : std::uint8_t {
  None,
  Selective,  ///< in each block, all operators but products and attention
  Full,       ///< each block; only its input is kept
};
inline constexpr Word<Recompute> recompute_rules[] = {
    {Recompute::None, "none"}, {Recompute::Selective, "selective"}, {Recompute::Full, "full"}};

/// The host floors of some software, and their source.
struct HostFigures {
  std::string_view name;    ///< "eager"
  HostFloors floors;        ///< without recomputation, which launches the forward pass again
  std::string_view source;  ///< "" for none
};
std::span<const HostFigures> host_figures();
HostFloors floors_of(const HostFigures& figures, bool recomputes);

struct EstimateRequest {
  Computation work;
  Device device;
  std::string precision;
  std::int64_t batch = 1;
  Recompute recompute = Recompute::None;
  const HostFigures* host = nullptr;          ///< none: the host needs no time
  std::optional<Efficiency> efficiency = {};  ///< none: the device's, or the usual one
};

struct Estimate {
  Profile profile;
  std::int64_t model_parameters = 0, active_parameters = 0;  ///< of the whole model (computation.hpp)
  Efficiency efficiency{0, 0};      ///< the roofline's time / the profile's, without starts of kernels; 0: not known
  std::vector<LayerStarts> starts;  ///< by layer
  std::vector<std::string> notes;
};

/// The place of an option of `allreplay estimate`, for errors.
SourceLocation estimate_option(const std::string& name);

/// Estimates a profile at the request's efficiency, the device's, or the usual one. Throws InputError at the option
/// that is impossible.
Estimate estimate(const EstimateRequest& request);

/// True if the profile's times come from data sheets alone, without a measured speed.
bool from_data_sheets(const Profile& profile);

/// The "source" of an estimated profile; `by`: the basis of the efficiency.
std::string source_of(const Device& device, const Efficiency& efficiency, const std::string& by);

/// The new conditions of a profile. What is not given stays the same.
struct Change {
  std::optional<std::int64_t> batch, tokens;
  std::optional<Device> device;
  std::string precision;           ///< "": the same
  std::optional<Device> measured;  ///< the device of the measurement; by default found by the name in the profile
};

/// Multiplies each layer's times by the ratio of the rooflines after and before the change. `model` is the profile's.
/// Throws InputError at the option that is impossible.
Estimate rescaled(const Files& files, const Profile& profile, const Model& model, const Change& change);

}  // namespace allreplay
