#include "sim/output/html/report_page.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/html/page_files.hpp"
#include "sim/output/html/report_charts.hpp"
#include "sim/output/html/rows_html.hpp"
#include "sim/output/html/web_page.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/report/sweep_report.hpp"
#include "sim/output/view/timeline_picture.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

namespace {

std::string paragraph(const std::string& text, const std::string& type = "") {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", type.empty() ? "" : " class=\"" + type + "\"", escaped(text));
}

std::string verdict_html(const JsonValue& document) {
  const std::string text = rendered(sweep_verdict_view(), document, {.width = 100'000});
  std::string html;
  for (const std::string_view line : split(trim(text), "\n"))
    html += paragraph(std::string(line), line.starts_with("note: ") ? "warning" : "verdict");
  return html;
}

constexpr auto zoom_controls =
    "<div class=\"controls zoom\" hidden>\n"
    "<button type=\"button\" title=\"Zoom in\" aria-label=\"Zoom in\">+</button>\n"
    "<button type=\"button\" title=\"Zoom out\" aria-label=\"Zoom out\">−</button>\n"
    "<button type=\"button\">Show all</button>\n<output role=\"status\"></output>\n</div>\n";

// Returns a picture for each group with its fastest and slowest row, and the reasons if rows could not be simulated.
std::string timelines_html(const SweepResult& result, const ChosenTimelines& chosen) {
  constexpr double zoom = 256;
  const std::vector<ChosenTimeline>& all = chosen.timelines;
  std::string html;
  for (auto first = all.begin(); first != all.end();) {
    const std::size_t group = first->group;
    std::vector<Outcome> outcomes;
    for (; first != all.end() && first->group == group; ++first)
      if (const auto* outcome = std::get_if<Outcome>(&first->outcome))
        outcomes.push_back(*outcome);
      else
        html += paragraph(fmt::format("No timeline of {}, the {}: {}", result.rows[first->row].series,
                                      first->fastest ? "fastest" : "slowest", std::get<std::string>(first->outcome)),
                          "warning");
    if (!outcomes.empty())
      html += fmt::format("{}<figure class=\"wide\">\n{}</figure>\n", zoom_controls,
                          to_svg(timeline_picture(outcomes, zoom), fmt::format("timeline-{}-", group)));
  }
  if (chosen.left_out > 0)
    html += paragraph(
        fmt::format("{} more rows, the fastest and slowest of other cases, are not drawn; --timelines {} draws "
                    "all.",
                    chosen.left_out, all.size() + chosen.left_out),
        "note");
  return html;
}

// Returns the sweep's name, and the figure or table that it reproduces.
std::string provenance_html(const PageTitle& title, const std::string& name) {
  return paragraph(name + (name.empty() || title.reproduces.empty() ? "" : ": ") + title.reproduces, "reproduces");
}

}  // namespace

std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title) {
  const std::string file = std::filesystem::path(result.file).filename().string();
  const std::string name = title.name.empty() ? std::filesystem::path(file).stem().string() : title.name;
  const std::string heading = title.heading.empty() ? name : title.heading;
  const JsonValue document = sweep_document(result);
  const RowsHtml rows = rows_html(document);
  std::string body(report_html);
  fill(body, "file", escaped(file));
  fill(body, "timelines", timelines_html(result, chosen));
  fill(body, "no-timelines", chosen.timelines.empty() ? " hidden" : "");
  fill(body, "registry", registry_json().dump());
  fill(body, "rows", rows.section);
  fill(body, "charts", charts_html(result, title.plot));
  fill(body, "summary", verdict_html(document));
  fill(body, "description", provenance_html(title, heading == name ? "" : name) + paragraph(title.description));
  fill(body, "heading", escaped(heading));
  return web_page("report", heading, body, rows.style);
}

}  // namespace allreplay
