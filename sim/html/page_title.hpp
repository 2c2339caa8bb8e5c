// What a page is called, and what the sweep's configuration says of itself.
#pragma once

#include <optional>
#include <string>

#include "sim/experiment/sweep.hpp"
#include "sim/report/sweep_result.hpp"
#include "sim/view/plot_options.hpp"

namespace allreplay {

struct PageTitle {
  std::string name;                 ///< "": the CSV's
  std::string reproduces;           ///< the figure or table; may be empty
  std::string description;          ///< may be empty
  std::optional<PlotOptions> plot;  ///< what the charts show
  std::string heading;              ///< the title in words; "": the name
};

/// The title of a configuration file, without the heading. Throws InputError.
PageTitle page_title(const Files& files, const std::string& config);

/// "resnet50_k80_b16 on 4 to 2048 workers: eight schedules on k80-10gbe".
std::string title_in_words(const SweepResult& result);

}  // namespace allreplay
