// `recommend --model`: which of many layouts of a transformer to run.
#pragma once

#include <string>
#include <vector>

#include "sim/command/command.hpp"

namespace allreplay {

struct LayoutArguments {
  std::string model, device, seq, budget, jobs, plot;
  std::vector<std::string> strategies;  ///< names; none: Megatron-LM's and torchtitan's
  bool json = false;
};

void recommend_layouts(Context& context, const LayoutArguments& arguments, const ScenarioArguments& scenario,
                       const WinningRule& rule);

}  // namespace allreplay
