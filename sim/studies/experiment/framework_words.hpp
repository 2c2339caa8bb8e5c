// The flags by which Megatron-LM and torchtitan set a layout, and the types in which they reduce gradients.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

/// The default type in which the strategy's framework reduces gradients; none if it is the type of the parameters.
std::optional<std::string_view> reduction_type(std::string_view strategy, std::string_view precision);

struct FrameworkWords {
  std::string framework, settings;  ///< both "" if no framework can run the layout
};
/// `scenario` is the resolved layout.
FrameworkWords framework_words(const LayoutSearch& search, const ModelLayout& layout, const Scenario& scenario);

}  // namespace allreplay
