#include "sim/html/page_title.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/core/json.hpp"
#include "sim/report/phrases.hpp"
#include "sim/workload/model_file.hpp"

namespace allreplay {

namespace {

// The file that a row of the CSV calls by this name; "" where nobody knows.
std::string file_of(const Files& files, const std::string& name, std::string_view folder,
                    const std::optional<Sweep>& sweep, std::string Request::*asked) {
  if (sweep)
    for (const Request& request : sweep->requests)
      if (const std::filesystem::path path(request.*asked);
          path == name || path.stem() == name || path.filename() == name)
        return files.locate_data(folder, request.*asked).value_or("");
  const std::vector<std::string> known = files.list_data(folder);
  if (std::find(known.begin(), known.end(), name) == known.end()) return "";
  return files.locate_data(folder, name).value_or("");
}

// "GoogLeNet with batch normalisation: 173 tensors, …" is GoogLeNet.
std::string model_in_words(const Files& files, const std::string& file) {
  if (std::filesystem::path(file).extension() != ".json") return "";
  std::string text = model_of_profile(files, Json::read(files, file)).description;
  for (const std::string_view end : {":", ",", " with ", " without ", " ("})
    text.resize(std::min(text.find(end), text.size()));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string network_in_words(const Files& files, const std::string& file) {
  const auto description = Json::read(files, file).find("description");
  return description ? network_named_in(description->text()) : "";
}

template <typename Words>
void add_words(const Files& files, std::map<std::string, std::string>& known, const std::string& name,
               const std::string& file, const Words& words) {
  if (file.empty() || known.contains(name)) return;
  try {
    if (const std::string text = words(files, file); !text.empty()) known.emplace(name, text);
  } catch (const InputError&) {  // a title is no place to complain of a file
  }
}

// Each once, in the order of the file.
class Distinct {
 public:
  void add(const std::string& text) {
    if (std::find(list_.begin(), list_.end(), text) == list_.end()) list_.push_back(text);
  }
  std::size_t size() const { return list_.size(); }
  const std::string& front() const { return list_.front(); }

  /// All, where there are few; else how many.
  std::string told(std::size_t most, const std::string& nouns) const {
    return list_.size() <= most ? listed(list_) : in_words(list_.size()) + " " + nouns;
  }

 private:
  std::vector<std::string> list_;
};

std::string in_words_or_name(const std::map<std::string, std::string>& words, const std::string& name) {
  const auto found = words.find(name);
  return found == words.end() ? name : found->second;
}

}  // namespace

PageTitle page_title(const Files& files, const std::string& config) {
  const Json json = Json::read(files, files.find_data("configs", config, "sweep"));
  PageTitle title;
  if (const auto name = json.find("name")) title.name = name->text();
  if (const auto text = json.find("reproduces")) title.reproduces = text->text();
  if (const auto text = json.find("description")) title.description = text->text();
  if (const auto plot = json.find("plot")) title.plot = plot->dump();
  return title;
}

std::string network_named_in(const std::string& text) {
  constexpr std::string_view unit = " Gbit/s ";
  for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at + 1)) {
    const std::size_t rate = text.substr(0, at).find_last_not_of("0123456789.") + 1;  // npos + 1 is 0
    for (const std::string_view kind : {"Ethernet", "InfiniBand"})
      if (rate < at && std::string_view(text).substr(at + unit.size()).starts_with(kind))
        return text.substr(rate, at + unit.size() + kind.size() - rate);
  }
  return "";
}

NamesInWords names_in_words(const Files& files, const SweepResult& result, const std::optional<Sweep>& sweep) {
  NamesInWords names;
  std::set<std::string> profiles, clusters;
  for (const ResultRow& row : result.rows) {
    if (profiles.insert(row.profile).second)
      add_words(files, names.models, row.profile, file_of(files, row.profile, "traces", sweep, &Request::profile),
                model_in_words);
    if (clusters.insert(row.cluster).second)
      add_words(files, names.networks, row.cluster, file_of(files, row.cluster, "topologies", sweep, &Request::cluster),
                network_in_words);
  }
  return names;
}

std::string title_in_words(const SweepResult& result, const NamesInWords& names) {
  Distinct models, strategies, codecs, clusters, networks;
  std::int64_t least = result.rows.front().workers, most = least;
  for (const ResultRow& row : result.rows) {
    models.add(in_words_or_name(names.models, row.profile));
    strategies.add(row.strategy);
    codecs.add(row.codec);
    clusters.add(row.cluster);
    networks.add(in_words_or_name(names.networks, row.cluster));
    least = std::min(least, row.workers);
    most = std::max(most, row.workers);
  }
  std::string schedules = strategies.told(1, "schedules");
  if (codecs.size() > 1) schedules += fmt::format(" with {} codecs", in_words(codecs.size()));
  std::string network = networks.front();
  if (clusters.size() > 1) {
    network = in_words(clusters.size()) + " clusters";
    if (networks.size() == 1) network += " of " + networks.front();
  }
  std::string title =
      fmt::format("{} on {}: {} on {}", models.told(3, "models"), workers_text(least, most), schedules, network);
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

}  // namespace allreplay
