#include "sim/html/report_page.hpp"

#include "tests/catch.hpp"
#include "tests/report/results.hpp"

#include "sim/core/json.hpp"
#include "sim/html/page_looks.hpp"
#include "sim/picture/series_look.hpp"

using namespace allreplay;

namespace {

std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t start = text.find(open);
  REQUIRE(start != std::string::npos);
  const std::size_t end = text.find(close, start + open.size());
  REQUIRE(end != std::string::npos);
  return text.substr(start + open.size(), end - start - open.size());
}

std::string data_of(const std::string& page) {
  return between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the page holds every cell of the CSV, as numbers where they are") {
  const SweepResult result = result_of(result_row("p", "a", 4, 5, "x=1") + result_row("p", "b", 8, 4));
  const Json data = Json::parse(data_of(report_page(result, {}, {})), "data");
  REQUIRE(data.at("rows").items().size() == 2);
  const std::vector<Json> columns = data.at("columns").items(), cells = data.at("rows").items()[0].items();
  REQUIRE(cells.size() == columns.size() + 3);
  CHECK(cells[columns.size()].text() == "a");         // the series
  CHECK(cells[columns.size() + 1].dump() == "true");  // it fits into memory
  CHECK(cells.back().number() == Approx(0.6));        // of one worker's throughput: 3 s of computing in 5 s
  for (std::size_t i = 0; i < columns.size(); ++i) {
    INFO(columns[i].text());
    if (!is_number_column(columns[i].text()))
      CHECK(cells[i].text() == result.rows[0].cells[i]);
    else if (result.rows[0].cells[i].empty())
      CHECK(cells[i].dump() == "null");
    else
      CHECK(cells[i].number() == std::stod(result.rows[0].cells[i]));
  }
}

TEST_CASE("no text of the input becomes part of the page's language") {
  const std::string evil = "</script><script>alert(1)</script><!--&\"'{{data}}";
  const SweepResult result = result_of(result_row("\"" + std::string("</script><b>&{{script}}") + "\"", "a", 4, 5));
  ChosenTimelines chosen;
  chosen.timelines.push_back({0, 0, true, evil});
  const PageTitle title{
      .name = evil, .reproduces = evil, .description = evil, .plot = R"({"labels": {"a": "<!--</script>"}})"};
  const std::string plain = report_page(result_of(result_row("p", "a", 4, 5)), {}, {});
  const std::string page = report_page(result, chosen, title);
  for (const std::string tag : {"<script", "</script", "<!--", "<b>"}) {
    INFO(tag);
    CHECK(count(page, tag) == count(plain, tag));
  }
  CHECK(page.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&amp;&quot;'{{data}}</h1>") !=
        std::string::npos);
  const Json data = Json::parse(data_of(page), "data");
  CHECK(data.at("rows").items()[0].items()[0].text() == "</script><b>&{{script}}");
  CHECK(page.find(": &lt;/script&gt;&lt;script&gt;alert(1)") != std::string::npos);  // why there is no timeline
  CHECK(data.at("plot").at("labels").at("a").text() == "<!--</script>");
}

TEST_CASE("the page is whole, needs nothing else, and is the same each time") {
  const SweepResult result = result_of(result_row("p", "a", 4, 5));
  const std::string page = report_page(result, {}, {});
  CHECK(page == report_page(result, {}, {}));
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  for (const std::string hole : {"{{style}}", "{{script}}", "{{data}}", "{{timelines}}", "{{no-timelines}}",
                                 "{{summary}}", "{{title}}", "{{heading}}", "{{file}}"})
    CHECK(page.find(hole) == std::string::npos);
  for (const std::string outside : {" src=", "@import", "url(h", "https:", "<link rel=\"stylesheet"})
    CHECK(page.find(outside) == std::string::npos);
  const std::string script = page.substr(page.rfind("<script>"));
  CHECK(script.size() < 60'000);
}

TEST_CASE("every case has a finding") {
  std::string rows;
  for (int i = 0; i < 20; ++i) rows += result_row("p" + std::to_string(i), "a", 4, 5);
  const std::string page = report_page(result_of(rows), {}, {});
  CHECK(count(page, "<li><strong>") == 20);
}

TEST_CASE("every look has a colour of its own on either page") {
  const std::string css = looks_css();
  for (std::size_t place = 0; place < different_looks; ++place)
    CHECK(count(css, "--look-" + std::to_string(place) + ": ") == 2);  // light and dark
  CHECK(count(css, "--look-") == 2 * different_looks);
}
