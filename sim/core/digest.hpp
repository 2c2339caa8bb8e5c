// Digests: numbers that tell contents apart. Nothing here withstands somebody who wants two contents to look the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace allreplay {

/// 64 bits of what `bytes` holds, after what `before` stands for; the same on every machine of the same byte order.
std::uint64_t digest(std::string_view bytes, std::uint64_t before = 0);

/// Of a number, likewise.
std::uint64_t digest(std::uint64_t number, std::uint64_t before);

/// Of this program: its version, and its executable where it can be read.
std::uint64_t program_digest();

}  // namespace allreplay
