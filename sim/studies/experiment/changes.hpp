// The "what if" flags of every command, such as --bandwidth x2: changes of a scenario's profile or cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// A change as given by the user.
struct ChangeText {
  std::string name;
  std::string value;
  SourceLocation place;
};

/// The part of a scenario that a change applies to.
enum class Changed : std::uint8_t { Network, Profile, Stragglers };

struct ProfileFile {
  const Files* files = nullptr;
  std::string name;
};

/// A kind of change. Adding one takes a row in changes.cpp.
struct ChangeRow {
  std::string_view name;   ///< the flag: "inner-bandwidth"
  std::string_view about;  ///< one line
  Changed changed = Changed::Network;
  /// Throws InputError at the change's place. `file` is used by changes of the profile.
  void (*apply)(Scenario& scenario, const ChangeText& change, const ProfileFile& file) = nullptr;
  std::string_view value = "N";                   ///< as shown by help
  std::vector<std::string> (*words)() = nullptr;  ///< the valid values, if they are words
};

/// Returns the kinds of change in the order in which they are applied.
std::span<const ChangeRow> change_rows();

/// Applies the changes of `what`; several of one kind are applied in turn. The changed profile or cluster has the
/// change in its name, a profile also in its origin and source. Throws InputError.
void apply_changes(Scenario& scenario, std::span<const ChangeText> changes, Changed what, const ProfileFile& file = {});

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
