// What the command `codec` prints of a codec at work.
#pragma once

#include <string>

#include "sim/compression/codec_measurement.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"

namespace allreplay {

std::string codec_table(const CodecMeasurement& report, const Screen& screen = {});
JsonValue codec_json(const CodecMeasurement& report);

}  // namespace allreplay
