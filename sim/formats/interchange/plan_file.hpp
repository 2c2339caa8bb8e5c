// Reads and writes plan files, also those written by hand or by other programs. The format is described in
// docs/formats.md and docs/schema/plan.schema.json.
#pragma once

#include <string>

#include "sim/base/core/json.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay {

/// Writes the short form (queueing rules) if the plan has one, then the full form (lanes, programs, transfers, gates).
/// Tensors and layers appear by name. `dtypes`: the element types set for this plan.
std::string write_plan(const Plan& plan, const Profile& profile, const Dtypes& dtypes = {});

/// Reads only the element types of a plan file. They must be applied to the profile before the plan is read.
Dtypes read_plan_dtypes(const Files& files, const std::string& file);

/// Reads a plan in the short form, the full form, or both if they agree. The strategy defaults to the file's name. Only
/// pipeline plans need `workers`. Throws InputError if the file is not a plan, or does not cover the profile's needs.
Plan read_plan(const Files& files, const std::string& file, const Profile& profile, std::int64_t workers = 1);

Plan read_plan(const Json& json, const Profile& profile, std::int64_t workers = 1);

}  // namespace allreplay
