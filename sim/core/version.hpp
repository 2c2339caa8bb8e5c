// Which allreplay this is. The number stands in the topmost CMakeLists.txt, and nowhere else.
#pragma once

#include <string>

namespace allreplay {

std::string version();             ///< "2.0.0"
std::string built_with();          ///< "GCC 12.2.0, Release, with MPI": one line
std::string version_and_commit();  ///< "2.0.0 (0123abc)"; without the commit where it was not built from a checkout

}  // namespace allreplay
