// Writes a diagnosed job as a trace for ui.perfetto.dev, which `allreplay diagnose` can also read.
#pragma once

#include <string>

#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

/// Returns the replayed steps one after another in the format of the straggler analyser's traces (a process for each
/// replica, a thread for each stage); reading them again gives the same replay. The ideal step has processes of its
/// own; its events have the category `ideal`, which readers skip.
std::string diagnosis_trace(const Diagnosis& known);

}  // namespace allreplay
