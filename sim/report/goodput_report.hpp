// What failures leave of a job's time, for people and for programs.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/jobs/goodput.hpp"

namespace allreplay {

std::string goodput_report(const Goodput& goodput, const Reliability& reliability, const Screen& screen = {});

/// What counts for nothing, for a note; "" where all does.
std::string idle_reliability(const Reliability& reliability);

JsonValue goodput_json(const Goodput& goodput);

}  // namespace allreplay
