// A cluster described by flags instead of a file: --nodes 8 --gpus 8 --network 400Gbit/s --inner 370GB/s.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/experiment/changes.hpp"

namespace allreplay {

struct ClusterWordRow {
  std::string_view name;  ///< the flag: "inner-alpha"
  std::string_view value;
  std::string_view about;  ///< one line
};

std::span<const ClusterWordRow> cluster_word_rows();

/// Returns the cluster file that the words describe; "rails" may be among them. Throws InputError.
std::string cluster_file_of(std::span<const ChangeText> words);

/// Returns the number of nodes with `gpus` GPUs each that the workers need.
std::int64_t nodes_for(std::int64_t workers, std::int64_t gpus);

/// Raises "nodes" to the number that the workers need. Throws InputError if "gpus" or "nodes" is missing or invalid.
void make_room(std::vector<ChangeText>& words, std::int64_t workers);

}  // namespace allreplay
