// Messages between the processes of a farm: requests, and simulated outcomes and rows without plans and timelines.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/farm/bytes.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/sweep.hpp"

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome);

void pack(Packer& packer, const Request& request);
Request unpack_request(Unpacker& unpacker);

void pack(Packer& packer, const SimulatedRow& row);
/// `columns`: the names of the row's columns, which are not sent.
SimulatedRow unpack_swept(Unpacker& unpacker, std::span<const std::string_view> columns);

/// Unpacks the outcome of this scenario, which is not sent. Its plan has only the sharding.
Outcome unpack(Unpacker& unpacker, Scenario scenario);

/// Packs a result with `add` or, if it throws InputError, the error's message.
std::string pack_or_error(const std::function<void(Packer& packer)>& add);
/// Reads what pack_or_error() wrote: the message, or none if the result follows.
std::optional<std::string> take_error(Unpacker& unpacker);

}  // namespace allreplay
