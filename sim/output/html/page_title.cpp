#include "sim/output/html/page_title.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/report/phrases.hpp"

namespace allreplay {

namespace {

// Distinct texts in the order of the file.
class Distinct {
 public:
  void add(const std::string& text) {
    if (std::find(list_.begin(), list_.end(), text) == list_.end()) list_.push_back(text);
  }
  std::size_t size() const { return list_.size(); }

  /// Returns a list of the texts if there are at most `most`, otherwise their number.
  std::string listed_or_counted(std::size_t most, const std::string& noun) const {
    return list_.size() <= most ? listed(list_) : counted(std::ssize(list_), noun);
  }

 private:
  std::vector<std::string> list_;
};

}  // namespace

PageTitle page_title(const Files& files, const std::string& config) {
  const Json json = Json::read(files, files.find_data("configs", config, "sweep"));
  PageTitle title;
  if (const auto name = json.find("name")) title.name = name->text();
  if (const auto text = json.find("reproduces")) title.reproduces = text->text();
  if (const auto text = json.find("description")) title.description = text->text();
  if (const auto plot = json.find("plot")) read_plot_options(title.plot.emplace(), *plot);
  return title;
}

std::string title_in_words(const SweepResult& result) {
  Distinct profiles, strategies, codecs, clusters;
  std::int64_t least = result.rows.front().workers, most = least;
  for (const ResultRow& row : result.rows) {
    profiles.add(row.profile);
    strategies.add(row.strategy);
    codecs.add(row.codec);
    clusters.add(row.cluster);
    least = std::min(least, row.workers);
    most = std::max(most, row.workers);
  }
  std::string schedules = strategies.listed_or_counted(1, "schedule");
  if (codecs.size() > 1) schedules += " with " + codecs.listed_or_counted(1, "codec");
  return fmt::format("{} on {}: {} on {}", profiles.listed_or_counted(3, "profile"), workers_text(least, most),
                     schedules, clusters.listed_or_counted(1, "cluster"));
}

}  // namespace allreplay
