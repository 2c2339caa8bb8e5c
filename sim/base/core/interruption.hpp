// Cleans up before Ctrl-C (SIGINT), SIGTERM, SIGHUP or a lack of memory ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allreplay {

/// The program's last line if it runs out of memory.
inline constexpr std::string_view memory_is_full = "allreplay: the memory is full (a smaller input, or fewer --jobs)";

/// Makes these signals, unless they are ignored (nohup), print the LastWords and remove each Leftover before they end
/// the program; and a lack of memory in a destructor, which nobody can catch (nlohmann's allocate), print its own line
/// and exit with status 2. For programs only: a library leaves both to its caller.
void leave_in_order();

/// During its life, an interruption removes `file`. REQUIRES: a relative name stays valid (same working directory).
class Leftover {
 public:
  explicit Leftover(const std::string& file);
  ~Leftover();
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;

 private:
  std::size_t slot_ = SIZE_MAX;  // none
};

/// During its life, an interruption prints this line on standard error. Only one may exist at a time.
class LastWords {
 public:
  explicit LastWords(std::string_view line);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

}  // namespace allreplay
