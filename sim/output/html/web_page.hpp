// The frame of all pages: one HTML 5 file that works offline, with the style sheet and the script of
// sim/output/html/page/.
#pragma once

#include <string>
#include <string_view>

namespace allreplay {

// The files of sim/output/html/page/, which the build embeds into the program.
extern const std::string_view page_html;    ///< the frame of a page, with {{names}} to be filled in
extern const std::string_view report_html;  ///< the body of a report, with {{names}} as well
extern const std::string_view page_css;
extern const std::string_view page_js;

/// Returns a page. `command` is the one that made it, `title` plain text, `body` the HTML of its header, main part and
/// footer, `style` CSS in addition to the shared one.
std::string web_page(std::string_view command, const std::string& title, std::string_view body,
                     std::string_view style = "");

/// Replaces the first {{name}} in a template. Fill in names from the last to the first, so that inserted text is never
/// searched. Throws std::logic_error if there is no such name.
void fill(std::string& page, std::string_view name, std::string_view text);

}  // namespace allreplay
