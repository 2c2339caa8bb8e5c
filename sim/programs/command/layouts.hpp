// `recommend`: its arguments, and `recommend --model`, which searches layouts (degrees of parallelism, schedules, batch
// sizes) of a transformer.
#pragma once

#include <string>
#include <vector>

#include "sim/programs/command/command.hpp"

namespace allreplay {

struct RecommendArguments {
  ScenarioArguments scenario;
  WinningArguments winning;
  TrainingArguments training;
  std::vector<std::string> strategies, frameworks;
  std::string budget, seed = "1", jobs = "2", line = "0.8";
  std::string plot, engine;
  std::string mfu, tokens_per_second;  ///< with --model: a known speed of the passes of one GPU
  bool json = false;

  bool named() const { return !strategies.empty() && !selects_all(strategies); }
};

/// Without `strategies`: those of Megatron-LM and torchtitan.
void recommend_layouts(Context& context, const RecommendArguments& arguments,
                       const std::vector<std::string>& strategies);

}  // namespace allreplay
