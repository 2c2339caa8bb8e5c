// Renders a sweep as one self-contained web page: a verdict, charts, a table and timelines.
#pragma once

#include <string>

#include "sim/output/html/chosen_timelines.hpp"
#include "sim/output/html/page_title.hpp"
#include "sim/output/report/sweep_result.hpp"

namespace allreplay {

/// Returns the page in HTML 5. The same arguments give the same bytes.
std::string report_page(const SweepResult& result, const ChosenTimelines& chosen, const PageTitle& title);

}  // namespace allreplay
