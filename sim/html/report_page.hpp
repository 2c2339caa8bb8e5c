// A sweep as one web page that needs nothing else: words, charts, a table and timelines.
#pragma once

#include <optional>
#include <string>

#include "sim/core/json.hpp"
#include "sim/html/chosen_timelines.hpp"
#include "sim/html/summary.hpp"
#include "sim/html/sweep_result.hpp"

namespace allreplay {

/// What the sweep's configuration says of itself.
struct PageTitle {
  std::string name;         ///< "": the CSV's
  std::string reproduces;   ///< the figure or table; may be empty
  std::string description;  ///< may be empty
  std::string plot;         ///< the JSON object "plot": how to group and label what the charts show; may be empty
};

/// The title of a configuration file. Throws InputError.
PageTitle page_title(const std::string& config);

/// The page, in HTML 5. The same arguments give the same bytes.
std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title);

}  // namespace allreplay
