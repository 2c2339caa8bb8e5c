#include "tests/fuzz/words.hpp"

#include <fmt/format.h>

#include "tests/fuzz/readers.hpp"

#include "sim/programs/command/program.hpp"
#include "sim/studies/experiment/changes.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/search/search_space.hpp"

using namespace allreplay;

namespace {

constexpr auto said_on = "command line";

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c != ' ')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty()) words.pop_back();
  return words;
}

void add_commands(CommandLine& app) {
  for (const CommandRow& command : commands()) command.add(app);
}

}  // namespace

std::vector<std::string> option_texts() {
  std::vector<std::string> texts;
  for (const OptionRow& row : option_rows()) {
    const std::string value = row.get(Options());
    const char* otherwise = row.kind == OptionKind::Size       ? "4 MB"
                            : row.kind == OptionKind::Bucket   ? "4 MB"
                            : row.kind == OptionKind::Duration ? "5 ms"
                            : row.kind == OptionKind::Rate     ? "10 GB/s"
                            : row.kind == OptionKind::Wrap     ? "layer"
                            : row.kind == OptionKind::Choice   ? row.words.front().c_str()
                                                               : "1";
    texts.push_back(fmt::format("{}={}", row.name, value.empty() ? otherwise : value));
    for (const std::string& word : row.words) texts.push_back(fmt::format("{}={}", row.name, word));
  }
  return texts;
}

void read_an_option(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return;
  const SourceLocation place{said_on, "--option"};
  Options options;
  options.set(text.substr(0, equals), text.substr(equals + 1), place);
  const std::string written = options.get(text.substr(0, equals));
  options.set(text.substr(0, equals), written, place);
  require(options.get(text.substr(0, equals)) == written, "an option that is not read as it was written");
}

std::vector<std::string> ranges() { return {"partition=256KiB:16MiB", "cycle=1ms:20ms"}; }

void read_a_range(const std::string& text) {
  const char* strategy = text.starts_with("c") ? "horovod" : "bytescheduler";
  const Range range = parse_range(text, find_strategy(strategy, {}), {said_on, "--range"});
  for (const double x : {0.0, 0.3, 1.0}) require(!value_at(range, x).empty(), "a value that cannot be written");
}

std::vector<std::string> change_texts() {
  return {"bandwidth=400 Gbit/s",
          "bandwidth=x0.5",
          "latency=5 us",
          "latency=x0",
          "inner-bandwidth=x2",
          "inner-latency=1 us",
          "rails=2",
          "node=4",
          "batch=64",
          "precision=fp32",
          "stragglers=x2",
          "stragglers=none",
          "stragglers=1:1.5,3:2"};
}

void read_a_change(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return;
  static Library library;
  Request request;
  request.profile = "googlenet_k80_b32";
  request.cluster = "ec2-a100x8-4x100gbps";
  request.strategy = "wfbp";
  request.changes = {{text.substr(0, equals), text.substr(equals + 1), {said_on, "--change"}}};
  library.resolve(request);
}

// Each option of each command by itself, and what the commands' help shows.
std::vector<std::string> command_lines() {
  CommandLine app = command_line();
  add_commands(app);
  std::vector<std::string> texts;
  for (const Command& command : app.commands) {
    for (const Option& option : command.options)
      texts.push_back(command.name +
                      (option.is_positional() ? " 1" : " " + option.longest_name() + (option.is_flag() ? "" : " 1")));
    std::string_view rest = command.footer;
    constexpr std::string_view example = "\n  allreplay ";
    for (std::size_t start = rest.find(example); start != rest.npos; start = rest.find(example)) {
      rest.remove_prefix(start + example.size());
      texts.emplace_back(rest.substr(0, rest.find('\n')));
    }
  }
  return texts;
}

void read_a_command_line(const std::string& text) {
  CommandLine app = command_line();
  add_commands(app);
  require_known_words(app, with_flags_as_options(app, words_of(text)));
}
