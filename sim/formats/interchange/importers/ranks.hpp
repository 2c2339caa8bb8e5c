// Merges the imported traces of several ranks of a job into one profile, with notes on how the ranks differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/formats/interchange/importers/importer.hpp"

namespace allreplay {

/// Returns a profile with the mean times of all ranks, and notes on stragglers and jitter in the form of a cluster
/// file. If all ranks ran the same collectives, each gets its shortest time, that of the last rank to arrive, which
/// does not wait. `files` are the ranks' files. Throws InputError, naming the file, if a rank is not of the same job:
/// other layers, another batch size, or a duplicate rank. REQUIRES: at least two ranks.
Imported merged_ranks(std::span<const Imported> ranks, std::span<const std::string> files);

}  // namespace allreplay
