// Every reader of what users write over texts that are changed again and again, without a fuzzer's instrumentation:
// what a change leaves readable is changed further.
//   fuzz_readers [SEED [COUNT [READER]]]     COUNT changed texts a reader; from the source folder, for names of files
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/readers.hpp"

using namespace allreplay;

namespace {

constexpr std::size_t pool = 400;  // texts to go on from, the seeds among them

// The text that is being read, in a file that a crash leaves behind; in memory, so that a write costs no call.
class LastText {
 public:
  explicit LastText(const std::string& file) : file_(open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    if (file_ < 0 || ftruncate(file_, most) != 0) std::abort();
    text_ = static_cast<char*>(mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    if (text_ == MAP_FAILED) std::abort();
  }
  void set(const std::string& text) {  // followed by NULs
    std::memset(text_, 0, std::exchange(size_, std::min<std::size_t>(text.size(), most)));
    std::memcpy(text_, text.data(), size_);
  }

 private:
  static constexpr std::size_t most = 1 << 20;
  int file_;
  char* text_;
  std::size_t size_ = 0;
};

// Returns how many texts the reader accepted.
std::size_t fuzz(const TextReader& reader, std::uint64_t seed, std::uint64_t count, LastText& last) {
  Random random(seed, static_cast<std::uint64_t>(&reader - text_readers().data()));
  std::vector<std::string> texts = reader.seeds();
  for (const std::string& text : texts)
    if (const std::string complaint = exercise(reader, text); !complaint.empty()) {
      fmt::print(stderr, "{}: a seed is refused: {}\n{}\n", reader.name, complaint, text.substr(0, 200));
      std::exit(1);
    }
  Mutator mutate(texts, random);
  const std::size_t seeds = texts.size();
  std::size_t taken = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string text = mutate(texts[random.below(texts.size())]);
    last.set(text);
    if (!exercise(reader, text).empty()) continue;
    ++taken;
    if (texts.size() < pool + seeds)
      texts.push_back(text);
    else
      texts[seeds + random.below(pool)] = text;
  }
  return taken;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000;
  const std::string_view only = argc > 3 ? argv[3] : "";
  for (const TextReader& reader : text_readers())
    if (only.empty() || reader.name == only) {
      const std::filesystem::path file =
          std::filesystem::temp_directory_path() / fmt::format("fuzz_readers.{}.{}", reader.name, seed);
      LastText last(file.string());
      const std::size_t taken = fuzz(reader, seed, count, last);
      std::filesystem::remove(file);
      fmt::print("{}: {} texts, {} of them taken\n", reader.name, count, taken);
      std::fflush(stdout);
    }
}
