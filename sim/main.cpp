// The program `allreplay`.

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

#include "sim/command/command.hpp"
#include "sim/command/console.hpp"
#include "sim/command/definitions.hpp"
#include "sim/command/program.hpp"
#include "sim/core/error.hpp"
#include "sim/core/file.hpp"
#include "sim/core/interruption.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int fault = 1;  // of this program; or work that is not all done

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
    throw std::system_error(errno, std::generic_category());
}

// Each simulation asks for some megabytes and gives them back: returned to the system, they would have to be cleared
// and mapped anew for the next.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int most = 64 << 20;
  mallopt(M_TRIM_THRESHOLD, most);
  mallopt(M_MMAP_THRESHOLD, most / 2);
#endif
}

int run(int argc, char** argv, allreplay::Context& context) {
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {  // what a shell asks; it may be of an empty word
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
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);  // errors of writing, as a full disk is
  allreplay::leave_in_order();
  try {
    return run(argc, argv, context);
  } catch (...) {
    const allreplay::Failure failure = allreplay::current_failure();
    if (!failure.text.empty()) context.console.print_stderr(failure.text);
    return failure.is_fault ? fault : bad_input;
  }
}
