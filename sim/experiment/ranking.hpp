// Which of several outcomes is to be preferred.
#pragma once

#include "sim/experiment/run.hpp"

namespace allreplay {

/// Whether `a` goes before `b`: what fits into the memory that there is, then what is faster; among equals what starts
/// fewer collectives, then what needs less memory.
bool goes_before(const Outcome& a, const Outcome& b);

}  // namespace allreplay
