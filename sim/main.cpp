// The program `allreplay`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sim/command/command.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int fault = 1;

// An empty argument is a script's unset variable, never what was meant.
void require_no_empty_argument(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (text.empty()) throw allreplay::InputError(allreplay::argument(argv[i - 1]), "is followed by an empty argument", "a value");
    if (text.starts_with("--") && text.ends_with("=")) throw allreplay::InputError(allreplay::argument(argv[i]), "has no value", "a value");
  }
}

// What was printed has to arrive: a full disk is no success.
void require_printed() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw allreplay::InputError({"standard output", ""}, fmt::format("cannot be written: {}", std::strerror(errno)), "check its space");
}

int run(int argc, char** argv) {
  CLI::App app("allreplay replays the iterations of distributed training on a cluster that you describe, and says how long one\n"
               "takes under which communication schedule.", "allreplay");
  app.set_version_flag("--version", "allreplay " ALLREPLAY_VERSION);
  app.require_subcommand(1);
  app.footer("First steps:\n"
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
  allreplay::add_tune(app);
  allreplay::add_recommend(app);
  allreplay::add_list(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "command line: {} (see allreplay --help)\n", error.what());
    return bad_input;
  }
  require_printed();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const allreplay::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return bad_input;
  } catch (const allreplay::TimeOverflow& error) {
    fmt::print(stderr, "input: {}\n", error.what());
    return bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "allreplay: internal error: {}\n", error.what());
    return fault;
  }
}
