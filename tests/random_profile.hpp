// Small random profiles for property tests, with the special cases of real ones.
#pragma once

#include "sim/base/core/random.hpp"
#include "sim/inputs/workload/profile.hpp"

/// Draws 1 to `most_layers` layers with times in whole microseconds, some zero; 0 to 3 tensors each, at least one.
inline allreplay::Profile random_profile(allreplay::Random& random, std::size_t most_layers) {
  using namespace allreplay;
  Profile profile;
  profile.name = profile.model = "random";
  profile.precision = "fp32";
  const std::size_t layers = 1 + random.below(most_layers);
  const auto time = [&] {
    return random.below(5) == 0 ? Time(0) : to_time(static_cast<double>(1 + random.below(1000)) * 1e-6);
  };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    profile.layers.push_back({"layer" + std::to_string(layer), time(), time()});
    const auto tensors = random.below(4);
    for (std::uint64_t i = 0; i < tensors || (layer + 1 == layers && profile.tensors.empty()); ++i) {
      const auto elements = static_cast<std::int64_t>(1 + random.below(random.below(2) == 0 ? 64 : 1'000'000));
      profile.tensors.push_back(
          {"tensor" + std::to_string(profile.tensors.size()), elements, 4 * elements, static_cast<LayerId>(layer)});
    }
  }
  profile.layers.back().backward += Time(1'000'000);  // never all zero
  return profile;
}
