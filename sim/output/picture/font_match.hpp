// Asks fontconfig, as cairo does, which family it draws instead of a missing one.
#pragma once

#include <string>

namespace allreplay {

/// The family that is drawn instead of this one; "" if the machine has it, or there is no fontconfig to ask.
std::string substitute_for(const std::string& family);

}  // namespace allreplay
