// The files of sim/output/html/page/, which the build embeds into the program.
#pragma once

#include <string_view>

namespace allreplay {

extern const std::string_view page_html;    ///< the frame of a page, with {{names}} to be filled in
extern const std::string_view report_html;  ///< the body of a report, with {{names}} as well
extern const std::string_view page_css;
extern const std::string_view page_js;

}  // namespace allreplay
