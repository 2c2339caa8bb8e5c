// The reports of the commands that make profiles: `import` and `estimate`.
#pragma once

#include <string>

#include "sim/base/core/json_value.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

JsonValue profile_summary(const Profile& profile);

/// `input`: the samples of the batch, or "". `device` may be null. `outcome`: of the setting, if there is one, else of
/// a single GPU.
JsonValue estimate_json(const Estimate& made, const std::string& input, const Device* device, const Outcome& outcome,
                        bool has_setting);

/// Reads either.
const View& profile_view();

}  // namespace allreplay
