#include <fmt/format.h>

#include "sim/output/html/pages.hpp"
#include "sim/output/html/web_page.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/report/diagnosis_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

std::string diagnosis_page(const Diagnosis& known, const std::string& title) {
  const std::string report = rendered(diagnosis_view(), diagnosis_json(known));
  const std::string body = fmt::format(
      "<h1>{}</h1>\n<pre>{}</pre>\n<h2>A step</h2>\n<figure class=\"natural\">{}</figure>\n"
      "<h2>Workers</h2>\n<figure class=\"natural\">{}</figure>\n",
      escaped(displayable(title)), escaped(report), to_svg(step_picture(known), "step-"),
      to_svg(workers_picture(known), "workers-"));
  return web_page("diagnose", title, body);
}

}  // namespace allreplay
