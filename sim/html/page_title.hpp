// What a page is called, and what the sweep's configuration says of itself.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/experiment/sweep.hpp"
#include "sim/report/sweep_result.hpp"

namespace allreplay {

struct PageTitle {
  std::string name;         ///< "": the CSV's
  std::string reproduces;   ///< the figure or table; may be empty
  std::string description;  ///< may be empty
  std::string plot;         ///< the JSON object "plot": how to group and label what the charts show; may be empty
  std::string heading;      ///< the title in words; "": the name
};

/// The title of a configuration file, without the heading. Throws InputError.
PageTitle page_title(const Files& files, const std::string& config);

/// What names stand for, as the files behind them say: "ResNet-50", "10 Gbit/s Ethernet". Names whose files are not
/// found, or say nothing of the kind, are left out.
struct NamesInWords {
  std::map<std::string, std::string> models;    ///< of profiles
  std::map<std::string, std::string> networks;  ///< of clusters
};

/// "10 Gbit/s Ethernet": the first network that a text names with its rate; "" if it names none.
std::string network_named_in(const std::string& text);

/// `sweep`, where given, says which files were meant; else shipped ones are looked up, and no others.
NamesInWords names_in_words(const Files& files, const SweepResult& result, const std::optional<Sweep>& sweep);

/// "ResNet-50 on 4 to 2048 workers: eight schedules on 10 Gbit/s Ethernet".
std::string title_in_words(const SweepResult& result, const NamesInWords& names);

}  // namespace allreplay
