// The version of this program. Its number is defined only in the topmost CMakeLists.txt.
#pragma once

#include <string>

namespace allreplay {

std::string version();             ///< "3.0.0"
std::string built_with();          ///< "GCC 12.2.0, Release, with MPI": one line
std::string version_and_commit();  ///< "3.0.0 (0123abc)"; without the commit if not built from a git checkout

}  // namespace allreplay
