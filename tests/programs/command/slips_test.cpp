// Slips of a user that a command notices: a unit that is off by a thousand, an impossible number, a wrong file.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/base/core/text.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

using namespace allreplay;

namespace slips_test {

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, " ")) words.emplace_back(word);
  return words;
}

// The place of the error for a command line; "" if it is accepted.
std::string refusal_of(const std::string& line) {
  Context context{{}, Console(true)};
  return error_place([&] { run_words(words_of(line), context); });
}

bool any_note_has(const std::string& line, const std::string& part) {
  Context context{{}, Console(true)};
  run_words(words_of(line), context);
  return std::ranges::any_of(context.console.stderr_lines,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a speed a thousand times too low is noted, with the number that was probably meant") {
  const std::string model = "estimate --model llama3-8b --device h100 --batch 1 ";
  CHECK(any_note_has(model + "--tokens-per-second 3.8", "3800 tokens/s"));
  CHECK(any_note_has(model + "--mfu 0.4%", "40 % MFU"));
  CHECK_FALSE(any_note_has(model + "--tokens-per-second 3800", "meant"));
  CHECK_FALSE(any_note_has(model + "--mfu 40%", "meant"));
  const std::string layouts = "recommend --model llama3-8b --device h100 --cluster h100x8-8x400gbps --budget 1 ";
  CHECK(any_note_has(layouts + "--tokens-per-second 3.8", "3800 tokens/s"));
  CHECK(any_note_has(layouts + "--mfu 0.4%", "40 % MFU"));
  CHECK_FALSE(any_note_has(layouts + "--tokens-per-second 3800", "meant"));
}

TEST_CASE("the busiest of G workers has at most G times the mean of their tokens") {
  const std::string place = "command line: --expert-imbalance";
  const std::string model = "estimate --model mixtral-8x7b --device h100 --batch 1 --seq 4096 ";
  CHECK(refusal_of(model + "--ep 8 --expert-imbalance 50") == place);
  CHECK(refusal_of(model + "--ep 8 --expert-imbalance 8.01") == place);
  CHECK(refusal_of(model + "--ep 8 --expert-imbalance 8") == "");
  CHECK(refusal_of(model + "--expert-imbalance 1.5") == "");  // a worker of how many is not said
  CHECK(refusal_of(model + "--expert-imbalance 1") == "");
}

TEST_CASE("files of another kind than the command reads are refused as such") {
  const OwnFolder folder;
  const std::string json = folder("x.json"), csv = folder("d.csv");
  folder.write("x.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 0, "dur": 1}]})");
  folder.write("d.csv", "step,dp,stage,op,seq,start_us,duration_us\n0,0,0,forward-compute,0,0,10\n");
  CHECK(refusal_of("plot " + json + " --out " + folder("a.svg")) == json);
  CHECK(refusal_of("report " + json + " --out " + folder("a.html")) == json);
  // The second file is the one that differs.
  CHECK(refusal_of("diagnose " + json + " " + csv) == csv);
  CHECK(refusal_of("diagnose " + csv + " " + json) == json);
}

}  // namespace slips_test
