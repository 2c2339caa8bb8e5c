// Replays a plan from a file: takes its sharding and its pipeline over into a scenario.
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

}  // namespace allreplay
