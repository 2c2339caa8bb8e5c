// The placement of ranks on hosts, as users choose it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/json.hpp"

namespace allreplay {

/// A host's name, and where it was given.
struct NamedHost {
  std::string name;
  SourceLocation place;

  bool operator==(const NamedHost&) const = default;
};

struct Placement {
  enum class Kind : std::uint8_t { Packed, Spread, Listed };
  Kind kind = Kind::Packed;
  std::vector<NamedHost> hosts;  ///< Listed: in the order in which ranks fill them
  SourceLocation place;

  bool packed() const { return kind == Kind::Packed; }

  bool operator==(const Placement&) const = default;
};

/// Reads "packed", "spread", or a list of hosts. Throws InputError.
Placement read_placement(const Json& json);

/// Parses the same words, or a list such as "h0,h4". Throws InputError at `place`.
Placement parse_placement(std::string_view text, const SourceLocation& place);

/// "packed", "spread", or "12 hosts as listed".
std::string to_string(const Placement& placement);

}  // namespace allreplay
