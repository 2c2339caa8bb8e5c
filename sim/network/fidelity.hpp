// The fidelities in which a collective can be priced, as users name them: the fastest first.
#pragma once

#include <string_view>

namespace allreplay {

struct FidelityRow {
  std::string_view name;
  std::string_view summary;
};

inline constexpr FidelityRow fidelities[] = {
    {"alpha-beta", "a closed form"},
    {"fluid", "rounds in lockstep on a topology, whose links are shared"},
    {"message", "every message on a topology"},
};

}  // namespace allreplay
