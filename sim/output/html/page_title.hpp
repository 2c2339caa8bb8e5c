// The title of a report page, and the description in the sweep's configuration.
#pragma once

#include <optional>
#include <string>

#include "sim/output/report/sweep_result.hpp"
#include "sim/output/view/plot_options.hpp"
#include "sim/studies/experiment/sweep.hpp"

namespace allreplay {

struct PageTitle {
  std::string name;        ///< "": the CSV's name
  std::string reproduces;  ///< the figure or table that the sweep reproduces; may be empty
  std::string description;
  std::optional<PlotOptions> plot;  ///< options of the first chart
  std::string heading;              ///< "": the name
};

/// Reads the title from a configuration file; the heading stays empty. Throws InputError.
PageTitle page_title(const Files& files, const std::string& config);

/// Returns "resnet50_k80_b16 on 4 to 2048 workers: eight schedules on k80-10gbe".
std::string title_in_words(const SweepResult& result);

}  // namespace allreplay
