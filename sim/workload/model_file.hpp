// The model that a trace names, or holds.
#pragma once

#include "sim/workload/model.hpp"

namespace allreplay {

/// Of the trace's key "model": an inline model, or a path, or a name found in models/. Throws InputError.
Model model_of_trace(const Files& files, const Json& trace);

}  // namespace allreplay
