// What the command `calibrate` prints and writes of several logs, or of NCCL's model.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sim/calibration/level_fit.hpp"
#include "sim/core/json.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"

namespace allreplay {

/// What is made of the logs.
struct LevelOutcome {
  std::span<const Calibration> logs;  ///< workers increasing
  LevelFit fit;
  bool fitted = true;        ///< else the logs lack a level, and `fit` has the layout alone
  bool tables = false;       ///< a table by number of workers is written, not the levels
  std::string why;           ///< tables were chosen
  std::optional<Json> base;  ///< the cluster file that the fit starts from: what it says beyond what is fitted stays
};

std::string levels_text(const LevelOutcome& outcome, const Screen& screen = {});

/// One object: each log's, as of calibration_json(), and the levels. Seconds, bytes per second.
JsonValue levels_json(const LevelOutcome& outcome);

/// A cluster file. Throws InputError at `place` for tables of what is no all-reduce.
std::string levels_cluster(const LevelOutcome& outcome, const std::string& name, const SourceLocation& place);

}  // namespace allreplay
