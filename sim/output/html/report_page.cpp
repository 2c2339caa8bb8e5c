#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/html/pages.hpp"
#include "sim/output/html/web_page.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/sweep_report.hpp"
#include "sim/output/view/pictures.hpp"
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
    "<button type=\"button\">Show all</button>\n</div>\n";

// Returns a picture for each group with its fastest and slowest row, and the reasons if rows could not be simulated.
std::string timelines_html(const SweepResult& result, const ChosenTimelines& chosen) {
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
                          to_svg(timeline_picture(outcomes), fmt::format("timeline-{}-", group)));
  }
  if (chosen.left_out > 0)
    html += paragraph(
        fmt::format("{} more rows, the fastest and slowest of other cases, are not drawn; --timelines {} draws "
                    "all.",
                    chosen.left_out, all.size() + chosen.left_out),
        "note");
  return html;
}

// The heading is not a <button>: browsers omit buttons from a table's head when they repeat it on paper.
std::string heading_html(const FormattedColumn& column) {
  return fmt::format("<th scope=\"col\"{}><span role=\"button\" tabindex=\"0\">{}\u00a0<small>{}</small></span></th>\n",
                     column.is_text ? "" : " class=\"number\"", escaped(column.name), escaped(column.unit));
}

std::string cell_html(const FormattedColumn& column, std::size_t row) {
  const std::string text = escaped(displayable(column.cells[row]));
  if (column.sizes.empty()) return "<td>" + text + "</td>";
  return fmt::format("<td data-value=\"{:.6g}\">{}</td>", column.sizes[row], text);
}

// The table that `sweep` prints, for the script to sort and filter, and the CSS that aligns its columns of numbers.
struct RowsHtml {
  std::string section, style;
};

RowsHtml rows_html(const JsonValue& document) {
  const std::vector<FormattedColumn> columns = table_of(result_table(), document).formatted();
  const std::size_t rows = document.at("rows").size();
  RowsHtml html;
  static const View shared{{ViewText{"All rows: {same}.", "same"}}};
  html.section = fmt::format("<p>{}</p>\n", escaped(rendered(shared, document, {.width = 100'000})));
  html.section += paragraph(std::string(trim(rendered(reference_view(), document, {.width = 100'000}))));
  std::vector<std::string> numbers;
  std::string head, body;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    head += heading_html(columns[i]);
    if (!columns[i].is_text) numbers.push_back(fmt::format("#table td:nth-child({})", i + 1));
  }
  constexpr std::size_t most_shown = 500;  // the page's script shows more on request
  for (std::size_t row = 0; row < rows; ++row) {
    body += row == most_shown ? "</tbody>\n<tbody hidden>\n<tr>" : "<tr>";
    for (const FormattedColumn& column : columns) body += cell_html(column, row);
    body += "</tr>\n";
  }
  html.style = fmt::format("{} {{ text-align: right; }}\n", fmt::join(numbers, ", "));
  html.section += fmt::format(
      "<p class=\"controls search\" hidden><label>Rows with these words <input id=\"search\" type=\"search\" "
      "autocomplete=\"off\"></label> <output id=\"count\">{} rows</output></p>\n"
      "<div id=\"table\" tabindex=\"0\" role=\"region\" aria-labelledby=\"rows-heading\"><table>\n<thead><tr>\n{}</tr>"
      "</thead>\n<tbody>\n{}</tbody>\n</table></div>\n"
      "<button type=\"button\" class=\"controls\" id=\"more\" hidden>Show all rows</button>\n",
      rows, head, body);
  return html;
}

}  // namespace

PageTitle page_title(const Files& files, const std::string& config) {
  const Json json = Json::read(files, files.find_data("configs", config, "sweep"));
  PageTitle title;
  if (const auto name = json.find("name")) title.name = name->text();
  if (const auto text = json.find("reproduces")) title.reproduces = text->text();
  if (const auto text = json.find("description")) title.description = text->text();
  if (const auto plot = json.find("plot")) read_plot_options(title.plot.emplace(), *plot);
  return title;
}

std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title) {
  const std::string file = std::filesystem::path(result.table->file).filename().string();
  const std::string name = title.name.empty() ? std::filesystem::path(file).stem().string() : title.name;
  const JsonValue document = sweep_document(result);
  const RowsHtml rows = rows_html(document);
  std::string body(report_html);
  fill(body, "file", escaped(file));
  fill(body, "timelines", timelines_html(result, chosen));
  fill(body, "no-timelines", chosen.timelines.empty() ? " hidden" : "");
  fill(body, "registry", json_text(registry_json()));
  fill(body, "rows", rows.section);
  fill(body, "charts", charts_html(result, title.plot));
  fill(body, "summary", verdict_html(document));
  fill(body, "description", paragraph(title.reproduces, "reproduces") + paragraph(title.description));
  fill(body, "heading", escaped(name));
  return web_page("report", name, body, rows.style);
}

}  // namespace allreplay
