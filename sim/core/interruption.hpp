// What is put in order before a signal ends the program: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace allreplay {

/// From here on these signals, unless they are ignored (nohup), say LastWords and remove each Leftover before they end
/// the program. For a program; whose library this is has signals of its own.
void leave_in_order();

/// A file that an interruption would leave behind: while this lives, one removes it. REQUIRES: the working directory
/// stays, where the name is relative.
class Leftover {
 public:
  explicit Leftover(const std::string& file);
  ~Leftover();
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;

 private:
  std::size_t slot_ = SIZE_MAX;  // none
};

/// While it lives, an interruption says this line on standard error. One at a time.
class LastWords {
 public:
  explicit LastWords(std::string_view line);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

}  // namespace allreplay
