// A diagnosed job for ui.perfetto.dev, and for `allreplay diagnose` again.
#pragma once

#include <string>

#include "sim/diagnosis/diagnosis.hpp"

namespace allreplay {

/// The replayed steps one behind the other, as the straggler analyser's traces are (a process for each replica, a
/// thread for each stage): read again, they replay as they are. The ideal step stands beside them, in processes of its
/// own; its events have the category `ideal`, and are not read.
std::string diagnosis_trace(const Diagnosis& known);

}  // namespace allreplay
