// Plans as files: whoever wrote one, it is replayed as it stands. The format: docs/formats.md,
// docs/schema/plan.schema.json.
#pragma once

#include <string>

#include "sim/core/json.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/training/options.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// All that a replay needs of the plan: how its blocks travel in short, where that says it, and then in full: lanes,
/// the program, transfers and what each waits for. Tensors and layers by name.
/// `dtypes`: the types that the profile's elements were given for this plan.
std::string write_plan(const Plan& plan, const Profile& profile, const Dtypes& dtypes = {});

/// The types on the wire that the plan file states. The profile has to have them before the plan is read.
Dtypes read_plan_dtypes(const Files& files, const std::string& file);

/// A plan for this profile from a file in either form, or in both where they say the same. `strategy` is the file's
/// name where it names none. `workers`: who runs it; only a pipeline's plan asks. Throws InputError where the file is
/// none, or does not cover what the profile needs.
Plan read_plan(const Files& files, const std::string& file, const Profile& profile, std::int64_t workers = 1);

/// The same of a file's contents.
Plan read_plan(const Json& json, const Profile& profile, std::int64_t workers = 1);

}  // namespace allreplay
