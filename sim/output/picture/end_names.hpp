// Names at the ends of curves, instead of a legend that the eye has to go back to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/output/picture/series_look.hpp"

namespace allreplay {

struct EndName {
  std::string text;                ///< the series
  std::optional<SeriesLook> look;  ///< none: a reference, in grey dashes
  Position end;                    ///< of the curve
};

/// The width of names on the right of a field, with the lines that lead to them.
double width_of_end_names(const std::vector<EndName>& names);

/// True if that many names fit next to a field of this height.
bool end_names_fit(std::size_t names, double height);

/// Writes each name as near to the end of its curve as the others allow, with a line from there to it.
void add_end_names(Drawing& drawing, const Box& field, std::vector<EndName> names);

/// The look of a reference, which is behind all others.
Look reference_look();

}  // namespace allreplay
