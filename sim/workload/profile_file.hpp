// Reading profiles: profile files (JSON) and CSV tables. Formats: docs/formats.md.
#pragma once

#include <optional>
#include <string>

#include "sim/core/file.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// Reads a profile from `name`: a path, or a name found in traces/. A file that starts with '{' is a profile, any
/// other a CSV table with the columns layer, params, forward_us and backward_us, and where known tensors (of fp32; one
/// of all params where it is blank), update_us and group; other columns are ignored.
///
/// `forward_ratio` R sets every layer's forward time to R times its backward time; a CSV row with a blank
/// forward_us needs it. Throws InputError.
Profile read_profile(const Files& files, const std::string& name, std::optional<double> forward_ratio = std::nullopt);

/// The same of a text, as if `file` held it.
Profile parse_profile(const Files& files, const std::string& text, const std::string& file,
                      std::optional<double> forward_ratio = std::nullopt);

/// The CSV table `text` of `file`; its name, model and whether it is complete are the caller's to set and check.
/// `forward_follows`: a blank forward_us is no error, as a ratio will replace it. Throws InputError.
Profile read_table(const std::string& file, const std::string& text, bool forward_follows);

/// Throws InputError where there are more layers than can be simulated in a common machine's memory.
void require_bearable_layers(const Profile& profile, const SourceLocation& place);

}  // namespace allreplay
