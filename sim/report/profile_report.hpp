// The reports of the commands that make profiles: `import` and `estimate`.
#pragma once

#include <string>

#include "sim/core/json_value.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/experiment/run.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

JsonValue profile_summary(const Profile& profile);

/// `input`: the samples of the batch, or "". `device` may be null. `outcome`: of the setting, if there is one, else of
/// a single GPU.
JsonValue estimate_json(const Estimate& made, const std::string& input, const Device* device, const Outcome& outcome,
                        bool has_setting);

/// Reads either.
const View& profile_view();

}  // namespace allreplay
