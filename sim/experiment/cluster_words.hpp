// A cluster in words, in the place of a file: 8 nodes of 8 GPUs, 400 Gbit/s between them, 370 GB/s inside.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/experiment/changes.hpp"

namespace allreplay {

struct ClusterWordRow {
  std::string_view name;  ///< of the flag: "inner-alpha"
  std::string_view value;
  std::string_view about;  ///< one line
};

std::span<const ClusterWordRow> cluster_word_rows();

/// The text of the cluster file that they stand for, and a "rails" that may stand among them. Throws InputError at a
/// word that is wrong, or missing.
std::string cluster_file_of(std::span<const ChangeText> words);

/// How many nodes of so many GPUs hold the workers.
std::int64_t nodes_for(std::int64_t workers, std::int64_t gpus);

/// The same words with as many nodes as the workers need, if they need more. Throws InputError as cluster_file_of().
void make_room(std::vector<ChangeText>& words, std::int64_t workers);

}  // namespace allreplay
