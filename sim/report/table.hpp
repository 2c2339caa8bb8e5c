// Text tables that line up.
#pragma once

#include <string>
#include <vector>

namespace allreplay {

/// The first row is the header. Columns whose cells (below the header) all start like numbers are set to the right.
/// Widths count UTF-8 characters, not bytes.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// The same rows in Markdown.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows);

/// "12.3 %".
std::string percent(double ratio);

}  // namespace allreplay
