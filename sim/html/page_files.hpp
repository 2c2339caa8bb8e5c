// The files of sim/html/page/, as the build embeds them.
#pragma once

#include <string_view>

namespace allreplay {

extern const std::string_view page_html;  ///< with {{holes}} for all else
extern const std::string_view page_css;
extern const std::string_view page_js;

}  // namespace allreplay
