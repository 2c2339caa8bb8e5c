// The program `allreplay`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/command/command.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int fault = 1;

int run(int argc, char** argv) {
  CLI::App app("allreplay replays the iterations of distributed training on a cluster that you describe, and says how long one\n"
               "takes under which communication schedule.", "allreplay");
  app.set_version_flag("--version", "allreplay " ALLREPLAY_VERSION);
  app.require_subcommand(1);
  app.footer("First steps:\n"
             "  allreplay list strategies\n"
             "  allreplay compare --profile googlenet_k80_b32 --cluster k80-10gbe --workers 64\n"
             "  allreplay run --help");
  allreplay::add_run(app);
  allreplay::add_compare(app);
  allreplay::add_sweep(app);
  allreplay::add_plan(app);
  allreplay::add_topology(app);
  allreplay::add_list(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "command line: {} (see allreplay --help)\n", error.what());
    return bad_input;
  }
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
