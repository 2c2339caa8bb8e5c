// The place that an InputError names. Tests check places, never wording.
#pragma once

#include <string>

#include "sim/base/core/error.hpp"

/// Returns the place of the InputError that `action` throws ("FILE", "FILE: PLACE" or, if it names none, "no place"),
/// or "" if it throws none.
template <class Action>
std::string error_place(const Action& action) {
  try {
    action();
  } catch (const allreplay::InputError& error) {
    const allreplay::SourceLocation& place = error.place();
    const bool both = !place.file.empty() && !place.path.empty();
    return place.file.empty() && place.path.empty() ? "no place" : place.file + (both ? ": " : "") + place.path;
  }
  return "";
}
