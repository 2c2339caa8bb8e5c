#include "sim/base/core/text.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/name.hpp"

using namespace allreplay;

TEST_CASE("one line of text holds nothing that moves a cursor") {
  for (const std::string text : {"", "plain", "größer ≥ 8 KiB", "\xF0\x9F\x98\x80"}) CHECK(is_one_line(text));
  for (const std::string text :
       {"a\nb", "a\tb", "\x1b[2J", "\x7f",
        "\xc2\x9b"
        "2J",
        "\xe2\x80\xae", "\xe2\x80\xa8", "\xe2\x81\xa6", "\xff", "\xc3",
        // U+200B, U+200F, U+2060, U+206F, U+FEFF, U+061C
        "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x81\xa0", "\xe2\x81\xaf", "\xef\xbb\xbf", "\xd8\x9c"})
    CHECK_FALSE(is_one_line(text));
  CHECK(is_one_line("\xe2\x80\xa6"));  // an ellipsis, next to U+2028
  for (const char* neighbour : {"\xe2\x80\x8a", "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x81\x9e", "\xe2\x81\xb0"})
    CHECK(is_one_line(neighbour));  // a hair space, a joiner, a hyphen, a vertical ellipsis, a superscript 0
}

TEST_CASE("names can stand in tables, messages and lines of CSV") {
  const auto complaint = [](const std::string& name) {
    return error_place([&] { require_name(name, {"f", "/name"}); });
  };
  for (const std::string name : {"conv1", "größer", "a=b", "a-1", ""}) CHECK(complaint(name).empty());
  for (const std::string name : {"=cmd|' /C calc'!A0", "+1", "-1", "@x", "a\nb"}) CHECK(complaint(name) == "f: /name");
  CHECK(complaint(std::string(1000, 'x')).empty());
  CHECK(complaint(std::string(1001, 'x')) == "f: /name");
  CHECK(as_name("=1+1") == "_1+1");
  CHECK(as_name("relu") == "relu");
  CHECK(as_name(std::string(1001, 'x')).size() == 1000);
}

TEST_CASE("bytes that are not text become question marks, one each") {
  CHECK(as_text("größer\xff") == "größer?");
  CHECK(as_text("\xe0\x80\x80") == "???");       // overlong
  CHECK(as_text("\xed\xa0\x80") == "???");       // half of a surrogate pair
  CHECK(as_text("\xf4\x90\x80\x80") == "????");  // beyond U+10FFFF
}

TEST_CASE("a line is cut between characters") {
  CHECK(one_line("a\nb\x1b[2J", 100) == "a b?[2J");
  CHECK(one_line("12345678", 8) == "12345678");
  CHECK(one_line("123456789", 8) == "12345…");
  CHECK(one_line("12345ö89", 8) == "12345…");  // 9 bytes; the ö does not fit next to an ellipsis of three
  CHECK(one_line("1234ö789", 8) == "1234…");
  CHECK(one_line(std::string(100'000, 'x'), 1000).size() == 1000);
}

TEST_CASE("prose is wrapped between words, but not between a number and its unit") {
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("one two three", 100) == "one two three");
  CHECK(wrapped("one\ntwo three four\n", 9, 2) == "one\ntwo three\n  four\n");
  CHECK(wrapped("  set in", 6) == "  set\nin");
  CHECK(wrapped("see /a/path/that/is/long now", 8) == "see\n/a/path/that/is/long\nnow");  // can be copied
  CHECK(wrapped("about 36.0 % more", 10) == "about\n36.0 %\nmore");
  CHECK(wrapped("about 36 s", 8) == "about\n36 s");             // the last letter, too
  CHECK(wrapped("the 8-byte word", 10) == "the 8-byte\nword");  // no number, and one that ends a clause
  CHECK(wrapped("of 7, and", 5) == "of 7,\nand");
  CHECK(wrapped("run --workers 8 --json", 15) == "run --workers 8\n--json");
  CHECK(wrapped("run --json --workers 8", 12) == "run --json\n--workers 8");
  CHECK(wrapped("größe zwei", 10) == "größe zwei");  // letters, not bytes
  CHECK(wrapped("", 10).empty());
}

TEST_CASE("a command is broken as a shell reads it") {
  CHECK(wrapped_command("run --a 'x y' -q", 100) == "run --a 'x y' -q");
  CHECK(wrapped_command("run --a 'x y z' -q", 15, 2) == "run \\\n  --a 'x y z' \\\n  -q");  // 13 + 2, and the end
  CHECK(wrapped_command("run one two", 10) == "run one \\\ntwo");                           // 7 + 2
  CHECK(wrapped_command("run one two", 8) == "run \\\none two");
  CHECK(wrapped_command("a 'it'\\''s c' d", 5) == "a \\\n'it'\\''s c' \\\nd");
  CHECK(wrapped("by `run a b`, so", 9, 1) == "by `run \\\n a b`, so");
  CHECK(wrapped("by `run 'a b'`.\nIt's so", 9) == "by `run \\\n'a b'`.\nIt's so");
  CHECK(wrapped("it's `run` and it's", 10) == "it's `run`\nand it's");
  CHECK(wrapped("no ` command is here", 10) == "no `\ncommand is\nhere");
}

TEST_CASE("a column is as wide as its longest words") {
  CHECK(longest_unbroken("about 36.0 % more") == 6);
  CHECK(longest_unbroken("--a 'x y' -q", true) == 11);  // --a 'x y', and what goes on
  CHECK(longest_unbroken("--a 'x y'", true) == 9);
}

TEST_CASE("any text is one word to a shell") {
  CHECK(shell_word("out.csv") == "out.csv");
  CHECK(shell_word("my rows.csv") == "'my rows.csv'");
  CHECK(shell_word("it's $(rm)") == "'it'\\''s $(rm)'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a*") == "'a*'");
  CHECK(shell_word("~/a") == "'~/a'");
}

TEST_CASE("a text is split into one part more than it has separators") {
  CHECK(split("a -- b", " -- ") == std::vector<std::string_view>{"a", "b"});
  CHECK(split(";a;", ";") == std::vector<std::string_view>{"", "a", ""});
  CHECK(split("", ";") == std::vector<std::string_view>{""});
}
