#include "tests/catch.hpp"
#include "tests/output/report/results.hpp"

#include "sim/output/html/pages.hpp"

using namespace allreplay;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The HTML of one chart of several.
std::string chart(const std::string& charts, std::size_t index) {
  std::size_t start = charts.find("<details");
  for (; index > 0; --index) start = charts.find("<details", start + 1);
  REQUIRE(start != std::string::npos);
  return charts.substr(start, charts.find("</details>", start) - start);
}

const std::string four_points = result_row("p", "wfbp", 4, 5) + result_row("p", "wfbp", 8, 6) +
                                result_row("p", "ddp", 4, 4) + result_row("p", "ddp", 8, 4.5);

}  // namespace

TEST_CASE("the page's table has a row for each of the CSV, with the numbers of the table on the screen") {
  const std::string page = report_page(result_of(result_row("p", "a", 4, 5) + result_row("p", "b", 8, 4)), {}, {});
  CHECK(count(page, "<tr><td>") == 2);
  for (const std::string number : {"<td>5.000</td>", "<td>4.000</td>", "<td>60.0</td>", "<td>75.0</td>"}) {
    INFO(number);
    CHECK(count(page, number) == 1);
  }
}

TEST_CASE("numbers of very different sizes have separate units, and values to sort by") {
  const std::string page =
      report_page(result_of(result_row("p", "a", 4, 3.000001) + result_row("p", "b", 8, 1e7)), {}, {});
  CHECK(page.find("<td data-value=\"1e+07\">") != std::string::npos);
  CHECK(page.find("<td data-value=\"3\">3 s</td>") != std::string::npos);
}

TEST_CASE("charts of several sizes are curves, with a point for each row and a group for each series") {
  const std::string charts = charts_html(result_of(four_points), std::nullopt);
  CHECK(count(charts, "<details") == 5);
  CHECK(count(charts, " open>") == 1);
  for (std::size_t index = 0; index < 5; ++index) {
    INFO(index);
    CHECK(count(chart(charts, index), "class=\"point\"") == 4);
    for (const std::string series : {"WFBP", "DDP"}) {
      CHECK(count(chart(charts, index), "<g data-series=\"" + series + "\">") == 1);
      CHECK(count(chart(charts, index), "<span data-series=\"" + series + "\">") == 1);
    }
  }
}

TEST_CASE("the plan's chart comes first, and gives the others its axis, panels and labels") {
  PlotOptions planned;
  planned.kinds = {PlotKind::Lines};
  planned.y = "exposed_comm_s";
  planned.labels = {{"p", "A model"}, {"exposed_comm_s", "waiting"}};
  const std::string charts = charts_html(result_of(four_points), planned);
  CHECK(count(charts, "<details") == 6);
  CHECK(chart(charts, 0).find(">waiting (s)<") != std::string::npos);
  CHECK(count(charts, "<figcaption>A model</figcaption>") == 6);
  planned.y = "no such column";
  CHECK(count(charts_html(result_of(four_points), planned), "<details") == 5);
}

TEST_CASE("clusters or series at one size are dots, and indistinguishable rows are not drawn") {
  const std::string two = row_on("k", "wfbp", 8, 5) + row_on("l", "wfbp", 8, 4);
  CHECK(count(chart(charts_html(result_of(two), std::nullopt), 0), "class=\"point\"") == 2);
  const std::string one = row_on("k", "wfbp", 8, 5) + row_on("k", "ddp", 8, 4);
  CHECK(count(chart(charts_html(result_of(one), std::nullopt), 0), "class=\"point\"") == 2);
  const std::string same = row_on("k", "wfbp", 8, 5) + row_on("k", "wfbp", 8, 4);
  CHECK(count(charts_html(result_of(same), std::nullopt), "<details") == 0);
}

TEST_CASE("no text of the input becomes part of the page's language") {
  const std::string evil = "</script><script>alert(1)</script><!--&\"'{{rows}}";
  const SweepResult result = result_of(result_row("\"" + std::string("</script><b>&{{script}}") + "\"", "a", 4, 5));
  ChosenTimelines chosen;
  chosen.timelines.push_back({0, 0, true, evil});
  PageTitle title{.name = evil, .reproduces = evil, .description = evil};
  title.plot.emplace().labels = {{"a", "<!--</script>"}};
  const std::string plain = report_page(result_of(result_row("p", "a", 4, 5)), {}, {});
  const std::string page = report_page(result, chosen, title);
  for (const std::string tag : {"<script", "</script", "<!--", "<b>"}) {
    INFO(tag);
    CHECK(count(page, tag) == count(plain, tag));
  }
  CHECK(page.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--&amp;&quot;'{{rows}}</h1>") !=
        std::string::npos);
  CHECK(page.find("&lt;/script&gt;&lt;script&gt;alert(1)") != std::string::npos);  // why there is no timeline
  CHECK(page.find("data-series=\"&lt;!--&lt;/script&gt;\"") != std::string::npos);
}

TEST_CASE("the page is self-contained, and the same each time") {
  const SweepResult result = result_of(result_row("p", "a", 4, 5));
  const std::string page = report_page(result, {}, {});
  CHECK(page == report_page(result, {}, {}));
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(page.find("{{") == std::string::npos);
  for (const std::string outside : {" src=", "@import", "url(h", "https:", "<link rel=\"stylesheet"})
    CHECK(page.find(outside) == std::string::npos);
}
