// Questions of the kind "what if", as flags of every command: each changes the profile or the cluster of a scenario
// before anything uses them, so that nobody has to copy a file to ask.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/training/simulate.hpp"

namespace allreplay {

/// One as given: which, its text, and where it was given.
struct ChangeText {
  std::string name;
  std::string value;
  SourceLocation place;
};

/// What of a scenario a change concerns.
enum class Changed : std::uint8_t { Network, Profile, Stragglers };

/// The file behind a profile.
struct ProfileFile {
  const Files* files = nullptr;
  std::string name;
};

/// All that there is to know of one. Adding one is a row.
struct ChangeRow {
  std::string_view name;   ///< of the flag: "inner-bandwidth"
  std::string_view about;  ///< one line
  Changed changed = Changed::Network;
  /// Throws InputError at the text's place. `file`: for those of the profile.
  void (*apply)(Scenario& scenario, const ChangeText& change, const ProfileFile& file) = nullptr;
  std::string_view value = "N";                   ///< as help shows it
  std::vector<std::string> (*words)() = nullptr;  ///< those that it takes, where they are known
};

/// In the order in which they are applied.
std::span<const ChangeRow> change_rows();

/// Applies those texts that concern `what`, those of one name one after another. What is changed says so in its name,
/// and a profile in its origin and source, too. Throws InputError.
void apply_changes(Scenario& scenario, std::span<const ChangeText> changes, Changed what, const ProfileFile& file = {});

}  // namespace allreplay
