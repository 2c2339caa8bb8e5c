// The report of the command `codec`.
#pragma once

#include "sim/compression/codec_measurement.hpp"
#include "sim/core/json_value.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

JsonValue codec_json(const CodecMeasurement& report);

const View& codec_view();

}  // namespace allreplay
