// The program `allreplay`.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/command/definitions.hpp"
#include "sim/core/file.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int fault = 1;  // of this program; or work that is not all done

// An empty argument is a script's unset variable, never what was meant.
void require_no_empty_argument(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (text.empty())
      throw allreplay::InputError(allreplay::argument(argv[i - 1]), "is followed by an empty argument", "a value");
    if (text.starts_with("--") && text.ends_with("="))
      throw allreplay::InputError(allreplay::argument(argv[i]), "has no value", "a value");
  }
}

// A slip in a command's or an option's name gets a suggestion, not a parser's complaint.
void require_known_words(const allreplay::CommandLine& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> commands, options;
  bool known = false;
  for (const allreplay::CommandDefinition& command : allreplay::commands_of(app)) {
    commands.push_back(command.name);
    if (command.name != argv[1]) continue;
    known = true;
    for (const allreplay::OptionDefinition& option : command.options)
      for (const std::string& name : option.names)
        if (name.starts_with("--")) options.push_back(name);
  }
  if (!known)
    throw allreplay::InputError(allreplay::argument(argv[1]), "no such command", allreplay::suggest(argv[1], commands));
  for (int i = 2; i < argc; ++i) {
    const std::string_view text = argv[i];
    const std::string name(text.substr(0, text.find('=')));
    if (name.starts_with("--") && name.size() > 2 && std::find(options.begin(), options.end(), name) == options.end())
      throw allreplay::InputError(allreplay::argument(name), fmt::format("{} has no such option", argv[1]),
                                  allreplay::suggest(name, options));
  }
}

// A stream that is closed would hand its number to the next file that is opened, and what is printed would stand in
// there. Standard output is then one that cannot be written, so that printing fails as it should.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

// What was printed has to arrive: a full disk is no success.
void require_printed() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
    throw allreplay::InputError({"standard output", ""}, fmt::format("cannot be written: {}", std::strerror(errno)),
                                "check its space");
}

int run(int argc, char** argv) {
  allreplay::CommandLine app(
      "allreplay",
      "allreplay replays the iterations of distributed training on a cluster that you describe, and says how long one\n"
      "takes under which communication schedule.",
      "allreplay " ALLREPLAY_VERSION,
      "First steps:\n"
      "  allreplay list strategies\n"
      "  allreplay compare --profile googlenet_k80_b32 --cluster k80-10gbe --workers 64\n"
      "  allreplay recommend --profile googlenet_k80_b32 --cluster k80-10gbe --workers 8:1024:x2\n"
      "  allreplay run --help");
  require_no_empty_argument(argc, argv);
  allreplay::add_run(app);
  allreplay::add_compare(app);
  allreplay::add_sweep(app);
  allreplay::add_plan(app);
  allreplay::add_topology(app);
  allreplay::add_collective(app);
  allreplay::add_codec(app);
  allreplay::add_calibrate(app);
  allreplay::add_validate(app);
  allreplay::add_tune(app);
  allreplay::add_recommend(app);
  allreplay::add_whatif(app);
  allreplay::add_estimate(app);
  allreplay::add_import(app);
  allreplay::add_export(app);
  allreplay::add_report(app);
  allreplay::add_list(app);
  allreplay::add_man(app);
  allreplay::add_completion(app);
  allreplay::name_values(app);
  require_known_words(app, argc, argv);
  if (const auto wrong = app.parse(argc, argv)) {
    allreplay::tell("command line: " + *wrong);
    return bad_input;
  }
  require_printed();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  allreplay::protect_inputs(true);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of writing
  try {
    return run(argc, argv);
  } catch (const allreplay::InputError& error) {
    allreplay::tell(error.what());
  } catch (const allreplay::RankError& error) {
    allreplay::tell(error.what());
  } catch (const allreplay::Incomplete& error) {
    allreplay::tell(error.what());
    return fault;
  } catch (const allreplay::TimeOverflow& error) {
    allreplay::tell(fmt::format("input: {}", error.what()));
  } catch (const std::bad_alloc&) {
    allreplay::tell("allreplay: the memory is full (a smaller input, or fewer --jobs)");
  } catch (const std::filesystem::filesystem_error& error) {
    allreplay::tell(
        fmt::format("{}: cannot be used: {} (check the path)", error.path1().string(), error.code().message()));
  } catch (const std::system_error& error) {  // fmt's, of printing; of threads
    allreplay::tell(fmt::format("{}: {} (check its space, and the limits of this machine)",
                                std::ferror(stdout) != 0 ? "standard output: cannot be written" : "allreplay",
                                error.code().message()));
  } catch (const std::exception& error) {
    allreplay::tell(fmt::format("allreplay: internal error: {}", error.what()));
    return fault;
  }
  return bad_input;
}
