// Flags such as --bandwidth x2 that were saved in a cluster file, as its "changes".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/studies/experiment/changes.hpp"

namespace allreplay {

/// Flags that were given together.
using ChangeSet = std::vector<ChangeText>;

/// Returns the changes that a cluster file states, to be applied set by set. Throws InputError.
std::vector<ChangeSet> saved_changes(const Json& cluster);

/// The flags of a command line that a cluster file can hold.
struct ClusterFlags {
  std::optional<std::int64_t> workers;
  std::string collective, fidelity;  ///< "": as in the file
  ChangeSet changes;                 ///< of the network and of stragglers
};

/// Returns the text of the cluster file with these flags in it. The flags are saved as they are, since some, such as
/// --latency, also depend on the command that uses the cluster.
std::string with_flags(const Json& cluster, const ClusterFlags& flags);

}  // namespace allreplay
