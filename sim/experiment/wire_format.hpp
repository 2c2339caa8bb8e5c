// What processes of a farm ask each other: requests, and of a row that was simulated its numbers, without the plan and
// the timeline.
#pragma once

#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/sweep.hpp"
#include "sim/farm/bytes.hpp"

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome);

void pack(Packer& packer, const Request& request);
Request unpack_request(Unpacker& unpacker);

void pack(Packer& packer, const SweptRow& row);
SweptRow unpack_swept(Unpacker& unpacker);

/// Of the same scenario.
Outcome unpack(Unpacker& unpacker, Scenario scenario);

}  // namespace allreplay
