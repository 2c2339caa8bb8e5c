// The report of `tune`.
#pragma once

#include <string>

#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/tuning.hpp"

namespace allreplay {

/// All trials and the best options found.
JsonValue tuning_json(const Tuning& tuning);
/// The same with title, settings (flags of `run`), shares and notes; a trial has its number and fits.
JsonValue tuning_document(const Tuning& tuning);
const View& tuning_view();  ///< of tuning_document()

/// The trials as CSV: the columns that identify the tuning, a column for each option, iteration_s and best_so_far_s.
std::string tuning_csv(const Tuning& tuning);

}  // namespace allreplay
