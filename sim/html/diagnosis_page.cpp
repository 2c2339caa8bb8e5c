#include "sim/html/diagnosis_page.hpp"

#include <fmt/format.h>

#include "sim/html/web_page.hpp"
#include "sim/picture/svg.hpp"
#include "sim/report/diagnosis_report.hpp"
#include "sim/view/diagnosis_picture.hpp"

namespace allreplay {

std::string diagnosis_page(const Diagnosis& known, const std::string& title) {
  std::string suspects, notes;
  for (const std::string& words : suspects_in_words(known)) suspects += "<li>" + escaped(words) + "</li>\n";
  for (const std::string& words : diagnosis_notes(known)) notes += "<p>Note: " + escaped(words) + ".</p>\n";
  const std::string body = fmt::format(
      "<h1>{}</h1>\n<h2>Suspects</h2>\n<ul>\n{}</ul>\n{}<h2>A step</h2>\n<figure class=\"natural\">{}</figure>\n"
      "<h2>Workers</h2>\n<figure class=\"natural\">{}</figure>\n<h2>Numbers</h2>\n<pre>{}</pre>\n",
      escaped(displayable(title)), suspects, notes, to_svg(step_picture(known), "step-"),
      to_svg(workers_picture(known), "workers-"), escaped(diagnosis_report(known, {})));
  return web_page("diagnose", title, body);
}

}  // namespace allreplay
