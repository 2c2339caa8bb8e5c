// The frameworks that offer our strategies, and what they call the settings.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/training/simulate.hpp"

namespace allreplay {

struct Framework {
  std::string_view name;
  std::string_view strategy;
  bool maintained;  ///< today; the others are published research code
};

std::span<const Framework> frameworks();

/// Throws InputError at `place`, naming the nearest known one.
const Framework& find_framework(std::string_view name, const Place& place);

/// The framework that offers the strategy; nullptr if none does.
const Framework* framework_of(const Strategy& strategy);

/// The scenario's options as its framework's users would write them; what to do instead where there is no framework.
std::string settings_of(const Scenario& scenario);

}  // namespace allreplay
