// The levels of detail at which the network is simulated, the fastest first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/base/core/named.hpp"

namespace allreplay {

enum class Fidelity : std::uint8_t { AlphaBeta, Fluid, Message };

struct FidelityRow {
  Fidelity value;
  std::string_view name;
  std::string_view summary;
};

inline constexpr FidelityRow fidelities[] = {
    {Fidelity::AlphaBeta, "alpha-beta", "a closed form"},
    {Fidelity::Fluid, "fluid", "rounds in lockstep on a topology, whose links are shared"},
    {Fidelity::Message, "message", "every message on a topology"},
};

inline std::string to_string(Fidelity fidelity) { return std::string(name_of(fidelities, fidelity)); }

/// Throws InputError at `place`, with the nearest known name.
inline Fidelity find_fidelity(std::string_view name, const SourceLocation& place) {
  return find_by_name(fidelities, name, place, "unknown fidelity '{}'").value;
}

}  // namespace allreplay
