// Files: whole texts in, whole texts out, and where the shipped data stands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// The whole file. Throws InputError when it cannot be read.
std::string read_file(const std::string& file);

/// Writes the whole text, or leaves what was there: a temporary beside it is renamed over it. Throws InputError.
void write_file(const std::string& file, std::string_view text);

/// The path of `name`: as it stands when it is a file, else `name` or `name`.json in `folder` ("traces",
/// "topologies", "models", "configs") of the working directory, of $ALLREPLAY_HOME, of the installation or of the
/// source tree, in that order.
std::optional<std::string> locate_data(std::string_view folder, const std::string& name);

/// The same; throws InputError naming the nearest known name when there is none. `noun` says what was looked for.
std::string find_data(std::string_view folder, const std::string& name, std::string_view noun);

/// The names (without .json) of all that `find_data` would find in `folder`, sorted.
std::vector<std::string> list_data(std::string_view folder);

}  // namespace allreplay
