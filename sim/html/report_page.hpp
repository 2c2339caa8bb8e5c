// A sweep as one web page that needs nothing else: words, charts, a table and timelines.
#pragma once

#include <string>

#include "sim/html/chosen_timelines.hpp"
#include "sim/html/page_title.hpp"
#include "sim/report/sweep_result.hpp"

namespace allreplay {

/// The page, in HTML 5. The same arguments give the same bytes.
std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title);

}  // namespace allreplay
