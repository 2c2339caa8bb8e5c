// What `tune` prints.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/tuning.hpp"

namespace allreplay {

std::string tuning_report(const Tuning& tuning, const Screen& screen = {});
std::string tuning_csv(
    const Tuning& tuning);  ///< a row per trial: the scenario, trial, the options, iteration_s, best_so_far_s
JsonValue tuning_json(const Tuning& tuning);

}  // namespace allreplay
