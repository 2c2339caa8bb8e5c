#include "sim/html/report_page.hpp"

#include <filesystem>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/core/json_value.hpp"
#include "sim/html/page_files.hpp"
#include "sim/html/page_looks.hpp"
#include "sim/picture/svg.hpp"
#include "sim/view/timeline_picture.hpp"

namespace allreplay {

namespace {

// JSON that can stand in a script element: no "<", so neither </script> nor <!-- can occur.
std::string for_script(const JsonValue& value) {
  const std::string json = value.dump();
  std::string text;
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

// --- data ------------------------------------------------------------------------------------------------------------

JsonValue cell(const std::string& column, const std::string& text) {
  if (!is_number_column(column)) return text;
  return text.empty() ? JsonValue() : JsonValue(parse_number(text, {"", ""}));
}

JsonValue rows_of(const SweepResult& result) {
  JsonValue rows = JsonValue::array();
  for (const ResultRow& row : result.rows) {
    JsonValue cells = JsonValue::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) cells.push_back(cell(result.columns[i], row.cells[i]));
    cells.push_back(row.series);
    cells.push_back(row.fits);
    cells.push_back(row.relative_efficiency);
    rows.push_back(std::move(cells));
  }
  return rows;
}

// --- words -----------------------------------------------------------------------------------------------------------

std::string paragraph(const std::string& text, const std::string& type = "") {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", type.empty() ? "" : " class=\"" + type + "\"", escaped(text));
}

std::string sentences_html(const std::vector<std::string>& sentences) {
  std::string html;
  for (const std::string& sentence : sentences) html += (html.empty() ? "" : " ") + escaped(sentence);
  return html;
}

// Where there is one case, what is found of it is the verdict.
std::string verdict_html(const Summary& summary) {
  std::string html;
  for (const std::string& sentence : summary.verdict) html += paragraph(sentence, "verdict");
  if (summary.cases.size() == 1)
    for (const Summary::Case& finding : summary.cases)
      html += fmt::format("<p class=\"verdict\"><strong>{}</strong> {}</p>\n", escaped(finding.about),
                          sentences_html(finding.sentences));
  return html;
}

std::string findings_html(const std::vector<Summary::Case>& findings) {
  constexpr std::size_t shown = 6;  // the rest unfolds
  std::string html =
      "<section id=\"findings\" aria-labelledby=\"findings-heading\">\n<h2 id=\"findings-heading\">What to "
      "run, case by case</h2>\n<ul class=\"findings\">\n";
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (i == shown && findings.size() > shown + 1)
      html += fmt::format("</ul>\n<details><summary>{} more</summary>\n<ul class=\"findings\">\n", findings.size() - i);
    html += fmt::format("<li><strong>{}</strong> {}</li>\n", escaped(findings[i].about),
                        sentences_html(findings[i].sentences));
  }
  html += "</ul>\n";
  if (findings.size() > shown + 1) html += "</details>\n";
  return html + "</section>\n";
}

// A picture for each group, of its fastest and slowest row, and why others have none.
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
      html += fmt::format("<figure>\n{}</figure>\n",
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

// The sweep's name, and what it reproduces.
std::string provenance_html(const PageTitle& title, const std::string& name) {
  return paragraph(name + (name.empty() || title.reproduces.empty() ? "" : ": ") + title.reproduces, "reproduces");
}

// The template with the text in place of {{name}}.
void fill(std::string& page, std::string_view name, std::string_view text) {
  const std::string hole = fmt::format("{{{{{}}}}}", name);
  const std::size_t at = page.find(hole);
  if (at == std::string::npos) throw std::logic_error(fmt::format("the page has no {}", hole));
  page.replace(at, hole.size(), text);
}

}  // namespace

std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title) {
  const std::string file = std::filesystem::path(result.file).filename().string();
  const std::string name = title.name.empty() ? std::filesystem::path(file).stem().string() : title.name;
  const std::string heading = title.heading.empty() ? name : title.heading;
  const Summary summary = summarize(result);
  JsonValue data = JsonValue::parse(looks_json());
  data.update({{"columns", result.columns},
               {"rows", rows_of(result)},
               {"plot", title.plot.empty() ? JsonValue() : JsonValue::parse(title.plot)}});
  std::string page(page_html);  // the last holes first, so that no text that was filled in is searched
  fill(page, "script", page_js);
  fill(page, "data", for_script(data));
  fill(page, "file", escaped(file));
  fill(page, "timelines", timelines_html(result, chosen));
  fill(page, "no-timelines", chosen.timelines.empty() ? " hidden" : "");
  fill(page, "findings", summary.cases.size() == 1 ? "" : findings_html(summary.cases));
  fill(page, "summary",
       verdict_html(summary) + paragraph(summary.overview, "overview") + paragraph(summary.warning, "warning"));
  fill(page, "description", provenance_html(title, heading == name ? "" : name) + paragraph(title.description));
  fill(page, "heading", escaped(heading));
  fill(page, "style", std::string(page_css) + looks_css());
  fill(page, "title", escaped(heading));
  return page;
}

}  // namespace allreplay
