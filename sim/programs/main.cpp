// The entry point of the program `allreplay`.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <malloc.h>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/interruption.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int fault = 1;  // a fault of the program, or incomplete work

// Opens /dev/null for each closed standard stream, whose descriptor the next opened file would get otherwise. Standard
// output is opened read-only, so that printing fails.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

// Throws if printed output could not be written, for example because the disk is full.
void require_printed() {
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
    throw std::system_error(errno, std::generic_category());
}

// Keeps freed memory in the process: each simulation uses some megabytes, which the system would clear and map again.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int most = 64 << 20;
  mallopt(M_TRIM_THRESHOLD, most);
  mallopt(M_MMAP_THRESHOLD, most / 2);
#endif
}

int run(int argc, char** argv, allreplay::Context& context) {
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {  // called by shell completion; words may be empty
    allreplay::print_offers({argv + 2, argv + argc}, context);
    return 0;
  }
  allreplay::run_words({argv + 1, argv + argc}, context);
  require_printed();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  keep_freed_memory();
  allreplay::Context context;
  context.inputs.files.protect_inputs();
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);  // reported as write errors instead
  allreplay::leave_in_order();
  try {
    return run(argc, argv, context);
  } catch (...) {
    const allreplay::Failure failure = allreplay::current_failure();
    if (!failure.text.empty()) context.console.print_stderr(failure.text);
    return failure.is_fault ? fault : bad_input;
  }
}
