#include "sim/replay/network/large_pages.hpp"

#include <cstdint>
#include <vector>

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("a large table begins at a large page, and keeps its values when it moves there") {
  std::vector<std::uint64_t, LargePages<std::uint64_t>> table;
  for (std::uint64_t i = 0; i < 300'000; ++i) table.push_back(i);  // 2.4 MB
  CHECK(reinterpret_cast<std::uintptr_t>(table.data()) % (1 << 21) == 0);
  for (std::uint64_t i = 0; i < table.size(); ++i) REQUIRE(table[i] == i);
  const auto copy = table;
  CHECK(copy == table);
}
