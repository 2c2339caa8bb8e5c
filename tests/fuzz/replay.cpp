// Every importer over its corpus, without a fuzzer: each file as it is, cut at many places, and damaged at random
// (seeded). Usage: fuzz_replay CORPUS-FOLDER, which has a folder for each importer.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tests/fuzz/exercise.hpp"

#include "sim/base/core/file.hpp"
#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

constexpr int damaged_copies = 400;
constexpr std::size_t cuts = 100;

// A few bytes replaced, removed, or copied from elsewhere in the file.
std::string damaged(std::string text, Random& random) {
  for (auto times = 1 + random.below(4); times > 0 && !text.empty(); --times) {
    const std::size_t at = random.below(text.size()),
                      length = random.below(std::min<std::size_t>(text.size() - at, 40) + 1);
    switch (random.below(4)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(random.below(text.size()), text.substr(at, length));
        break;
      default:
        text[at] = "0123456789-.eE[]{}(),;:\"\n\t"[random.below(27)];
    }
  }
  return text;
}

int replay(const Importer& importer, const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  int inputs = 0;
  Random random(1, 0);
  for (const std::string& file : files) {
    const std::string text = Files().read(file);
    exercise(importer, text);
    for (std::size_t cut = 0; cut < cuts; ++cut)
      exercise(importer, std::string_view(text).substr(0, text.size() * cut / cuts));
    for (int copy = 0; copy < damaged_copies; ++copy) exercise(importer, damaged(text, random));
    inputs += 1 + static_cast<int>(cuts) + damaged_copies;
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const Importer& importer : importers()) {
    const auto folder = std::filesystem::path(argv[1]) / importer.name;
    if (!std::filesystem::is_directory(folder) || std::filesystem::is_empty(folder)) {
      fmt::print(stderr, "the importer {} has no corpus: {}\n", importer.name, folder.string());
      return 1;
    }
    fmt::print("{}: {} inputs\n", importer.name, replay(importer, folder));
  }
}
