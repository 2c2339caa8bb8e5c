// Names written where curves end, instead of a legend that the eye has to go back to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/picture/series_look.hpp"

namespace allreplay {

struct EndName {
  std::string series, text;
  std::optional<SeriesLook> look;  ///< none: a reference, in grey dashes
  Position end;                    ///< of the curve; above the field where it left it
  double value = 0;                ///< there: of those above the field the greatest stands first
};

/// So wide are names on the right of a field, with what leads to them.
double width_of_end_names(const std::vector<EndName>& names);

/// Whether so many fit beside a field of this height.
bool end_names_fit(std::size_t names, double height);

/// Writes each as near to the end of its curve as the others let it, and leads from there to it.
void add_end_names(Drawing& drawing, const Box& field, std::vector<EndName> names);

/// How a reference is drawn: behind all others.
Look reference_look();

}  // namespace allreplay
