#include "sim/experiment/request.hpp"

#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "sim/core/file.hpp"
#include "sim/interchange/plan_file.hpp"
#include "sim/workload/profile_file.hpp"

namespace allreplay {

struct Library::ClusterFile {
  Cluster cluster;
  Json json;  // stragglers are read once the number of workers is known
};

const Profile& Library::profile(const Request& request) {
  const auto key = std::pair(request.profile, request.forward_ratio);
  const auto found = profiles_.find(key);
  if (found != profiles_.end()) return found->second;
  if (request.forward_ratio && !(*request.forward_ratio >= 0 && *request.forward_ratio <= 1000))
    throw InputError(request.place_of_ratio,
                     fmt::format("{} is not a ratio of forward to backward time", *request.forward_ratio),
                     "0 to 1000, such as 0.5");
  return profiles_.emplace(key, read_profile(request.profile, request.forward_ratio)).first->second;
}

const Library::ClusterFile& Library::cluster(const std::string& name) {
  std::shared_ptr<const ClusterFile>& file = clusters_[name];
  if (!file) {
    const Json json = Json::read(find_data("topologies", name, "cluster"));
    json.allow_only({"name", "description", "source", "workers", "network", "stragglers", "jitter"});
    file = std::make_shared<ClusterFile>(ClusterFile{read_cluster(json), json});
  }
  return *file;
}

const Cluster& Library::cluster_named(const std::string& name) { return cluster(name).cluster; }

namespace {

constexpr std::string_view codec_folder = "models/codecs";

// "Tesla P102-100" as file names have it: "tesla-p102-100".
std::string slug(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += std::isalnum(static_cast<unsigned char>(c))
                  ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                  : '-';
  return result;
}

}  // namespace

// A file as it stands; a method for the profile's device where its times are known there, else wherever they are.
const CodecCosts& Library::codec(const Request& request, const std::string& device) {
  const auto on_device = locate_data(codec_folder, fmt::format("{}_{}", request.codec, slug(device)));
  const auto anywhere = on_device ? on_device : locate_data(codec_folder, request.codec);
  if (!anywhere)
    throw InputError(request.place_of_codec, fmt::format("no codec '{}'", request.codec),
                     suggest(request.codec, list_data(codec_folder)));
  const auto known = codecs_.find(*anywhere);
  if (known != codecs_.end()) return known->second;
  const std::string name = std::filesystem::path(*anywhere).stem().string();
  return codecs_.emplace(*anywhere, read_codec(Json::read(*anywhere), name)).first->second;
}

Scenario Library::resolve_network(const Request& request) {
  const Cluster& named = cluster(request.cluster).cluster;
  Scenario scenario;
  scenario.cluster = named;
  scenario.workers = request.workers.value_or(named.workers);
  if (scenario.workers < 1 || scenario.workers > most_workers)
    throw InputError(request.place_of_workers, fmt::format("{} workers", scenario.workers),
                     fmt::format("1 to {}", most_workers));
  for (const auto& [name, value] : named.network.options) scenario.options.set(name, value, named.network.place / name);
  for (const OptionText& option : request.options) scenario.options.set(option.name, option.value, option.place);
  scenario.collective = request.collective;
  scenario.fidelity = request.fidelity;
  scenario.reuse = request.reuse;
  scenario.place_of_collective = request.place_of_collective;
  scenario.place_of_fidelity = request.place_of_fidelity;
  return scenario;
}

namespace {

std::shared_ptr<const GivenPlan> given_plan(const std::string& file, const Profile& profile) {
  auto given = std::make_shared<GivenPlan>();
  given->file = file;
  given->plan = read_plan(file, profile);
  given->name = given->plan.strategy;
  given->strategy.name = given->name;
  given->strategy.summary = "a plan from a file";
  given->strategy.split = uses_halves(given->plan);
  // When a codec decodes is not the plan's to say: it stays the strategy's default.
  for (const Strategy& one : strategies())
    if (one.name == given->name) given->strategy.decode_at = one.decode_at;
  return given;
}

}  // namespace

Scenario Library::resolve(const Request& request) {
  Scenario scenario = resolve_network(request);
  scenario.profile = profile(request);
  scenario.stragglers = read_stragglers(cluster(request.cluster).json, scenario.workers);
  if (request.plan.empty()) {
    scenario.strategy = &find_strategy(request.strategy, request.place_of_strategy);
  } else {
    scenario.given = given_plan(request.plan, scenario.profile);
    scenario.strategy = &scenario.given->strategy;
  }
  auto& partition = scenario.options.strategy.partition;
  if (!partition && scenario.strategy->partition > 0) partition = scenario.strategy->partition;
  if (request.codec.empty() || request.codec == "none") return scenario;
  scenario.codec = codec(request, scenario.profile.device);
  scenario.place_of_codec = request.place_of_codec;
  auto& decode_at = scenario.options.codec.decode_at;
  if (!decode_at) decode_at = scenario.strategy->decode_at;
  return scenario;
}

}  // namespace allreplay
