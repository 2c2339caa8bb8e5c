// What a process of a farm says of a row that it has simulated: numbers, without the plan and the timeline.
#pragma once

#include "sim/experiment/run.hpp"
#include "sim/farm/bytes.hpp"

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome);

/// Of the same scenario.
Outcome unpack(Unpacker& unpacker, Scenario scenario);

}  // namespace allreplay
