// A profile that nobody measured: of a model on a device, or of a measured profile under other conditions.
#pragma once

#include "sim/core/named.hpp"
#include "sim/estimate/roofline.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// What of the forward pass is computed again in the backward pass instead of being kept.
enum class Recompute : std::uint8_t {
  None,
  Selective,  ///< of each block what is neither a product nor attention
  Full,       ///< of each block all but what it reads
};
inline constexpr Word<Recompute> recompute_rules[] = {
    {Recompute::None, "none"}, {Recompute::Selective, "selective"}, {Recompute::Full, "full"}};

struct EstimateRequest {
  Computation work;
  Device device;
  std::string precision;
  std::int64_t batch = 1;
  Recompute recompute = Recompute::None;
};

struct Estimate {
  Profile profile;
  double efficiency = 0;  ///< the roofline's time of forward and backward over the profile's
  std::vector<std::string> notes;
};

/// The place of an option of `allreplay estimate`.
SourceLocation estimate_option(const std::string& name);

/// The part of the roofline that trainings reach: the median of the published ones, docs/estimation.md.
double usual_efficiency(const std::string& precision);

/// At the usual efficiency. Throws InputError at the option that asks for what cannot be.
Estimate estimate(const EstimateRequest& request);

/// What such a profile says of its source, `by` being what the efficiency follows from.
std::string source_of(const Device& device, double efficiency, const std::string& by);

/// What becomes of `profile`. Whatever is not given stays.
struct Change {
  std::optional<std::int64_t> batch, tokens;
  std::optional<Device> device;
  std::string precision;           ///< "": stays
  std::optional<Device> measured;  ///< on what the profile was measured; by default what its device's name says
};

/// The profile with each layer's times multiplied by the ratio of two rooflines, as the change has it and as it was.
/// `model` is the profile's. Throws InputError at the option that asks for what cannot be.
Estimate rescaled(const Files& files, const Profile& profile, const Model& model, const Change& change);

}  // namespace allreplay
