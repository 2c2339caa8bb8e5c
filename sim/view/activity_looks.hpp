// How pictures show time and what takes it: the same everywhere.
#pragma once

#include "sim/picture/drawing.hpp"
#include "sim/view/timeline_rows.hpp"

namespace allreplay {

Look look_of(Activity activity);
Colour ink_on(Activity activity);  ///< of letters on it
Look look_of_waiting();            ///< computing that waits for communication
Look look_of_stragglers();         ///< waiting for slow workers
Look look_of_idle();               ///< a rank of a pipeline that waits
Look look_of_exposed();            ///< laid over communication for which computing waits

}  // namespace allreplay
