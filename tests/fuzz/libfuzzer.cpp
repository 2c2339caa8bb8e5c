// A libFuzzer target for the importer that ALLREPLAY_IMPORTER names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/exercise.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* const name = std::getenv("ALLREPLAY_IMPORTER");
  static const allreplay::Importer& importer =
      allreplay::find_importer(name ? name : "", {"environment", "ALLREPLAY_IMPORTER"});
  exercise(importer, {reinterpret_cast<const char*>(data), size});
  return 0;
}
