// A cluster in words, in the place of a file: 8 nodes of 8 GPUs, 400 Gbit/s between them, 370 GB/s inside.
#pragma once

#include <span>
#include <string>
#include <string_view>

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

}  // namespace allreplay
