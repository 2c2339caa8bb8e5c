// Replays a plan from a file: takes its sharding and its pipeline over into a scenario.
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/pipeline/planned.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/experiment/profile_degrees.hpp"
#include "sim/studies/experiment/request.hpp"

namespace allreplay {

namespace {

[[noreturn]] void refuse_contradiction(const Scenario& scenario, const std::string& option, const std::string& asked,
                                       const std::string& has) {
  throw InputError(scenario.options.place_of(option),
                   fmt::format("{}={} does not match the plan in {}", option, asked, scenario.given->file),
                   fmt::format("{}={}", option, has));
}

// Takes the micro-batches and shards from the plan. Throws InputError if an option contradicts it.
void take_step(Scenario& scenario) {
  ShardingConfig& step = scenario.options.strategy.sharding;
  const ShardingConfig& planned = scenario.given->plan.sharding;
  const auto check = [&](const char* option, std::int64_t asked, std::int64_t has) {
    if (scenario.options.places.contains(option) && asked != has)
      refuse_contradiction(scenario, option, std::to_string(asked), std::to_string(has));
  };
  check("accumulate", step.accumulate, planned.accumulate);
  check("zero", step.zero, planned.zero);
  check("shard_group", step.shard_group, planned.shard_group);
  step = planned;
}

// Takes the degrees, chunks and schedule of a pipeline from the plan. Throws InputError if an option contradicts it.
void take_pipeline(Scenario& scenario) {
  const GivenPlan& given = *scenario.given;
  Options& options = scenario.options;
  ParallelOptions& parallel = options.parallel;
  if (!given.plan.pipeline) {
    if (parallel.pipeline()) refuse_contradiction(scenario, "pp", std::to_string(parallel.pp), "1");
    return;
  }
  const PlannedPipeline& planned = *given.plan.pipeline;
  const auto take = [&](const char* name, std::int64_t& degree, std::int64_t has) {
    const auto& taken = scenario.profile->degrees;
    const bool of_profile = taken && (name == std::string_view("tp") || name == std::string_view("cp") ||
                                      (name == std::string_view("ep") && taken->ep));
    if ((options.places.contains(name) || of_profile) && degree != has)
      refuse_contradiction(scenario, name, std::to_string(degree), std::to_string(has));
    degree = has;
  };
  const auto ranks = std::ssize(given.plan.roles), chunks = std::ssize(planned.layers);
  take("pp", parallel.pp, ranks);
  options.places["pp"] = {given.file, "/parallel/pp"};  // for errors about options that pipelines do not support
  take("tp", parallel.tp, planned.tp);
  take("cp", parallel.cp, planned.cp);
  take("ep", parallel.ep, planned.ep);
  const StageCut cut{StageCut::By::Given, planned.layers};
  const auto check = [&](const char* name, const std::string& has) {
    if (options.places.contains(name) && options.get(name) != has)
      refuse_contradiction(scenario, name, options.get(name), has);
  };
  check("schedule", planned.schedule);
  check("ep_overlap", planned.ep_overlap ? "true" : "false");
  parallel.ep_overlap = planned.ep_overlap;
  check("barrier", to_string(planned.barrier));
  check("update_barrier", given.plan.together ? "all" : "stage");
  if (parallel.chunks && *parallel.chunks * ranks != chunks)
    refuse_contradiction(scenario, "chunks", std::to_string(*parallel.chunks),
                         fmt::format("{:g}", static_cast<double>(chunks) / static_cast<double>(ranks)));
  if (options.places.contains("stages") &&
      cut_into_chunks(scenario.profile, parallel.stages, chunks, options.place_of("stages")) !=
          cut_into_chunks(scenario.profile, cut, chunks, options.place_of("stages")))
    refuse_contradiction(scenario, "stages", write_cut(parallel.stages), write_cut(cut));
  for (const char* name : {"p2p", "p2p_bytes", "p2p_split", "microbatch_group", "align_grad_reduce", "reduce_grad"})
    if (options.places.contains(name))
      throw InputError(options.place_of(name), fmt::format("{} is determined by the plan in {}", name, given.file),
                       fmt::format("no {}, or a strategy", name));
  parallel.schedule = planned.schedule;
  parallel.chunks.reset();
  parallel.stages = cut;
  auto rows = std::make_shared<GivenRows>();
  rows->file = given.file;
  rows->rows = pipeline_of(given.plan, degrees_of(scenario), scenario.profile, {given.file, ""}).rows;
  parallel.given = std::move(rows);
  require_profile_of_degrees(scenario);
}

// Takes the expert degree of a plan without pipeline, and sets the groups. Throws InputError if the plan reduces
// experts among other workers than the profile and the options say.
void take_groups(Scenario& scenario) {
  const std::int64_t planned = scenario.given->plan.sharding.experts;
  ParallelOptions& parallel = scenario.options.parallel;
  const bool of_profile = scenario.profile->degrees && scenario.profile->degrees->ep;
  if (planned > 1 && !of_profile && !scenario.options.places.contains("ep")) parallel.ep = planned;
  set_groups(scenario);
  if (scenario.options.strategy.sharding.experts != planned)
    refuse_contradiction(scenario, "ep", std::to_string(parallel.ep), std::to_string(planned));
}

}  // namespace

void take_plan(Scenario& scenario, const std::string& file, Plan plan, const std::string& listed) {
  auto given = std::make_shared<GivenPlan>();
  given->file = file;
  given->listed = listed;
  given->plan = std::move(plan);
  given->name = given->plan.strategy;
  given->strategy.name = given->name;
  given->strategy.summary = "a plan from a file";
  given->strategy.split = uses_halves(given->plan);
  // Plans do not state when a codec decodes, nor the collective: these are the strategy's defaults.
  if (const Strategy* one = row_named(strategies(), given->name)) {
    given->strategy.decode_at = one->decode_at;
    given->strategy.collective = one->collective;
  }
  GivenPlan& own = *given;
  scenario.given = std::move(given);
  scenario.strategy = &scenario.given->strategy;
  take_step(scenario);
  take_pipeline(scenario);
  take_groups(scenario);
  if (!own.plan.pipeline) own.plan.groups = data_parallel_groups(scenario.options.strategy.sharding);
}

namespace {

using Among = LayerCollective::Among;

// True if a layer of the profile communicates in such groups, so that the profile has the times of one member.
bool communicates_among(const Profile& profile, Among group) {
  return std::any_of(profile.layers.begin(), profile.layers.end(), [&](const Layer& layer) {
    return std::any_of(layer.collectives.begin(), layer.collectives.end(),
                       [&](const LayerCollective& one) { return one.group == group; });
  });
}

// Returns "--tp 8 --cp 2 --ep 4", without degrees of 1.
std::string flags_of(const ParallelOptions& parallel) {
  std::string flags = parallel.tp > 1 ? fmt::format("--tp {}", parallel.tp) : "";
  for (const auto& [name, degree] : {std::pair("cp", parallel.cp), {"ep", parallel.ep}})
    if (degree > 1) flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", name, degree);
  return flags;
}

// Returns where the degree was given: an option, or "parallel" in a plan file.
SourceLocation place_of_degree(const Scenario& scenario, const char* name) {
  if (scenario.given && !scenario.options.places.contains(name))
    return SourceLocation{scenario.given->file, ""} / "parallel" / name;
  return scenario.options.place_of(name);
}

// Tells how to get a profile of these degrees: for an estimated transformer, the command that makes it.
std::string other_profile(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const ParallelOptions& parallel = scenario.options.parallel;
  const std::string in_file = R"("parallel" in the file of a profile that was measured on one worker of such a group)";
  if (profile.origin != Origin::Estimated)
    return fmt::format("`allreplay estimate {}`, or {}", flags_of(parallel), in_file);
  if (!profile.tokens_per_sample || !profile.batch_size) return in_file;
  return fmt::format("`allreplay estimate --model {} --device {} --batch {} --seq {}{}{}`", profile.model,
                     profile.device, *profile.batch_size, *profile.tokens_per_sample,
                     flags_of(parallel).empty() ? "" : " ", flags_of(parallel));
}

}  // namespace

void require_profile_of_degrees(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const ParallelOptions& parallel = scenario.options.parallel;
  const auto& taken = profile.degrees;
  const auto check = [&](const char* name, std::int64_t asked, Among group, std::int64_t own) {
    if (taken && asked != own)
      throw InputError(place_of_degree(scenario, name),
                       fmt::format("{} {}, but {} was taken with {} {}", name, asked, profile.name, name, own),
                       fmt::format("{} {}, or none; or {}", name, own, other_profile(scenario)));
    if (!taken && asked > 1 && !communicates_among(profile, group))
      throw InputError(place_of_degree(scenario, name),
                       fmt::format("{} {}, but {} is a profile of the whole model, not of one worker of {}", name,
                                   asked, profile.name, asked),
                       fmt::format("no {}, or {}", name, other_profile(scenario)));
  };
  check("tp", parallel.tp, Among::Tensor, taken ? taken->tp : 1);
  check("cp", parallel.cp, Among::Context, taken ? taken->cp : 1);
  // Without experts of its own, a profile need not say how many workers share the experts of its collectives.
  const auto is_expert = [](const Layer& layer) { return layer.expert; };
  const bool experts = std::any_of(profile.layers.begin(), profile.layers.end(), is_expert);
  if (taken && (taken->ep || experts)) return check("ep", parallel.ep, Among::Expert, taken->ep.value_or(1));
  if (parallel.ep > 1 && !communicates_among(profile, Among::Expert) && !experts)
    throw InputError(place_of_degree(scenario, "ep"),
                     fmt::format("ep {}, but {} has no experts: no layer of it is one or communicates in their groups",
                                 parallel.ep, profile.name),
                     R"(no ep, or "expert": true or "collectives" with "group": "ep" in the profile's layers)");
}

void take_degrees_of_profile(Scenario& scenario) {
  ParallelOptions& parallel = scenario.options.parallel;
  if (const auto& taken = scenario.profile->degrees) {
    const auto& places = scenario.options.places;
    if (!places.contains("tp")) parallel.tp = taken->tp;
    if (!places.contains("cp")) parallel.cp = taken->cp;
    if (taken->ep && !places.contains("ep")) parallel.ep = *taken->ep;
  }
  require_profile_of_degrees(scenario);
}

void set_groups(Scenario& scenario) {
  const ParallelOptions& parallel = scenario.options.parallel;
  ShardingConfig& sharding = scenario.options.strategy.sharding;
  if (!parallel.pipeline()) sharding.stride = parallel.tp;
  sharding.experts = scenario.profile->has_experts() ? parallel.ep : 1;
}

}  // namespace allreplay
