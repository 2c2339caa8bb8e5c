// Reading profiles: profile files (JSON) and CSV tables. Formats: docs/formats.md.
#pragma once

#include <optional>
#include <string>

#include "sim/base/core/file.hpp"
#include "sim/inputs/workload/model.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

/// Reads a profile from `name`: a path, or a name found in traces/. A file that starts with '{' is a profile, any other
/// a CSV table with the columns layer, params, forward_us and backward_us, and optionally tensors (shapes, in fp32; if
/// blank, one tensor of all params), update_us and group; other columns are ignored. `forward_ratio` sets every layer's
/// forward time to that multiple of its backward time, so that forward_us may be blank. Throws InputError.
Profile read_profile(const Files& files, const std::string& name, std::optional<double> forward_ratio = std::nullopt);

/// Parses `text` as if it were the content of `file`.
Profile parse_profile(const Files& files, const std::string& text, const std::string& file,
                      std::optional<double> forward_ratio = std::nullopt);

/// Parses the CSV table `text` of `file`; the caller sets the profile's name and model, and checks that it is complete.
/// `forward_follows`: a blank forward_us is allowed, since a ratio will replace it. Throws InputError.
Profile read_table(const std::string& file, const std::string& text, bool forward_follows);

/// Reads the profile's key "model": an inline model, or a path, or a name found in models/. Throws InputError.
Model model_of_profile(const Files& files, const Json& profile);

/// Throws InputError if there are more layers than a simulation can hold in the memory of a common machine.
void require_bearable_layers(const Profile& profile, const SourceLocation& place);

}  // namespace allreplay
