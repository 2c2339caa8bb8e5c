// Notes that several reports share: what to know before one trusts or compares the numbers. They are data; their
// sentences stand in notes.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/experiment/scaling.hpp"

namespace allreplay {

/// The notes on outcomes that are shown together, the most important first: {"note": kind, and the values that its
/// sentence needs}. `references` has one for each outcome, or none if the report
/// has no efficiencies.
JsonValue notes_on(const std::vector<Outcome>& outcomes, const std::vector<ScalingReference>& references);

/// True if a model spread the times over layers: reconstructed and estimated ones. Those of imported traces are
/// measured.
bool is_inferred(std::string_view origin);
bool is_estimated(std::string_view origin);

/// The error of predictions that are nearest to one, with the page that has it.
JsonValue error_json(const NearestError& error);

/// The origin of a profile's times, and the error of iterations that were simulated with them, if that is to be noted.
struct TimesOfProfile {
  std::string origin;
  std::optional<NearestError> error = {};
};

/// A note for each profile whose times are inferred; those on estimated ones have the error.
JsonValue notes_on_origins(const std::map<std::string, TimesOfProfile>& by_profile);
JsonValue note_on_origin(const Profile& profile);
JsonValue note_on_origin(const Outcome& outcome);

/// A note if gradients are summed in two bytes, which saves memory and traffic but loses precision.
JsonValue note_on_short_sums(const Scenario& scenario);

/// Adds the items of `more`.
void append(JsonValue& notes, const JsonValue& more);

/// A note's sentence, with holes for its values. Throws std::logic_error for an unknown kind.
std::string_view sentence_of_note(std::string_view kind);

/// The kinds, for tests.
std::vector<std::string_view> note_kinds();

}  // namespace allreplay
