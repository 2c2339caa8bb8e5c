// Digests: 64-bit numbers that identify contents. They are not cryptographic: collisions can be made on purpose.
#pragma once

#include <cstdint>
#include <string_view>

namespace allreplay {

/// The digest of `bytes` appended to the contents whose digest is `before`. All machines of the same byte order agree.
std::uint64_t digest(std::string_view bytes, std::uint64_t before = 0);
std::uint64_t digest(std::uint64_t number, std::uint64_t before);

/// The digest of this program: of its version and, if it can be read, its executable.
std::uint64_t program_digest();

}  // namespace allreplay
