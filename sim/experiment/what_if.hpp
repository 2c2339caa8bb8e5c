// What to change: one scenario, and beside it what each of many changes brings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/request.hpp"
#include "sim/experiment/scaling.hpp"
#include "sim/farm/farm.hpp"

namespace allreplay {

struct WhatIfRow {
  std::string change;              ///< "network bandwidth x2"
  std::vector<std::string> flags;  ///< of `allreplay run`: all that it needs for the same outcome
  Outcome outcome;                 ///< without its episodes
  double gain = 0;                 ///< in samples per second, over the scenario as it is; 0.25 is a quarter more
  int changes = 1;                 ///< made together
  bool fits = true;                ///< into the memory that there is
  /// Samples per second of a GPU, over those of the scenario as it is on the reference's workers of this row's network;
  /// none where it cannot run there.
  std::optional<double> relative_efficiency = {};
};

/// A faster level of the network that gains nothing until another level is faster, too.
struct HeldBack {
  std::string change;  ///< "network bandwidth x2"
  std::string limit;   ///< "inside nodes 370.8 GB/s"
  std::string other;   ///< "bandwidth inside nodes x2"
  double gain = 0;     ///< of both together
};

struct WhatIf {
  WhatIfRow base;
  ScalingReference reference;   ///< the base's
  std::vector<WhatIfRow> rows;  ///< the most gain first; what does not fit last
  std::vector<WhatIfRow>
      together;  ///< the two, and the three, that bring most together, where that is more than one does
  std::vector<HeldBack> held_back;
  std::optional<double> bound_s;  ///< an iteration in which communication hides as well as it can
  double bound_gain = 0;
  std::int64_t trials = 0;            ///< for each strategy of a framework; 0: none stands in a row
  std::vector<std::string> left_out;  ///< changes that are not possible here, and why
};

struct WhatIfRequest {
  std::int64_t budget = 6;  ///< trials for each strategy of a framework
  std::uint64_t seed = 1;
  int jobs = 2;
};

/// The request's strategy may be "": ddp, or fsdp2 where that does not fit into the memory. By the other processes of a
/// farm (answer_questions()) where there are any. Throws InputError.
WhatIf what_if(Library& library, Request request, const WhatIfRequest& how, Farm* farm = nullptr);

/// What these do: one changed scenario, or the advice on one strategy.
Farm::Answer answer_questions(const Inputs& inputs, const WhatIfRequest& how);

}  // namespace allreplay
