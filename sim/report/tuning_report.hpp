// What `tune` prints.
#pragma once

#include <string>

#include "sim/experiment/tuning.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

/// All trials and the best options found, with title, settings (flags of `run`), saves_share and notes.
JsonValue tuning_json(const Tuning& tuning);
const View& tuning_view();  ///< of tuning_json()

/// The trials as CSV: what the tuning is of, a column for each option, iteration_s and best_so_far_s.
std::string tuning_csv(const Tuning& tuning);

}  // namespace allreplay
