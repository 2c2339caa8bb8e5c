// Which host each rank sits on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/json.hpp"

namespace allreplay {

/// A host as somebody named it.
struct NamedHost {
  std::string name;
  SourceLocation place;
};

struct Placement {
  enum class Kind : std::uint8_t { Packed, Spread, Listed };
  Kind kind = Kind::Packed;
  std::vector<NamedHost> hosts;  ///< Listed: in the order in which ranks fill them
  SourceLocation place;

  bool packed() const { return kind == Kind::Packed; }
};

/// "packed", "spread", or a list of hosts. Throws InputError.
Placement read_placement(const Json& json);

/// The same as one text: "h0,h4". Throws InputError at `place`.
Placement parse_placement(std::string_view text, const SourceLocation& place);

/// "packed", "spread", or "12 hosts as listed".
std::string to_string(const Placement& placement);

}  // namespace allreplay
