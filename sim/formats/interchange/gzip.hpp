// Writes gzip files; ByteSource reads them.
#pragma once

#include <string>
#include <string_view>

namespace allreplay {

/// True if the name ends in .gz.
bool is_gzip_name(std::string_view file);

/// Returns the contents of a gzip file of the text; the bytes depend on the text only.
std::string gzipped(std::string_view text);

}  // namespace allreplay
