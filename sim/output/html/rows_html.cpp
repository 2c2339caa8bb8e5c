#include "sim/output/html/rows_html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/picture/svg.hpp"
#include "sim/output/report/sweep_report.hpp"

namespace allreplay {

namespace {

// The heading is no <button>: browsers omit buttons where they repeat a table's head on paper.
std::string heading_html(const FormattedColumn& column) {
  return fmt::format("<th scope=\"col\"{}><span role=\"button\" tabindex=\"0\">{}\u00a0<small>{}</small></span></th>\n",
                     column.is_text ? "" : " class=\"number\"", escaped(column.name), escaped(column.unit));
}

std::string cell_html(const FormattedColumn& column, std::size_t row) {
  const std::string text = escaped(displayable(column.cells[row]));
  if (column.sizes.empty()) return "<td>" + text + "</td>";
  return fmt::format("<td data-value=\"{:.6g}\">{}</td>", column.sizes[row], text);
}

}  // namespace

RowsHtml rows_html(const JsonValue& document) {
  const std::vector<FormattedColumn> columns = table_of(sweep_table(), document).formatted();
  const std::size_t rows = document.at("rows").items().size();
  RowsHtml html;
  static const View shared{{ViewText{"All rows: {same}.", "same"}}};
  html.section = fmt::format("<p>{}</p>\n", escaped(rendered(shared, document, {.width = 100'000})));
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

}  // namespace allreplay
