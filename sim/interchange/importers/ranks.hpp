// Several ranks' traces of one job, made one profile: what is common to them, and how they differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/interchange/importers/importer.hpp"

namespace allreplay {

/// The profile with the means of all ranks' times; notes of how much slower or faster each is, and how much iterations
/// differ, in the words of a cluster file. Of collectives that all ranks ran alike, each counts with its shortest time:
/// the last rank to come does not wait. Throws InputError, with the file, where one is not of the same job: other
/// layers, another batch size, the same rank. `files` are where they come from; two at least.
Imported merged_ranks(std::span<const Imported> ranks, std::span<const std::string> files);

}  // namespace allreplay
