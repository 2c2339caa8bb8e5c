#include "sim/programs/command/training_arguments.hpp"

#include <fmt/format.h>

#include "sim/programs/command/command.hpp"

namespace allreplay {

Training TrainingArguments::training() const {
  Training training;
  if (!tokens.empty()) training.amount = parse_amount(tokens, "tok", argument("--tokens"));
  if (!samples.empty()) {
    training.amount = parse_amount(samples, "", argument("--samples"));
    training.in_tokens = false;
  }
  for (const auto& [text, option] : {std::pair(&price, "--price"), {&pue, "--pue"}})
    if (!text->empty() && !training.is_asked())
      throw InputError(argument(option), "needs a training", "--tokens 15T or --samples 90M in addition");
  if (!price.empty()) training.prices = parse_prices(price, argument("--price"));
  if (!pue.empty()) training.pue = parse_number(pue, argument("--pue"));
  if (!(training.pue >= 1 && training.pue <= 10))
    throw InputError(argument("--pue"), fmt::format("'{}' is not a valid PUE", pue), "1 to 10, such as 1.2");
  return training;
}

void add_training_options(Command& command, TrainingArguments& arguments) {
  constexpr const char* heading = "A whole training";
  Option& tokens = command
                       .add_option("--tokens", arguments.tokens, {"N"},
                                   "days, GPU-hours and energy of training on so many tokens, such as 15T")
                       .group(heading);
  command.add_option("--samples", arguments.samples, {"N"}, "the same in samples, such as 90M")
      .excludes(tokens)
      .group(heading);
  command
      .add_option("--price", arguments.price, {"PRICE"},
                  "dollars per GPU-hour, such as 2.5/h; CLUSTER=2.5/h,... for each cluster")
      .group(heading);
  command
      .add_option("--pue", arguments.pue, values::number,
                  "energy of the data centre over that of its GPUs at their rated power (1)")
      .group(heading);
}

}  // namespace allreplay
