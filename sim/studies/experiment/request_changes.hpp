// Changes of requests, and the outcomes of several changed requests. `whatif` and `judge` ask with them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/farm/batch.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

using RequestChange = std::function<void(Request&)>;

/// Sets an option.
RequestChange option_change(const std::string& name, const std::string& value);

/// Adds one of change_rows(), such as "bandwidth" "x2".
RequestChange flag_change(const std::string& name, const std::string& value);

/// Resolves and runs the requests in parallel, and calls `take` for each; impossible ones leave their error in `wrong`.
/// `asked` makes the job for another process, if the batch has a farm. REQUIRES: `wrong` has an item for each request.
void run_requests(Library& library, std::span<const Request> requests, const Batch& batch,
                  const std::function<FarmJob(const Request&, const Scenario&)>& asked,
                  const std::function<void(std::size_t, Outcome)>& take, std::vector<std::string>& wrong);

}  // namespace allreplay
