// Evaluates many changes to one scenario, in isolation and combined, and ranks them by their gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/farm/farm.hpp"
#include "sim/studies/experiment/recommend.hpp"
#include "sim/studies/experiment/request.hpp"

namespace allreplay {

struct WhatIfRow {
  std::string change;              ///< "network bandwidth x2"
  std::vector<std::string> flags;  ///< arguments of `allreplay run` for the same outcome
  Outcome outcome;                 ///< without its episodes
  double gain = 0;                 ///< relative gain in samples per second over the base; 0.25 is a quarter more
  int changes = 1;                 ///< number of changes combined
  bool fits = true;                ///< into the memory limit
};

/// A network level whose speed-up gains nothing unless another level becomes faster, too.
struct HeldBack {
  std::string change;  ///< "network bandwidth x2"
  std::string limit;   ///< "inside nodes 370.8 GB/s"
  std::string other;   ///< "bandwidth inside nodes x2"
  double gain = 0;     ///< of both changes combined
};

struct WhatIf {
  WhatIfRow base;
  std::vector<WhatIfRow> rows;      ///< largest gain first; rows that do not fit last
  std::vector<WhatIfRow> together;  ///< the best two and three changes combined, if they gain more than fewer changes
  std::vector<HeldBack> held_back;
  std::optional<double> bound_s;  ///< lower bound of the iteration time
  double bound_gain = 0;
  std::int64_t trials = 0;            ///< per strategy of a framework; 0: no row has one
  std::vector<std::string> left_out;  ///< changes that are not possible, and why
};

/// Runs the request. If its strategy is "", sets and runs ddp, or fsdp2 if ddp does not fit into memory. Throws
/// InputError.
Outcome run_with_usual_strategy(Library& library, Request& request);

/// Evaluates all changes. If the request's strategy is "", the base is ddp, or fsdp2 if ddp does not fit into memory.
/// Uses the other processes of a farm (answer_questions()) if `farm` is not null. Throws InputError.
WhatIf what_if(Library& library, Request request, const RecommendRequest& how, Farm* farm = nullptr);

/// The work of the farm's processes: runs one changed scenario, or advises on one strategy.
Farm::Answer answer_questions(const Inputs& inputs, const RecommendRequest& how);

}  // namespace allreplay
