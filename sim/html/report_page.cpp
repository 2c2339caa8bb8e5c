#include "sim/html/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/core/json_value.hpp"
#include "sim/html/page_files.hpp"
#include "sim/html/page_looks.hpp"
#include "sim/view/trace_events.hpp"

namespace allreplay {

namespace {

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

struct Lane {
  std::string thread;
  std::vector<std::pair<std::int64_t, JsonValue>> spans;  // with their starts
};

std::int64_t picoseconds(const JsonValue& microseconds) { return std::llround(microseconds.number() * 1e6); }

// [kind, start, duration, name, bytes, wait, micro-batch].
JsonValue span_of(const JsonValue& event, std::int64_t start) {
  const JsonValue& details = event.at("args");
  JsonValue span{details.at("activity"), start, picoseconds(event.at("dur")),
                 details.contains("what") ? details.at("what") : event.at("name")};
  if (details.contains("bytes")) span.push_back(details.at("bytes"));
  if (details.contains("waited_us")) span.push_back(picoseconds(details.at("waited_us")));
  if (details.contains("micro_batch")) {
    while (span.items().size() < 6) span.push_back(nullptr);
    span.push_back(details.at("micro_batch"));
  }
  return span;
}

// [rank that sends, rank that receives, start, duration, bytes, micro-batch].
JsonValue send_of(const JsonValue& event, std::int64_t start) {
  const JsonValue& details = event.at("args");
  return {details.at("from"),
          details.at("to"),
          start,
          picoseconds(event.at("dur")),
          details.at("bytes"),
          details.contains("micro_batch") ? details.at("micro_batch") : JsonValue(0)};
}

// The trace events again, by lane, in picoseconds since the first: of ranks of a pipeline passes instead of layers, and
// sends; and the workers' memory as [time, bytes], where the trace has it.
void add_timeline(JsonValue& timeline, const Outcome& outcome) {
  const JsonValue trace = JsonValue::parse(trace_events(outcome));
  const std::vector<JsonValue>& events = trace.at("traceEvents").items();
  std::map<std::pair<double, double>, Lane> lanes;
  std::map<double, std::string> processes;
  std::map<double, JsonValue> memory;             // by process
  std::set<std::pair<double, double>> of_passes;  // threads
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const JsonValue& event : events)
    if (event.at("ph").text() == "X") {
      begin = std::min(begin, picoseconds(event.at("ts")));
      if (event.at("args").contains("chunk")) of_passes.emplace(event.at("pid").number(), event.at("tid").number());
    }
  for (const JsonValue& event : events) {
    const std::string& phase = event.at("ph").text();
    if (phase == "C")
      memory[event.at("pid").number()].push_back({picoseconds(event.at("ts")) - begin, event.at("args").at("bytes")});
    const std::pair thread(event.at("pid").number(), event.at("tid").number());
    const std::string& name = event.at("name").text();
    if (phase == "M" && name == "process_name") processes[thread.first] = event.at("args").at("name").text();
    if (phase == "M" && name == "thread_name") lanes[thread].thread = event.at("args").at("name").text();
    if (phase != "X") continue;
    const std::int64_t start = picoseconds(event.at("ts")) - begin;
    const JsonValue& details = event.at("args");
    const std::string& activity = details.at("activity").text();
    const bool in_a_pass = of_passes.contains(thread) && !details.contains("chunk") && activity != "update";
    if (activity == "send")
      timeline["sends"].push_back(send_of(event, start));
    else if (!in_a_pass)
      lanes[thread].spans.emplace_back(start, span_of(event, start));
  }
  JsonValue list = JsonValue::array();
  for (auto& [thread, lane] : lanes) {
    if (lane.spans.empty()) continue;
    std::sort(lane.spans.begin(), lane.spans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    JsonValue spans = JsonValue::array();
    for (auto& [start, span] : lane.spans) spans.push_back(std::move(span));
    list.push_back({{"process", processes[thread.first]}, {"thread", lane.thread}, {"spans", std::move(spans)}});
  }
  timeline["lanes"] = std::move(list);
  for (auto& [process, course] : memory)
    timeline["memory"].push_back({{"process", processes[process]}, {"course", std::move(course)}});
}

JsonValue timelines_of(const ChosenTimelines& chosen) {
  JsonValue list = JsonValue::array();
  for (const ChosenTimeline& one : chosen.timelines) {
    JsonValue value{{"row", one.row}, {"fastest", one.fastest}};
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
  if (summary.cases.size() == 1)
    for (const Summary::Case& finding : summary.cases)
      html += fmt::format("<p class=\"verdict\"><strong>{}</strong> {}</p>\n", escaped(finding.about),
                          sentences_html(finding.sentences));
  return html;
}

std::string findings_html(const std::vector<Summary::Case>& findings) {
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
  JsonValue data = JsonValue::parse(looks_json());
  data.update({{"columns", result.columns},
               {"rows", rows_of(result)},
               {"plot", title.plot.empty() ? JsonValue() : JsonValue::parse(title.plot)},
               {"timelines", timelines_of(chosen)},
               {"leftOut", chosen.left_out}});
  std::string page(page_html);  // the last holes first, so that no text that was filled in is searched
  fill(page, "script", page_js);
  fill(page, "data", for_script(data));
  fill(page, "file", escaped(file));
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
