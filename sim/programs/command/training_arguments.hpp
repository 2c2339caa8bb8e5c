// The options for the costs of a whole training: --tokens, --samples, --price, --pue.
#pragma once

#include <string>

#include "sim/programs/command/command_line.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

struct TrainingArguments {
  std::string tokens, samples, price, pue;

  /// Throws InputError.
  Training training() const;
};
void add_training_options(Command& command, TrainingArguments& arguments);

}  // namespace allreplay
