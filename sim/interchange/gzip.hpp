// What is written compressed; ByteSource reads it.
#pragma once

#include <string>
#include <string_view>

namespace allreplay {

/// Whether a file of this name is to be one: it ends in .gz.
bool is_gzip_name(std::string_view file);

/// A gzip file of the text; equal texts give equal bytes.
std::string gzipped(std::string_view text);

}  // namespace allreplay
