// The renderer of views: holes, conditions, tables and lists.
#include "sim/output/report/view.hpp"

#include "tests/catch.hpp"

#include "sim/output/report/notes.hpp"

using namespace allreplay;

namespace {

const JsonValue document{
    {"name", "wfbp"},
    {"iteration_s", 0.25},
    {"update_s", 0.0},
    {"mtbf_s", 16060.0},
    {"bisection_GBps", 2.5},
    {"codec", nullptr},
    {"memory", {{"parameters", 1e6}, {"gradients", 0.0}, {"in_reduction", 2e6}}},
    {"flags", JsonValue::parse(R"(["--profile", "my file"])")},
    {"rows", JsonValue::parse(R"([{"name": "a", "gain": 0.5, "fits": true, "wins": true},
                                  {"name": "b", "gain": -0.25, "fits": false}])")},
    {"none", JsonValue::array()},
    {"sizes", {{"from", 65536}}},
    {"constants",
     JsonValue::parse(R"([{"value": 2e-3, "unit": "s"}, {"value": 2e-9, "unit": "s/B"}, {"value": 2.0}])")},
};

std::string shown(const View& view) { return rendered(view, document, {.width = 60}); }
std::string sentence(const std::string& text) { return shown({{ViewText{text}}}); }

}  // namespace

TEST_CASE("a hole is written in the unit that its key names") {
  CHECK(sentence("{name} takes {iteration_s}") == "wfbp takes 250 ms\n");
  CHECK(sentence("{iteration_s:2}") == "0.25\n");
  CHECK(sentence("{mtbf_s:long}, {bisection_GBps}") == "4.461 h, 20 Gbit/s\n");
  CHECK(sentence("{memory/parameters:size}") == "1 MB\n");
  CHECK(sentence("{memory:sizes}") == "parameters 1 MB, in reduction 2 MB\n");
  CHECK(sentence("run {flags:words}") == "run --profile 'my file'\n");
  CHECK(sentence("{memory/parameters:exact}") == "1 MB\n");
  CHECK(sentence("{sizes/from:exact}") == "64 KiB\n");
  CHECK(shown({{ViewList{"constants", "{value:unit}"}}}) == "2 ms\n2 ns/B\n2\n");
  CHECK(sentence("{rows/0/gain} and {rows/1/gain}") == "+50.0 % and -25.0 %\n");
}

TEST_CASE("a text without one of its values is left out, or the part in brackets") {
  CHECK(sentence("compressed by {codec}").empty());
  CHECK(sentence("{name}[ with {codec}]") == "wfbp\n");
  CHECK(sentence("{name}[ in {iteration_s}]") == "wfbp in 250 ms\n");
  CHECK(sentence("{update_s:nonzero}").empty());
  CHECK(sentence("{update_s}") == "0 s\n");
  const ViewText name{"{name}"};
  CHECK(shown({{ViewFacts{{{"codec", "{codec}"}}}, name, name}}) == "wfbp\nwfbp\n");
  CHECK(shown({{name, ViewFacts{{{"name", "{name}"}}}, ViewNotes{}, name}}) == "wfbp\n\nname  wfbp\n\nwfbp\n");
}

TEST_CASE("conditions are keys that have a value, or none") {
  const auto holds = [](const std::string& condition) { return !shown({{ViewText{"yes", condition}}}).empty(); };
  CHECK(holds("name iteration_s"));
  CHECK(holds("!codec !update_s !none !missing"));
  CHECK(holds("name=wfbp !name=ddp rows/0/fits=yes sizes/from=65536"));
  CHECK_FALSE(holds("name codec"));
  CHECK_FALSE(holds("name=ddp"));
  CHECK_FALSE(holds("!name"));
}

TEST_CASE("tables have a row for each item, and lists end after three") {
  const View table{{ViewTable{"rows", {{"name", "{name}"}, {"gain", "{gain}", "", "! !fits"}, {"codec", "{codec}"}}}}};
  CHECK(shown(table) == "name    gain\n           %\n------------\na     +50.0\nb     -25.0!\n");
  const View list{{ViewList{.items = "rows", .text = "{name} of {/name}", .most = 1}}};
  CHECK(shown(list) == "a of wfbp\nand 1 more\n");
  CHECK(shown({{ViewList{"rows", "{name}", "!fits"}}}) == "b\n");
  const View name{{ViewText{"{name}"}}};
  CHECK(shown({{ViewEach{"rows", &name}}}) == "a\n\nb\n");
  CHECK(shown({{&name, ViewText{"and more"}}}) == "wfbp\nand more\n");
}

TEST_CASE("keys that no sample has are found") {
  const View view{{ViewText{"{name} {nmae}"}, ViewTable{"rows", {{"name", "{name}"}, {"x", "{gian}"}}}, ViewNotes{}}};
  CHECK(unresolved(view, {document}) == std::vector<std::string>{"gian", "nmae", "notes"});
}

TEST_CASE("every note has a sentence") {
  for (const std::string_view kind : note_kinds()) CHECK_FALSE(sentence_of_note(kind).empty());
  CHECK_THROWS_AS(sentence_of_note("no such note"), std::logic_error);
}
