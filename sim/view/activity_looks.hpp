// How pictures show time and what takes it: the same everywhere.
#pragma once

#include "sim/picture/drawing.hpp"
#include "sim/view/timeline_rows.hpp"

namespace allreplay {

/// "backward", "all-gather": a shape's kind, and its name in a legend.
std::string to_string(Activity activity);

/// In which an axis up to this many seconds reads well.
struct TimeUnit {
  const char* name;
  double seconds;
};
TimeUnit unit_for(double seconds);

/// Likewise of this many bytes.
struct SizeUnit {
  const char* name;
  double bytes;
};
SizeUnit size_unit_for(double bytes);

Look look_of(Activity activity);
Look look_of_waiting();  ///< computing that waits for communication
Look look_of_exposed();  ///< laid over communication for which computing waits

}  // namespace allreplay
