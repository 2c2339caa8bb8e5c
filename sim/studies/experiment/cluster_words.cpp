#include "sim/studies/experiment/cluster_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

namespace {

constexpr ClusterWordRow word_rows[] = {
    {"nodes", "N", "number of nodes"},
    {"gpus", "N", "GPUs of each node"},
    {"network", "RATE", "rate of a node's network port (one, or --rails)"},
    {"inner", "RATE", "rate of each GPU inside a node"},
    {"alpha", "TIME", "start-up of a message between nodes (5us)"},
    {"inner-alpha", "TIME", "the same inside a node (1us)"},
};

constexpr std::string_view example = "such as --nodes 8 --gpus 8 --network 400Gbit/s --inner 370GB/s";

class GivenWords {
 public:
  explicit GivenWords(std::span<const ChangeText> given) : given_(given) {}

  const ChangeText* find(std::string_view name) const {
    const auto found = std::find_if(given_.begin(), given_.end(), [&](const auto& one) { return one.name == name; });
    return found == given_.end() ? nullptr : &*found;
  }

  const ChangeText& at(std::string_view name) const {
    if (const ChangeText* found = find(name)) return *found;
    const std::string file = given_.front().place.file;
    throw InputError({file, fmt::format("--{}", name)}, fmt::format("is required with --{}", given_.front().name),
                     example);
  }

  std::int64_t count(std::string_view name) const {
    return parse_integer(at(name).value, 1, most_workers, at(name).place);
  }

  std::string rate(std::string_view name) const {
    const auto& [key, value, place] = at(name);
    if (!(parse_rate(value, place) > 0)) throw InputError(place, "is not above zero", "a rate above zero");
    return apart(value);
  }

  std::string time(std::string_view name, std::string_view default_text) const {
    const ChangeText* found = find(name);
    if (found) parse_duration(found->value, found->place);
    return found ? apart(found->value) : std::string(default_text);
  }

 private:
  // Writes "400Gbit/s" as in files: "400 Gbit/s".
  static std::string apart(std::string_view text) {
    const std::string_view value = trim(text);
    const std::size_t unit = std::min(value.find_first_not_of("0123456789.+-eE"), value.size());
    const std::string_view number = trim(value.substr(0, unit)), rest = trim(value.substr(unit));
    return rest.empty() ? std::string(number) : fmt::format("{} {}", number, rest);
  }

  std::span<const ChangeText> given_;
};

}  // namespace

std::span<const ClusterWordRow> cluster_word_rows() { return word_rows; }

std::string cluster_file_of(std::span<const ChangeText> given) {
  const GivenWords words(given);
  const std::int64_t nodes = words.count("nodes"), gpus = words.count("gpus");
  if (nodes * gpus > most_workers)
    throw InputError(words.at("gpus").place, fmt::format("{} nodes of {} are {} workers", nodes, gpus, nodes * gpus),
                     fmt::format("at most {}", most_workers));
  JsonValue network;
  std::string name = fmt::format("{}x{} {}", nodes, gpus, words.rate("network"));
  if (gpus > 1) {
    name += fmt::format(", {} inside", words.rate("inner"));
    network["node"] = {
        {"workers", gpus}, {"alpha", words.time("inner-alpha", "1 us")}, {"bandwidth", words.rate("inner")}};
  }
  for (const char* one : {"inner", "inner-alpha"})
    if (const ChangeText* useless = gpus == 1 ? words.find(one) : nullptr)
      throw InputError(useless->place, "is for links inside a node, but nodes have one GPU", "--gpus of 2 or more");
  for (const char* one : {"alpha", "inner-alpha"})
    if (words.find(one)) name += fmt::format(", {} {}", one, words.time(one, ""));
  network["alpha"] = words.time("alpha", "5 us");
  network["bandwidth"] = words.rate("network");
  if (words.find("rails")) {
    const std::int64_t rails = words.count("rails");
    if (rails > gpus)
      throw InputError(words.at("rails").place,
                       fmt::format("{} network ports among the {} GPUs of a node", rails, gpus),
                       fmt::format("at most {}", gpus));
    if (gpus > 1) network["rails"] = rails;
    name += fmt::format(" (rails {})", rails);
  }
  const JsonValue file{{"name", name}, {"workers", nodes * gpus}, {"network", network}};
  return json_text(file, 2) + "\n";
}

std::int64_t nodes_for(std::int64_t workers, std::int64_t gpus) { return (workers + gpus - 1) / gpus; }

void make_room(std::vector<ChangeText>& words, std::int64_t workers) {
  const GivenWords given(words);
  const std::int64_t needed = nodes_for(workers, given.count("gpus"));
  if (needed <= given.count("nodes")) return;
  for (ChangeText& word : words)
    if (word.name == "nodes") word.value = std::to_string(needed);
}

}  // namespace allreplay
