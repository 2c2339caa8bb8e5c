#include "sim/studies/experiment/request.hpp"

#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/digest.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/replay/network/known_networks.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/experiment/changes.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"
#include "sim/studies/experiment/profile_degrees.hpp"

namespace allreplay {

namespace {

// Returns all collectives that the request and its cluster name.
std::vector<std::string> collectives_of(const Request& request, const Network& network) {
  std::vector<std::string> names{request.collective, network.collective};
  for (const auto& [operation, name] : network.by_operation) names.push_back(name);
  return names;
}

}  // namespace

void set_option(Request& request, const std::string& name, const std::string& value) {
  std::erase_if(request.options, [&](const OptionText& one) { return one.name == name; });
  if (!value.empty()) request.options.push_back({name, value, {"command line", "--option " + name}});
}

std::vector<std::string> run_flags(const Request& request) {
  std::vector<std::string> flags;
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) flags.insert(flags.end(), {flag, value});
  };
  add("--profile", request.profile);
  add("--model", request.model);
  add("--device", request.device);
  add("--seq", request.tokens);
  if (request.sequence_parallel) flags.emplace_back("--sequence-parallel");
  add("--cluster", request.cluster);
  for (const ChangeText& one : request.cluster_words) add("--" + one.name, one.value);
  if (request.workers.value) add("--workers", std::to_string(*request.workers.value));
  add("--strategy", request.strategy);
  add("--plan", request.plan);
  add("--collective", request.collective);
  add("--fidelity", request.fidelity);
  add("--codec", request.codec);
  if (request.forward_ratio.value) add("--forward-ratio", fmt::format("{}", *request.forward_ratio.value));
  if (!request.reuse) flags.emplace_back("--no-reuse");
  for (const OptionText& one : request.options) add("--option", one.name + "=" + one.value);
  for (const ChangeText& one : request.changes) add("--" + one.name, one.value);
  return flags;
}

std::string beside(const Files& files, const std::string& file, const std::string& name) {
  const std::string near = (std::filesystem::path(file).parent_path() / name).string();
  return files.is_file(near) ? near : name;
}

Library::Library(Inputs inputs) : inputs_(std::move(inputs)), networks_(std::make_shared<KnownNetworks>()) {}
struct Library::ClusterFile {
  Cluster cluster;
  Json json;                       // for stragglers, which are read once the number of workers is known
  std::vector<ChangeSet> changes;  // applied before those of a request
};

// Returns the value from this library's shelf; else from KeptInputs, if its files are unchanged; else reads it.
template <class Key, class Value, class Read>
const Value& Library::known(Shelf<Key, Value> Shelves::*shelf, const Key& key, const Read& read) {
  auto& own = (shelves_.*shelf)[key];
  if (own) return own->value;
  const auto found = [&]() -> std::shared_ptr<const Known<Value>> {
    if (!inputs_.kept) return nullptr;
    const std::lock_guard guard(inputs_.kept->mutex_);
    const auto& kept = inputs_.kept->shelves_.*shelf;
    const auto place = kept.find(key);
    return place == kept.end() ? nullptr : place->second;
  };
  if (const auto kept = found(); kept && kept->sources.unchanged(inputs_.files)) return (own = kept)->value;
  ReadDigest contents;
  Value value = read(inputs_.files.noting(contents));
  own = std::make_shared<const Known<Value>>(Known<Value>{std::move(value), contents.value, contents.sources});
  if (!inputs_.kept) return own->value;
  constexpr std::size_t most = 64;  // bounds the memory for callers that always have new inputs
  const std::lock_guard guard(inputs_.kept->mutex_);
  auto& kept = inputs_.kept->shelves_.*shelf;
  if (kept.size() >= most) kept.clear();
  kept[key] = own;
  return own->value;
}

const Shared<Profile>& Library::read(const Request& request) {
  const std::optional<double>& ratio = request.forward_ratio;
  if (ratio && !(*ratio >= 0 && *ratio <= 1000))
    throw InputError(request.forward_ratio.place, fmt::format("{} is not a ratio of forward to backward time", *ratio),
                     "0 to 1000, such as 0.5");
  return known(&Shelves::profiles, std::pair(request.profile.value, ratio), [&](const Files& files) {
    Profile read = read_profile(files, request.profile, ratio);
    require_name(read.name, {request.profile.value, ""});
    return Shared<Profile>(std::move(read));
  });
}

Shared<Profile> Library::estimated(const Request& request, const ParallelOptions& parallel) {
  const EstimateWords words = estimate_words(request, parallel);
  return known(&Shelves::estimates, words.text(),
               [&](const Files& files) { return Shared<Profile>(estimated_profile(files, words)); });
}

Shared<Profile> Library::profile(const Request& request) {
  if (!request.model.empty()) return estimated(request, resolve_network(request).options.parallel);
  Scenario scenario;
  scenario.profile = read(request);
  if (!request.changes.empty())
    apply_changes(scenario, request.changes, Changed::Profile,
                  {&inputs_.files, inputs_.files.find_data("traces", request.profile, "profile")});
  return scenario.profile;
}

Library::ClusterFile Library::cluster_in(const Json& json, bool counts) {
  json.allow_only({"name", "description", "source", "workers", "network", "stragglers", "spread", "jitter",
                   "interference", "parallel", "changes"});
  ClusterFile file{read_cluster(json, counts), json, saved_changes(json)};
  require_name(file.cluster.name, json.place() / "name");
  return file;
}

const Library::ClusterFile& Library::cluster(const std::string& name) {
  return known(&Shelves::clusters, name, [&](const Files& files) {
    return cluster_in(Json::read(files, files.find_data("topologies", name, "cluster")), true);
  });
}

void Library::add_cluster(const std::string& name, const Json& json) {
  shelves_.clusters[name] =
      std::make_shared<const Known<ClusterFile>>(Known<ClusterFile>{cluster_in(json, false), digest(json.dump()), {}});
}

const Library::ClusterFile& Library::cluster(const Request& request) {
  if (request.cluster_words.empty()) return cluster(request.cluster);
  const std::string text = cluster_file_of(request.cluster_words);
  return known(&Shelves::clusters, text, [&](const Files&) {
    const Json json = Json::parse(text, "the cluster in words");
    return ClusterFile{read_cluster(json), json, {}};
  });
}

std::shared_ptr<const CollectiveFile> Library::collective_file(const std::string& file) {
  return known(&Shelves::collectives, file, [&](const Files& files) {
    auto read = file.ends_with(".xml") ? read_msccl(files.read(file), file) : read_collective(Json::read(files, file));
    require_name(read->name, {file, "/name"});
    return read;
  });
}

// Resolves a collective that the cluster's file names: if it is a file, relative to the cluster file's folder.
std::string Library::collective_beside(const Request& request, const std::string& name) const {
  if (!names_a_file(name) || !request.cluster_words.empty()) return name;
  return beside(inputs_.files, inputs_.files.find_data("topologies", request.cluster, "cluster"), name);
}

Cluster Library::cluster_named(const std::string& name) {
  const ClusterFile& file = cluster(name);
  Scenario scenario;
  scenario.cluster = file.cluster;
  scenario.workers = file.cluster.workers;
  for (const ChangeSet& set : file.changes) apply_changes(scenario, set, Changed::Network);
  return scenario.cluster;
}

void Library::set_stragglers(Scenario& scenario, const Request& request) {
  const ClusterFile& file = cluster(request);
  scenario.stragglers = read_stragglers(file.json, scenario.workers);
  for (const ChangeSet& set : file.changes) apply_changes(scenario, set, Changed::Stragglers);
  apply_changes(scenario, request.changes, Changed::Stragglers);
}

namespace {

constexpr std::string_view codec_folder = "models/codecs";

// Writes "Tesla P102-100" as in file names: "tesla-p102-100".
std::string slug(std::string_view text) {
  std::string result = lower_case(text);
  for (char& c : result)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return result;
}

}  // namespace

// Returns the named file; for a method, the file with its times on the profile's device, else one of any device.
std::string Library::codec_file(const Request& request, const std::string& device) const {
  const auto on_device =
      inputs_.files.locate_data(codec_folder, fmt::format("{}_{}", request.codec.value, slug(device)));
  const auto anywhere = on_device ? on_device : inputs_.files.locate_data(codec_folder, request.codec);
  if (!anywhere) hint_at_absent_name(request.codec.value, request.codec.place);
  if (!anywhere)
    throw InputError(request.codec.place, fmt::format("no codec '{}'", request.codec.value),
                     suggest(request.codec.value, inputs_.files.list_data(codec_folder)));
  return *anywhere;
}

const CodecCosts& Library::codec(const Request& request, const std::string& device) {
  const std::string file = codec_file(request, device);
  return known(&Shelves::codecs, file, [&](const Files& files) {
    const std::string name = std::filesystem::path(file).stem().string();
    require_name(name, {file, ""});
    return read_codec(Json::read(files, file), name);
  });
}

const std::optional<Device>& Library::device(const Profile& profile) {
  return known(&Shelves::devices, profile.device,
               [&](const Files& files) { return device_called(files, profile.device); });
}

std::uint64_t Library::digest_of(const Request& request) const {
  const auto key = std::pair(request.profile.value, request.forward_ratio.value);
  const auto& profile = *shelves_.profiles.at(key);
  // Includes names, since files with the same contents give rows with different names.
  std::uint64_t state = digest(profile.value->name, digest(profile.digest, program_digest()));
  state = digest(shelves_.devices.at(profile.value->device)->digest, state);
  state = digest(key.second ? fmt::format("{}", *key.second) : "", state);
  if (request.cluster_words.empty()) {
    const auto& cluster = *shelves_.clusters.at(request.cluster);
    state = digest(cluster.value.cluster.name, digest(cluster.digest, state));
  }
  for (const ChangeText& word : request.cluster_words) state = digest(word.value, digest(word.name, state));
  if (!request.codec.empty() && request.codec.value != "none")
    state = digest(shelves_.codecs.at(codec_file(request, profile.value->device))->digest, state);
  const Network& network =
      request.cluster_words.empty() ? shelves_.clusters.at(request.cluster)->value.cluster.network : Network();
  for (const std::string& name : collectives_of(request, network))
    if (names_a_file(name))
      state = digest(
          shelves_.collectives.at(name == request.collective.value ? name : collective_beside(request, name))->digest,
          state);
  state = digest(request.workers.value ? fmt::format("{}", *request.workers.value) : "", state);
  for (const Given<std::string>& word : {request.collective, request.fidelity, request.strategy})
    state = digest(word.value, state);
  for (const OptionText& option : request.options) state = digest(option.value, digest(option.name, state));
  for (const ChangeText& change : request.changes) state = digest(change.value, digest(change.name, state));
  if (!request.plan.empty()) state = digest(inputs_.files.read(request.plan), digest(request.plan_name, state));
  for (const std::uint64_t seed : request.seeds) state = digest(seed, state);
  return digest(std::uint64_t{request.reuse}, state);
}

namespace {

// Limits workers to the GPUs of a cluster in words. A cluster in a file can be extended to more workers.
void require_room(const Cluster& in_words, std::int64_t workers, const SourceLocation& place) {
  const std::int64_t gpus = node_workers_of(in_words.network), nodes = in_words.workers / gpus;
  if (workers > in_words.workers)
    throw InputError(place, fmt::format("{} workers, but {} x {} GPUs are {}", workers, nodes, gpus, in_words.workers),
                     fmt::format("at most {}, or --nodes {}", in_words.workers, nodes_for(workers, gpus)));
}

// A schedule that is not a name is a file; if the cluster names it, it is relative to the cluster's file. Unless given
// otherwise, it determines the number of ranks and micro-batches.
void read_schedule(const Files& files, const std::string& cluster_file, Scenario& scenario) {
  ParallelOptions& parallel = scenario.options.parallel;
  if (row_named(schedules(), parallel.schedule)) return;
  const SourceLocation place = scenario.options.place_of("schedule");
  const std::string file =
      place.path.starts_with("/parallel") ? beside(files, cluster_file, parallel.schedule) : parallel.schedule;
  if (!files.is_file(file) && file.find_first_of("./") != std::string::npos)
    throw InputError(place, fmt::format("no such file: {}", file), "a file, or a name of `allreplay list schedules`");
  if (!files.is_file(file)) find_by_name(schedules(), parallel.schedule, place, "unknown schedule '{}'");
  auto given = std::make_shared<GivenRows>();
  given->file = file;
  const std::string text = files.read(file);
  if (text.find_first_not_of(" \r\n") == std::string::npos)
    throw InputError({file, ""}, "is empty", "a row of actions for each rank");
  given->rows = parse_rows(text, file);
  if (!scenario.options.places.contains("pp")) {
    if (given->rows.size() == 1)
      throw InputError({file, ""}, "has one row", "a row of actions for each rank, at least 2");
    parallel.pp = std::ssize(given->rows);
    scenario.options.places["pp"] = place;
  }
  if (!scenario.options.places.contains("accumulate"))
    for (const ActionRow& row : given->rows)
      for (const Action& one : row)
        if (is_pass(one.kind))
          scenario.options.strategy.sharding.accumulate =
              std::max<std::int64_t>(scenario.options.strategy.sharding.accumulate, one.micro_batch + std::int64_t{1});
  parallel.given = std::move(given);
}

// Derives the micro-batches: samples per iteration = samples of a micro-batch × micro-batches × replicas.
void take_global_batch(Scenario& scenario) {
  const auto& samples = scenario.options.global_batch;
  if (!samples) return;
  const SourceLocation place = scenario.options.place_of("global_batch");
  if (!scenario.profile->batch_size)
    throw InputError(place, fmt::format("{} has no batch size", scenario.profile->name),
                     "a profile; a CSV table has none");
  const std::int64_t replicas = degrees_of(scenario).dp, each = *scenario.profile->batch_size,
                     at_once = replicas * each;
  const auto batches = micro_batches_of_samples(scenario);
  if (!batches)
    throw InputError(place,
                     fmt::format("{} samples are not a whole number of micro-batches of {} on {}", *samples, each,
                                 counted(replicas, "replica")),
                     fmt::format("a multiple of {}", at_once));
  std::int64_t& now = scenario.options.strategy.sharding.accumulate;
  const bool said = scenario.options.places.contains("accumulate") || scenario.options.parallel.given;
  const std::string said_by = !said                             ? ""
                              : scenario.options.parallel.given ? scenario.options.parallel.given->file
                                                                : scenario.options.place_of("accumulate").path;
  if (said && now != *batches)
    throw InputError(
        place,
        fmt::format("{} samples are {} of {} on {}, but {} says {}", *samples, counted(*batches, "micro-batch"),
                    counted(each, "sample"), counted(replicas, "replica"), said_by, now),
        fmt::format("{} samples, or only one of the two", now * at_once));
  scenario.options.set("accumulate", std::to_string(*batches), place);
}

}  // namespace

Scenario Library::resolve_network(const Request& request) {
  const Cluster& named = cluster(request).cluster;
  Scenario scenario;
  scenario.cluster = named;
  scenario.networks = networks_;
  scenario.cluster.in_words = !request.cluster_words.empty();
  scenario.workers = request.workers.value.value_or(named.workers);
  if (request.workers.value) scenario.place_of_workers = request.workers.place;
  constexpr std::int64_t most_simulated = 1 << 20;  // tuning and what-ifs keep dozens of simulations in memory
  if (scenario.workers < 1 || scenario.workers > most_simulated)
    throw InputError(request.workers.place, fmt::format("{} workers", scenario.workers),
                     fmt::format("1 to {}", most_simulated));
  if (!request.cluster_words.empty()) require_room(named, scenario.workers, request.workers.place);
  for (const auto& [name, value] : named.network.options) scenario.options.set(name, value, named.network.place / name);
  for (const auto& [name, value] : named.parallel) scenario.options.set(name, value, named.place / "parallel" / name);
  for (const OptionText& option : request.options) scenario.options.set(option.name, option.value, option.place);
  read_schedule(inputs_.files, named.place.file, scenario);
  scenario.collective = request.collective;
  scenario.fidelity = request.fidelity;
  for (const ChangeSet& set : cluster(request).changes) apply_changes(scenario, set, Changed::Network);
  apply_changes(scenario, request.changes, Changed::Network);
  scenario.seeds = request.seeds;
  if (auto& topology = scenario.cluster.network.topology; topology && !request.seeds.empty()) {
    topology->routing.seed = Routing().seed;
    topology->routing.seed_named = false;
  }
  settle_by_nodes(scenario.cluster.network, scenario.workers);
  if (exceeds_nodes(scenario.cluster, scenario.workers)) scenario.cluster.interference->compute = 1;
  scenario.reuse = request.reuse;
  scenario.place_of_collective = request.collective.place;
  scenario.place_of_fidelity = request.fidelity.place;
  Network& network = scenario.cluster.network;
  if (network.topology) network.topology->place_of_workers = scenario.place_of_workers;
  network.collective = collective_beside(request, network.collective);
  for (auto& [operation, name] : network.by_operation) name = collective_beside(request, name);
  for (const std::string& name : collectives_of(request, network))
    if (names_a_file(name)) scenario.collective_files.emplace(name, collective_file(name));
  return scenario;
}

namespace {

// Takes the device's memory as the limit if the profile has activations, which are most of a worker's memory.
void take_memory_of_device(Scenario& scenario) {
  if (scenario.options.memory.limit || !scenario.profile->has_activations() || !scenario.device) return;
  scenario.options.memory.limit = scenario.device->memory;
}

// Takes the element types from the plan. Throws InputError if the request has others.
void take_dtypes_of_plan(Options& options, const Dtypes& planned) {
  const auto take = [&](const std::string& name, std::optional<Dtype>& own, const std::optional<Dtype>& of_plan) {
    if (own && of_plan && own != of_plan)
      throw InputError(options.place_of(name), fmt::format("the plan has another {}", name),
                       fmt::format("leave {} out: the plan file states it", name));
    if (!own) own = of_plan;
  };
  take("gradient_dtype", options.dtypes.gradient, planned.gradient);
  take("parameter_dtype", options.dtypes.parameter, planned.parameter);
}

}  // namespace

Scenario Library::resolve(const Request& request) {
  const Shared<Profile> own = profile(request);
  // A device of a user's file is found only by the name that the request has.
  if (!request.model.empty())
    known(&Shelves::devices, own->device,
          [&](const Files& files) { return std::optional(read_device(files, request.device)); });
  return resolve(request, own);
}

Scenario Library::resolve(const Request& request, Shared<Profile> profile) {
  Scenario scenario = resolve_network(request);
  scenario.profile = std::move(profile);
  if (const std::optional<Device>& known = device(scenario.profile)) {
    scenario.device = {known->name, known->memory, known->watts};
    scenario.options.strategy.fsdp.copy_of_device = known->copy;
    if (const auto peak = known->peak.find(scenario.profile->precision); peak != known->peak.end()) {
      scenario.peak = peak->second;
      scenario.product_rate = rates_of(*known, scenario.profile->precision, {}).reached();
    }
  }
  if (!request.plan.empty()) take_dtypes_of_plan(scenario.options, read_plan_dtypes(inputs_.files, request.plan));
  const Options& options = scenario.options;
  const auto bytes = [](const std::optional<Dtype>& dtype) {
    return dtype ? std::optional(bytes_of(*dtype)) : std::nullopt;
  };
  if (options.dtypes.gradient || options.dtypes.parameter)
    scenario.profile =
        with_element_bytes(*scenario.profile, bytes(options.dtypes.gradient), bytes(options.dtypes.parameter));
  if (options.update) scenario.profile.own().update = options.update;
  if (options.host_block) set_block_floor(scenario.profile.own(), *options.host_block);
  if (options.host_step) scenario.profile.own().host.step = *options.host_step;
  take_memory_of_device(scenario);
  take_degrees_of_profile(scenario);
  set_groups(scenario);
  take_global_batch(scenario);
  set_stragglers(scenario, request);
  if (request.plan.empty()) {
    scenario.strategy = &find_strategy(request.strategy.value, request.strategy.place, inputs_.strategies.get());
  } else {
    take_plan(scenario, request.plan, read_plan(inputs_.files, request.plan, scenario.profile, scenario.workers),
              request.plan_name);
  }
  if (request.codec.empty() || request.codec.value == "none") return scenario;
  scenario.codec = codec(request, scenario.profile->device);
  scenario.place_of_codec = request.codec.place;
  auto& decode_at = scenario.options.codec.decode_at;
  if (!decode_at) decode_at = scenario.strategy->decode_at;
  return scenario;
}

}  // namespace allreplay
