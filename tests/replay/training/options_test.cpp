// The table of options against itself and against the rows of those that read them.
#include "sim/replay/training/options.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

TEST_CASE("an option's row agrees with itself") {
  for (const OptionRow& row : option_rows()) {
    CAPTURE(row.name);
    CHECK_FALSE(readers_of(row).empty());
    CHECK_FALSE(default_of(row).empty());
    CHECK((row.kind == OptionKind::Choice) == !row.words.empty());
    CHECK(std::count_if(option_rows().begin(), option_rows().end(),
                        [&](const OptionRow& other) { return other.name == row.name; }) == 1);
    // Written options can be read again, and every word of a choice is written as it was read.
    Options options;
    for (const std::string& word : row.words) {
      row.set(options, word, {});
      CHECK(row.get(options) == word);
    }
    if (const std::string text = row.get(Options()); !text.empty()) {
      row.set(options, text, {});
      CHECK(row.get(options) == text);
    }
  }
}

TEST_CASE("the options that rows name are in the table") {
  const auto known = [](std::string_view name) { return name.empty() || row_named(option_rows(), name) != nullptr; };
  for (const Strategy& strategy : strategies())
    for (const std::string_view name : strategy.options) CHECK(known(name));
  for (const Codec& codec : codecs()) CHECK(known(codec.options[0]));
  for (const Algorithm& algorithm : algorithms()) CHECK((known(algorithm.option) && known(algorithm.message_option)));
}

TEST_CASE("readers and defaults come from the rows of those that read") {
  const auto row = [](std::string_view name) -> const OptionRow& { return *row_named(option_rows(), name); };
  CHECK(readers_of(row("threshold")) == "horovod, dear");
  CHECK(readers_of(row("density")) == "topk, gtopk, dgc, randk");
  CHECK(readers_of(row("servers")) == "parameter-server");
  CHECK(default_of(row("partition")) == "4 MB; p3: 40000 elements; byteps: 4000 KiB");
  CHECK(default_of(row("decode_at")) == "arrival; mergecomp: encode");
}

TEST_CASE("tune may vary the options with a range that the planner reads") {
  const auto names = [](std::string_view strategy) {
    std::vector<std::string_view> all;
    for (const OptionRow* row : tunable_options(find_strategy(strategy, {}))) all.push_back(row->name);
    return all;
  };
  using Names = std::vector<std::string_view>;
  CHECK(names("bytescheduler") == Names{"partition", "credit"});
  CHECK(names("horovod") == Names{"threshold", "cycle"});
  CHECK(names("ddp") == Names{"bucket_cap"});  // first_bucket has no range
  CHECK(names("wfbp").empty());
  CHECK(names("best").empty());  // it has no planner of its own
}

TEST_CASE("complaints about words name the others") {
  const auto said = [](const char* name, const char* value) {
    return error_place([&] { Options().set(name, value, {"command line", "--option"}); });
  };
  CHECK(said("grouping", "odd") == "command line: --option");
  CHECK(said("sharing", "no") == "command line: --option");
  CHECK(said("groping", "even") == "command line: --option");
}
