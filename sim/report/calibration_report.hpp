// What the command `calibrate` prints and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/calibration/calibration.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"

namespace allreplay {

/// The constants, the errors by decade of size, the pieces, and which serves better, for people.
std::string calibration_text(const Calibration& calibration, bool table, const Screen& screen = {});

/// One object. `a`, `alpha` and times in seconds, `b`, `beta` and `gamma` in seconds per byte, errors relative.
JsonValue calibration_json(const Calibration& calibration, bool table);

/// A cluster file: the line as `measured`, or the table; with the node's workers where they are known. Throws
/// InputError at `place` where a cluster file cannot hold it: a line that does not rise, a table of what is no
/// all-reduce.
std::string calibration_cluster(const Calibration& calibration, const std::string& name, bool table,
                                std::optional<double> line_rate, const SourceLocation& place,
                                std::optional<std::int64_t> node_workers = std::nullopt);

}  // namespace allreplay
