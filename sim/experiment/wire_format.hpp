// What processes of a farm ask each other: requests, and of a row that was simulated its numbers, without the plan and
// the timeline.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/sweep.hpp"
#include "sim/farm/bytes.hpp"

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome);

void pack(Packer& packer, const Request& request);
Request unpack_request(Unpacker& unpacker);

void pack(Packer& packer, const SweptRow& row);
/// `columns`: the row's.
SweptRow unpack_swept(Unpacker& unpacker, std::span<const std::string_view> columns);

/// Of the same scenario.
Outcome unpack(Unpacker& unpacker, Scenario scenario);

/// What `add` packs, or where it throws InputError the line that says what is wrong.
std::string packed_or_wrong(const std::function<void(Packer& packer)>& add);
/// That line, where there is one; else what was packed comes next.
std::optional<std::string> take_wrong(Unpacker& unpacker);

}  // namespace allreplay
