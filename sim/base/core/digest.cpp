#include "sim/base/core/digest.hpp"

#include <bit>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>

namespace allreplay {

namespace {

constexpr std::uint64_t prime = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio: its bits look random

std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  state = (std::rotl(state, 23) ^ word) * prime;
  return state ^ (state >> 29);
}

// The file that contains this code: our program, or the shared object that another program has loaded.
std::string own_file() {
  Dl_info facts{};
  const bool found = dladdr(reinterpret_cast<const void*>(&mixed), &facts) != 0 && facts.dli_fname;
  const std::string file = found ? facts.dli_fname : "";
  return file.find(".so") != std::string::npos ? file : "/proc/self/exe";
}

}  // namespace

std::uint64_t digest(std::string_view bytes, std::uint64_t before) {
  std::uint64_t state = mixed(before, bytes.size());
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t length = bytes.size() < sizeof word ? bytes.size() : sizeof word;
    std::memcpy(&word, bytes.data(), length);
    state = mixed(state, word);
    bytes.remove_prefix(length);
  }
  return mixed(state, prime);
}

std::uint64_t digest(std::uint64_t number, std::uint64_t before) { return mixed(mixed(before, number), prime); }

std::uint64_t program_digest() {
  static const std::uint64_t known = [] {
    std::uint64_t state = digest(ALLREPLAY_VERSION);
    std::ifstream program(own_file(), std::ios::binary);
    std::string piece(std::size_t{1} << 20, '\0');
    while (program.read(piece.data(), static_cast<std::streamsize>(piece.size())) || program.gcount() > 0)
      state = digest(std::string_view(piece).substr(0, static_cast<std::size_t>(program.gcount())), state);
    return state;
  }();
  return known;
}

}  // namespace allreplay
