#include "sim/html/diagnosis_page.hpp"

#include <fmt/format.h>

#include "sim/picture/svg.hpp"
#include "sim/report/diagnosis_report.hpp"
#include "sim/view/diagnosis_picture.hpp"

namespace allreplay {

namespace {

constexpr auto style_sheet =
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; color: #222; }\n"
    "pre { overflow-x: auto; font-size: 13px; }\n"
    "svg { max-width: 100%; height: auto; }\n"
    "@media print { body { margin: 0; } }\n";

}  // namespace

std::string diagnosis_page(const Diagnosis& known, const std::string& title) {
  std::string suspects, notes;
  for (const std::string& words : suspects_in_words(known)) suspects += "<li>" + escaped(words) + "</li>\n";
  for (const std::string& words : diagnosis_notes(known)) notes += "<p>Note: " + escaped(words) + ".</p>\n";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>\n{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n<h2>Suspects</h2>\n<ul>\n{2}</ul>\n{3}"
      "<h2>A step</h2>\n{4}\n<h2>Workers</h2>\n{5}\n<h2>Numbers</h2>\n<pre>{6}</pre>\n</body>\n</html>\n",
      escaped(displayable(title)), style_sheet, suspects, notes, to_svg(step_picture(known), "step-"),
      to_svg(workers_picture(known), "workers-"), escaped(diagnosis_report(known, {})));
}

}  // namespace allreplay
