// `recommend --model`: searches layouts (degrees of parallelism, schedules, batch sizes) of a transformer.
#pragma once

#include <string>
#include <vector>

#include "sim/programs/command/command.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

struct LayoutArguments {
  std::string model, device, seq, budget, jobs, plot;
  std::string mfu, tokens_per_second;   ///< a known speed of the passes of one GPU
  std::vector<std::string> strategies;  ///< if empty, those of Megatron-LM and torchtitan
  bool json = false;
};

void recommend_layouts(Context& context, const LayoutArguments& arguments, const ScenarioArguments& scenario,
                       const WinningRule& rule, const Training& training);

}  // namespace allreplay
