// The colours and hatches of activities and waits, shared by all pictures.
#pragma once

#include "sim/output/picture/drawing.hpp"
#include "sim/output/view/timeline_rows.hpp"

namespace allreplay {

Look look_of(Activity activity);
Colour ink_on(Activity activity);  ///< the colour of text on it
Look look_of_waiting();            ///< computation that waits for communication
Look look_of_stragglers();         ///< waiting for slow workers
Look look_of_idle();               ///< a waiting rank of a pipeline
Look look_of_exposed();            ///< drawn over communication that computation waits for

}  // namespace allreplay
