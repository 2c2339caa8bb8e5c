#include "sim/base/core/interruption.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <typeinfo>
#include <unistd.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// File names are kept in fixed global storage: a signal handler gets only a number, and may not allocate.
struct Slot {
  enum State : int { Free, Filled, Ready };
  std::atomic<int> state{Free};
  std::array<char, PATH_MAX> file;
};

std::array<Slot, 16> slots;  // several threads need two each; a file that finds no free slot is not removed
std::array<char, 8192> last_words;
std::atomic<std::size_t> last_length{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free);

void remove_leftovers() {
  for (Slot& slot : slots)
    if (slot.state == Slot::Ready) unlink(slot.file.data());
}

void handle_signal(int signal) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), last_length));
  remove_leftovers();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

[[noreturn]] void handle_termination() {
  const std::type_info* thrown = abi::__cxa_current_exception_type();  // catching it again might need memory
  if (!thrown || *thrown != typeid(std::bad_alloc)) std::abort();
  for (const std::string_view text : {memory_is_full, std::string_view("\n")})
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  remove_leftovers();
  constexpr int bad_input = 2;
  _exit(bad_input);
}

}  // namespace

void leave_in_order() {
  std::set_terminate(handle_termination);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, handle_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
}

Leftover::Leftover(const std::string& file) {
  if (file.size() >= PATH_MAX) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int state = Slot::Free;
    if (!slots[i].state.compare_exchange_strong(state, Slot::Filled)) continue;
    *std::copy(file.begin(), file.end(), slots[i].file.begin()) = '\0';
    slots[i].state = Slot::Ready;
    slot_ = i;
    return;
  }
}

Leftover::~Leftover() {
  if (slot_ < slots.size()) slots[slot_].state = Slot::Free;
}

LastWords::LastWords(std::string_view line) {
  const std::string text = "\n" + one_line(line, last_words.size() - 2) + "\n";  // first ends a progress line
  std::copy(text.begin(), text.end(), last_words.begin());
  last_length = text.size();
}

LastWords::~LastWords() { last_length = 0; }

}  // namespace allreplay
