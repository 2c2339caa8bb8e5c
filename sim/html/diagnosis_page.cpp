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
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{0}</title>\n<style>\n{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n<pre>{2}</pre>\n"
      "<h2>A step</h2>\n{3}\n<h2>Workers</h2>\n{4}\n</body>\n</html>\n",
      escaped(displayable(title)), style_sheet, escaped(rendered(diagnosis_view(), diagnosis_json(known))),
      to_svg(step_picture(known), "step-"), to_svg(workers_picture(known), "workers-"));
}

}  // namespace allreplay
