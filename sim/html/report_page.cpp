#include "sim/html/report_page.hpp"

#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/file.hpp"
#include "sim/html/page_files.hpp"
#include "sim/html/page_looks.hpp"
#include "sim/view/trace_events.hpp"

namespace allreplay {

namespace {

using Value = nlohmann::ordered_json;

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  return html;
}

// JSON that can stand in a script element: no "<", so neither </script> nor <!-- can occur.
std::string for_script(const Value& value) {
  const std::string json = value.dump(-1, ' ', false, Value::error_handler_t::replace);
  std::string text;
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

// --- data ------------------------------------------------------------------------------------------------------------

Value cell(const std::string& column, const std::string& text) {
  if (!is_number_column(column)) return text;
  return text.empty() ? Value() : Value(parse_number(text, {"", ""}));
}

Value rows_of(const SweepResult& result) {
  Value rows = Value::array();
  for (const ResultRow& row : result.rows) {
    Value cells = Value::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) cells.push_back(cell(result.columns[i], row.cells[i]));
    cells.push_back(row.series);
    rows.push_back(std::move(cells));
  }
  return rows;
}

std::int64_t picoseconds(const Value& microseconds) { return std::llround(microseconds.get<double>() * 1e6); }

// The trace events again, by lane: [kind, start, duration, name, bytes, wait, micro-batch], in picoseconds since the
// first; and a worker's memory as [time, bytes], where the trace has it.
void add_timeline(Value& timeline, const Outcome& outcome) {
  const Value trace = Value::parse(trace_events(outcome));
  std::map<std::pair<int, int>, Value> lanes;
  std::map<int, std::string> processes;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const Value& event : trace["traceEvents"])
    if (event["ph"] == "X") begin = std::min(begin, picoseconds(event["ts"]));
  for (const Value& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "C") timeline["memory"].push_back({picoseconds(event["ts"]) - begin, event["args"]["bytes"]});
    const std::pair<int, int> thread(event["pid"], event["tid"]);
    if (phase == "M" && event["name"] == "process_name") processes[thread.first] = event["args"]["name"];
    if (phase == "M" && event["name"] == "thread_name") lanes[thread]["thread"] = event["args"]["name"];
    if (phase != "X") continue;
    const Value& details = event["args"];
    Value span{details["activity"], picoseconds(event["ts"]) - begin, picoseconds(event["dur"]),
               details.contains("what") ? details["what"] : event["name"]};
    if (details.contains("bytes")) span.push_back(details["bytes"]);
    if (details.contains("waited_us")) span.push_back(picoseconds(details["waited_us"]));
    if (details.contains("micro_batch")) {
      while (span.size() < 6) span.push_back(nullptr);
      span.push_back(details["micro_batch"]);
    }
    lanes[thread]["spans"].push_back(std::move(span));
  }
  Value list = Value::array();
  for (auto& [thread, lane] : lanes) {
    if (!lane.contains("spans")) continue;
    std::sort(lane["spans"].begin(), lane["spans"].end(),
              [](const Value& a, const Value& b) { return a[1].get<std::int64_t>() < b[1].get<std::int64_t>(); });
    list.push_back({{"process", processes[thread.first]}, {"thread", lane["thread"]}, {"spans", lane["spans"]}});
  }
  timeline["lanes"] = std::move(list);
}

Value timelines_of(const ChosenTimelines& chosen) {
  Value list = Value::array();
  for (const ChosenTimeline& one : chosen.timelines) {
    Value value{{"row", one.row}, {"fastest", one.fastest}};
    if (const auto* outcome = std::get_if<Outcome>(&one.outcome))
      add_timeline(value, *outcome);
    else
      value["problem"] = std::get<std::string>(one.outcome);
    list.push_back(std::move(value));
  }
  return list;
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
  if (summary.findings.size() == 1)
    for (const Finding& finding : summary.findings)
      html += fmt::format("<p class=\"verdict\"><strong>{}</strong> {}</p>\n", escaped(finding.about),
                          sentences_html(finding.sentences));
  return html;
}

std::string findings_html(const std::vector<Finding>& findings) {
  constexpr std::size_t shown = 6;  // the rest unfolds
  std::string html =
      "<section id=\"findings\" aria-labelledby=\"findings-heading\">\n<h2 id=\"findings-heading\">Case by "
      "case</h2>\n<ul class=\"findings\">\n";
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
  Value data = Value::parse(looks_json());
  data.update(Value{{"columns", result.columns},
                    {"rows", rows_of(result)},
                    {"plot", title.plot.empty() ? Value() : Value::parse(title.plot)},
                    {"timelines", timelines_of(chosen)},
                    {"leftOut", chosen.left_out}});
  std::string page(page_html);  // the last holes first, so that no text that was filled in is searched
  fill(page, "script", page_js);
  fill(page, "data", for_script(data));
  fill(page, "file", escaped(file));
  fill(page, "findings", summary.findings.size() == 1 ? "" : findings_html(summary.findings));
  fill(page, "summary",
       verdict_html(summary) + paragraph(summary.overview, "overview") + paragraph(summary.warning, "warning"));
  fill(page, "description", provenance_html(title, heading == name ? "" : name) + paragraph(title.description));
  fill(page, "heading", escaped(heading));
  fill(page, "style", std::string(page_css) + looks_css());
  fill(page, "title", escaped(heading));
  return page;
}

}  // namespace allreplay
