// Laws of sharded training that hold for every strategy on every profile.
#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/units.hpp"

using namespace allreplay;

namespace {

constexpr const char* sharding[] = {"fsdp2",  "fsdp1",  "simple-fsdp", "zero-1",
                                    "zero-2", "zero-3", "megatron",    "megatron-fsdp"};
constexpr const char* planned[] = {"wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "ddp", "bytescheduler", "p3"};

std::vector<std::string_view> all_strategies() {
  std::vector<std::string_view> all(std::begin(sharding), std::end(sharding));
  all.insert(all.end(), std::begin(planned), std::end(planned));
  return all;
}

bool among(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Value>
Value pick(Random& random, std::initializer_list<Value> values) {
  return values.begin()[random.below(values.size())];
}

// Options of every strategy: small sizes, so that there is more than one of everything.
void set_options(StrategyOptions& options, Random& random, std::int64_t elements) {
  const auto some = [&] { return static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(elements))); };
  const auto yes = [&] { return random.below(2) == 0; };
  FsdpOptions& fsdp = options.fsdp;
  if (random.below(3) == 0) fsdp.wrap = {.by = Wrap::By::Size, .size = 4 * some()};
  fsdp.reduce = static_cast<Reduce>(random.below(3));
  fsdp.separate_lanes = yes();
  fsdp.prefetch = pick<std::int64_t>(random, {1, 1, 2, 3});
  fsdp.reduce_buffers = pick<std::int64_t>(random, {1, 1, 2, 3});
  fsdp.backward_prefetch = static_cast<BackwardPrefetch>(random.below(3));
  fsdp.limit = pick<std::int64_t>(random, {1, 2, 2, 3});
  fsdp.reorder = random.below(3) != 0;
  options.megatron_fsdp = {
      .unit_size = yes() ? some() : 0, .double_buffer = yes(), .sync_every = yes(), .outer_optimizer = yes()};
  ZeroOptions& zero = options.zero;
  zero.reduce_bucket = some();
  if (yes()) zero.allgather_bucket = elements / 5 + some();
  if (yes()) zero.overlap_comm = yes();
  zero.whole_buckets = yes();
  zero.persistence = yes() ? 0 : 64;
  if (yes()) zero.prefetch_bucket = some();
  if (yes()) zero.max_live = some();
  if (yes()) zero.max_reuse = some();
  MegatronOptions& megatron = options.megatron;
  megatron.bucket_size = some();
  megatron.distributed_optimizer = random.below(4) != 0;
  megatron.overlap_grad_reduce = random.below(4) != 0;
  if (yes() && megatron.distributed_optimizer && megatron.overlap_grad_reduce) megatron.overlap_param_gather = yes();
  options.bucket_cap = options.threshold = 4 * some();
  options.partition = 4 * (elements / 20 + 1);
}

struct Division {
  std::int64_t workers, size;
};

Scenario random_sharded_scenario(Random& random, std::string_view strategy) {
  const double alpha = static_cast<double>(random.below(200)) * 1e-6,
               beta = static_cast<double>(random.below(20)) * 1e-10;
  const auto [workers, size] = pick<Division>(random, {{2, 0}, {3, 0}, {4, 2}, {4, 4}, {6, 2}, {8, 4}, {8, 1}, {8, 0}});
  Scenario scenario = scenario_of(random_profile(random, 12), strategy, workers, alpha, beta);
  Profile& profile = scenario.profile.own();
  if (random.below(2) == 0) profile.update = to_time(static_cast<double>(random.below(1000)) * 1e-6);
  if (random.below(3) == 0) profile.parameter_bytes = 2;
  for (Layer& layer : profile.layers)
    if (random.below(3) == 0) layer.activation_bytes = static_cast<Bytes>(random.below(1'000'000));
  StrategyOptions& options = scenario.options.strategy;
  set_options(options, random, profile.elements());
  if (among(strategy, {"fsdp2", "simple-fsdp"}))
    options.fsdp.reshard = pick<Reshard>(random, {Reshard::ButLast, Reshard::All, Reshard::None});
  if (strategy == "fsdp1") options.fsdp.reshard = pick<Reshard>(random, {Reshard::All, Reshard::None});
  options.sharding.accumulate = pick<std::int64_t>(random, {1, 1, 2, 3});
  if (std::find(std::begin(planned), std::end(planned), strategy) != std::end(planned))
    options.sharding.zero = 1 + static_cast<std::int64_t>(random.below(2));
  const bool groups = options.sharding.zero > 0 ||
                      among(strategy, {"fsdp1", "fsdp2", "simple-fsdp", "megatron-fsdp"}) ||
                      (strategy == "megatron" && options.megatron.distributed_optimizer);
  if (groups) options.sharding.shard_group = size;
  scenario.options.sharing = random.below(2) == 0 ? Sharing::Serial : Sharing::Fair;
  // Slow ones at the same place of each group.
  if (random.below(3) == 0)
    for (std::int64_t worker = 0; worker<workers; worker += size> 0 ? size : workers)
      scenario.stragglers.slow.push_back({worker, 1.5});
  return scenario;
}

template <class Check>
void for_all(std::uint64_t seed, int rounds, const Check& check) {
  Random random(seed, 0);
  for (int round = 0; round < rounds; ++round)
    for (const std::string_view strategy : all_strategies()) {
      Scenario scenario = random_sharded_scenario(random, strategy);
      INFO(strategy << " round " << round);
      check(scenario, strategy);
    }
}

void free_communication(Scenario& scenario) { scenario.cluster.network.alpha = scenario.cluster.network.beta = 0; }

// The compute time of a worker without slowdown: K(t_f + t_b).
double computing(const Scenario& scenario) {
  return static_cast<double>(scenario.options.strategy.sharding.accumulate) *
         to_seconds(scenario.profile->forward() + scenario.profile->backward());
}

bool shares_outer_optimizer(const StrategyOptions& options, std::string_view strategy) {
  return strategy == "megatron-fsdp" && options.sharding.shard_group > 0 && options.megatron_fsdp.outer_optimizer;
}

// U, or a worker's share of it.
double update_of(const Scenario& scenario, std::string_view strategy) {
  const StrategyOptions& options = scenario.options.strategy;
  const bool shared = strategy != "megatron" || options.megatron.distributed_optimizer;
  const std::int64_t owners =
      shares_outer_optimizer(options, strategy) ? scenario.workers : options.sharding.group_size(scenario.workers);
  const double shards = shared ? static_cast<double>(owners) : 1;
  return to_seconds(scaled(scenario.profile->update.value_or(Time(0)), 1 / shards));
}

// True if gradients of that micro-batch are reduced.
bool reduces(const Scenario& scenario, std::string_view strategy, std::int64_t batch) {
  const StrategyOptions& options = scenario.options.strategy;
  const bool last = batch + 1 == options.sharding.accumulate;
  if (strategy == "fsdp2") return options.fsdp.reduce != Reduce::Last || last;
  if (among(strategy, {"fsdp1", "simple-fsdp", "zero-2", "zero-3", "megatron-fsdp"})) return true;
  return last || options.sharding.zero == 2;  // zero-1, megatron, stage 1
}

// True if the shards reduced in that micro-batch are then summed among groups.
bool sums_replicas(const Scenario& scenario, std::string_view strategy, std::int64_t batch) {
  const StrategyOptions& options = scenario.options.strategy;
  const bool only_last = (strategy == "fsdp2" && options.fsdp.reduce != Reduce::Every) ||
                         (strategy == "megatron-fsdp" && !options.megatron_fsdp.sync_every);
  return !only_last || batch + 1 == options.sharding.accumulate;
}

// By micro-batch and tensor, the slices that transfers of a kind carry.
using CarriedSlices = std::map<std::pair<std::uint32_t, TensorId>, std::vector<Slice>>;
template <class Wanted>
CarriedSlices carried(const Plan& plan, const Wanted& wanted) {
  CarriedSlices all;
  for (const Transfer& transfer : plan.transfers)
    if (wanted(transfer))
      for (const Slice& slice : plan.block_of(transfer).slices)
        all[{transfer.micro_batch, slice.tensor}].push_back(slice);
  return all;
}

// Returns how often the slices cover the tensor; -1 if not every byte is covered as often.
std::int64_t times(std::vector<Slice> slices, const Tensor& tensor) {
  std::map<Bytes, std::int64_t> ends;
  Bytes sum = 0;
  for (const Slice& slice : slices) {
    ++ends[slice.offset];
    --ends[slice.offset + slice.bytes];
    sum += slice.bytes;
  }
  std::int64_t now = 0;
  for (const auto& [at, change] : ends) {
    now += change;
    if (at < tensor.bytes && now * tensor.bytes != sum) return -1;
  }
  return sum / tensor.bytes;
}

bool is_gather(const Transfer& one) { return one.op == CollectiveOp::AllGather && one.group != group_replica; }
bool reduces_shards(const Transfer& one) { return !is_gather(one) && one.group != group_replica; }
bool is_replica(const Transfer& one) { return one.group == group_replica && one.op != CollectiveOp::AllGather; }
bool gathers_shards(const Transfer& one) { return one.group == group_replica && one.op == CollectiveOp::AllGather; }

const Span& span_of(const Result& result, TaskId id) { return result.episodes.back().timeline.spans[id]; }

}  // namespace

TEST_CASE("without communication an iteration computes, copies and updates") {
  for_all(201, 40, [](Scenario& scenario, std::string_view strategy) {
    free_communication(scenario);
    scenario.stragglers.slow.clear();
    if (strategy == "fsdp2") scenario.options.strategy.fsdp.copy = 3e9;
    const Metrics metrics = simulate(scenario).metrics;
    const double update = update_of(scenario, strategy);
    REQUIRE(metrics.update_s == Approx(update).margin(1e-13));
    REQUIRE(metrics.iteration_s == Approx(computing(scenario) + update + metrics.copy_s).epsilon(1e-12));
    REQUIRE((metrics.copy_s > 0) == (strategy == "fsdp2"));
    REQUIRE(metrics.exposed_comm_s == Approx(metrics.copy_s).margin(1e-12));
  });
}

TEST_CASE("copies of every gather and every reduction, at their rate") {
  Random random(202, 0);
  for (int round = 0; round < 60; ++round) {
    Scenario scenario = random_sharded_scenario(random, "fsdp2");
    scenario.options.strategy.fsdp.copy = 1e9;
    const Result result = simulate(scenario);
    double seconds = 0;
    for (const Transfer& transfer : result.plan.transfers)
      if (!is_replica(transfer))
        seconds += 1e-9 * static_cast<double>(result.plan.block_of(transfer).bytes()) *
                   (is_gather(transfer) ? scenario.profile->parameter_share() : 1);
    REQUIRE(result.metrics.copy_s == Approx(seconds).margin(1e-12 * static_cast<double>(result.unrolled.works(0))));
  }
}

TEST_CASE("without computing, an iteration is the chain of its transfers if they share a lane") {
  Random random(203, 0);
  for (int round = 0; round < 60; ++round)
    for (const char* strategy : {"fsdp2", "fsdp1", "simple-fsdp", "zero-1", "zero-2", "megatron-fsdp"}) {
      Scenario scenario = random_sharded_scenario(random, strategy);
      scenario.stragglers.slow.clear();
      scenario.profile.own().update.reset();
      for (Layer& layer : scenario.profile.own().layers) layer.forward = layer.backward = Time(0);
      StrategyOptions& options = scenario.options.strategy;
      options.sharding.shard_group = 0;
      options.fsdp.separate_lanes = false;
      *scenario.cluster.network.alpha += 1e-6;  // never all zero
      const Result result = simulate(scenario);
      const auto workers = static_cast<double>(scenario.workers);
      double seconds = 0;
      for (const Transfer& transfer : result.plan.transfers) {
        // Half a ring for a half of an all-reduce; gathers carry parameters.
        const double halves = transfer.op == CollectiveOp::AllReduce ? 2 : 1;
        const double bytes = static_cast<double>(result.plan.block_of(transfer).bytes()) *
                             (is_gather(transfer) ? scenario.profile->parameter_share() : 1);
        seconds += halves * ((workers - 1) * *scenario.cluster.network.alpha +
                             (workers - 1) / workers * *scenario.cluster.network.beta * bytes);
      }
      INFO(strategy << " round " << round);
      const double rounding = 1e-12 * static_cast<double>(result.plan.transfers.size());
      REQUIRE(result.metrics.iteration_s == Approx(seconds).margin(rounding));
      REQUIRE(result.metrics.comm_busy_s == Approx(seconds).margin(rounding));
    }
}

TEST_CASE("every byte is reduced once in each micro-batch that reduces, and gathered before each use") {
  for_all(204, 60, [](Scenario& scenario, std::string_view strategy) {
    const Plan plan = plan_of(scenario);
    const StrategyOptions& options = scenario.options.strategy;
    const CarriedSlices reduced = carried(plan, reduces_shards), gathered = carried(plan, is_gather),
                        summed = carried(plan, is_replica), shards = carried(plan, gathers_shards);
    for (TensorId id = 0; id < scenario.profile->tensors.size(); ++id) {
      const Tensor& tensor = scenario.profile->tensors[id];
      std::int64_t gathers = 0;
      for (std::int64_t batch = 0; batch < options.sharding.accumulate; ++batch) {
        const auto count = [&](const CarriedSlices& of) {
          const auto found = of.find({static_cast<std::uint32_t>(batch), id});
          return found == of.end() ? 0 : times(found->second, tensor);
        };
        REQUIRE(count(reduced) == (reduces(scenario, strategy, batch) ? 1 : 0));
        const bool sums = options.sharding.shard_group > 0 && sums_replicas(scenario, strategy, batch);
        REQUIRE(count(summed) == (sums ? count(reduced) : 0));
        gathers += count(gathered);
        // Each gather of the first micro-batch follows one among groups that share the optimizer.
        REQUIRE(count(shards) == (shares_outer_optimizer(options, strategy) && batch == 0 ? count(gathered) : 0));
        if (strategy == "megatron-fsdp") REQUIRE(count(gathered) == 2);
        if (among(strategy, {"fsdp2", "fsdp1", "simple-fsdp"})) {
          // Twice if the unit is freed in between; fsdp1's root is not.
          const std::vector<Unit> units = units_of(scenario.profile, options.fsdp.wrap);
          const bool last = tensor.layer >= units.back().first;
          const auto unit =
              std::find_if(units.begin(), units.end(), [&](const Unit& one) { return tensor.layer <= one.last; });
          const bool root =
              strategy == "fsdp1" &&
              root_layers(scenario.profile, units, options.fsdp.wrap)[static_cast<std::size_t>(unit - units.begin())];
          const bool kept =
              root || options.fsdp.reshard == Reshard::None || (options.fsdp.reshard == Reshard::ButLast && last);
          REQUIRE(count(gathered) == (kept ? 1 : 2));
        } else if (strategy == "zero-3" && tensor.elements > options.zero.persistence) {
          REQUIRE(count(gathered) >= 1);
          REQUIRE(count(gathered) <= 2);
        }
      }
      if (strategy == "megatron" && !options.megatron.distributed_optimizer)
        REQUIRE(gathers == 0);
      else if (!among(strategy, {"fsdp1", "fsdp2", "simple-fsdp", "megatron-fsdp"}) &&
               (strategy != "zero-3" || tensor.elements <= options.zero.persistence))
        REQUIRE(gathers == 1);  // once after the update
    }
  });
}

TEST_CASE("gradients are reduced after they are computed, and parameters used after they are gathered") {
  for_all(205, 30, [](Scenario& scenario, std::string_view strategy) {
    const Result result = simulate(scenario);
    const Plan& plan = result.plan;
    const ProgramIndex places(plan.program());
    const auto layer_of = [&](const Slice& slice) { return scenario.profile->tensors[slice.tensor].layer; };
    for (std::size_t c = 0; c < result.unrolled.classes; ++c) {
      // By micro-batch and tensor: when its gathers are there, in their order.
      std::map<std::pair<std::uint32_t, TensorId>, std::vector<Span>> arrivals;
      for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
        const Transfer& transfer = plan.transfers[index];
        const Span& span = span_of(result, result.unrolled.transfer(index));
        for (const Slice& slice : plan.block_of(transfer).slices) {
          if (is_gather(transfer))
            arrivals[{transfer.micro_batch, slice.tensor}].push_back(span);
          else if (!gathers_shards(transfer))
            REQUIRE(span_of(result,
                            result.unrolled.work(c, places(Activity::Backward, layer_of(slice), transfer.micro_batch)))
                        .end <= span.start);
        }
      }
      for (const auto& [key, spans] : arrivals) {
        const LayerId layer = scenario.profile->tensors[key.second].layer;
        const Span& forward = span_of(result, result.unrolled.work(c, places(Activity::Forward, layer, key.first)));
        const Span& backward = span_of(result, result.unrolled.work(c, places(Activity::Backward, layer, key.first)));
        if (plan.sharding.zero < 3) {  // all pieces
          if (scenario.options.strategy.barrier.value_or(Barrier::Iteration) == Barrier::Iteration)
            for (const Span& span : spans) REQUIRE(span.end <= forward.start);
          continue;
        }
        REQUIRE(spans.front().end <= forward.start);
        REQUIRE(spans.back().end <= backward.start);
        // Freed between: but fsdp2 gathers its last unit again while that computes (reshard=all).
        const bool at_the_turn = strategy == "fsdp2" && layer >= plan.memory_policy.units.back().first;
        if (spans.size() == 2 && !at_the_turn) REQUIRE(forward.end <= spans.back().start);
      }
    }
  });
}

TEST_CASE("the update comes after all reductions, and gathers of updated parameters after it") {
  for_all(206, 30, [](Scenario& scenario, std::string_view) {
    const Result result = simulate(scenario);
    const Plan& plan = result.plan;
    const auto update = ProgramIndex(plan.program()).find({Activity::Update, everything});
    REQUIRE(update.has_value());
    const bool from_backward = plan.program().front().kind == Activity::Backward;  // the gathers are in this period
    for (std::size_t c = 0; c < result.unrolled.classes; ++c) {
      const Span& span = span_of(result, result.unrolled.work(c, *update));
      for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
        const Span& other = span_of(result, result.unrolled.transfer(index));
        if (!is_gather(plan.transfers[index]))
          REQUIRE(other.end <= span.start);
        else if (from_backward)
          REQUIRE(span.end <= other.start);
        else
          REQUIRE(other.end <= span.start);
      }
    }
  });
}

TEST_CASE("one worker communicates nothing") {
  for_all(207, 20, [](Scenario& scenario, std::string_view strategy) {
    scenario.workers = scenario.cluster.workers = 1;
    scenario.options.strategy.sharding.shard_group = 0;
    scenario.stragglers.slow.clear();
    const Metrics metrics = simulate(scenario).metrics;
    REQUIRE(metrics.iteration_s == Approx(computing(scenario) + update_of(scenario, strategy)).epsilon(1e-12));
    REQUIRE(metrics.comm_busy_s == 0);
    REQUIRE(metrics.collectives == 0);
    REQUIRE(metrics.speedup == Approx(1));
  });
}

TEST_CASE("groups of all workers equal no groups, and groups of one send the bytes of plain data parallelism") {
  for_all(208, 20, [](Scenario& scenario, std::string_view) {
    ShardingConfig& step = scenario.options.strategy.sharding;
    if (step.shard_group == 0) return;
    step.shard_group = scenario.workers;
    const Result grouped = simulate(scenario);
    step.shard_group = 0;
    const Result alone = simulate(scenario);
    REQUIRE(grouped.metrics.iteration_s == alone.metrics.iteration_s);
    REQUIRE(grouped.memory.peak == alone.memory.peak);
    step.shard_group = 1;  // nothing is shared out, and all-reduces go among all
    const Result whole = simulate(scenario);
    const auto elements = static_cast<double>(scenario.profile->elements());
    REQUIRE(whole.memory.parts.optimizer ==
            (scenario.profile->parameter_bytes == 2 && whole.plan.memory_policy.parameter == 0 ? 12 : 8) * elements /
                (whole.plan.sharding.outer_optimizer ? static_cast<double>(scenario.workers) : 1));
  });
}

TEST_CASE("without communication, micro-batches of a part of the work are as long as the whole") {
  for_all(209, 20, [](Scenario& scenario, std::string_view) {
    free_communication(scenario);
    scenario.options.strategy.sharding.accumulate = 1;
    const double whole = simulate(scenario).metrics.iteration_s;
    for (const std::int64_t parts : {2, 5}) {  // whole microseconds divide
      Scenario cut = scenario;
      cut.options.strategy.sharding.accumulate = parts;
      for (Layer& layer : cut.profile.own().layers) {
        layer.forward /= parts;
        layer.backward /= parts;
      }
      REQUIRE(simulate(cut).metrics.iteration_s == Approx(whole).epsilon(1e-12));
    }
  });
}

TEST_CASE("stage 1 without an update is the split plan under the same barrier") {
  Random random(210, 0);
  for (int round = 0; round < 100; ++round) {
    Scenario scenario = random_sharded_scenario(random, "wfbp");
    scenario.profile.own().update.reset();
    scenario.profile.own().parameter_bytes = 0;
    StrategyOptions& options = scenario.options.strategy;
    options.sharding = {.accumulate = options.sharding.accumulate, .zero = 1};
    const double sharded = simulate(scenario).metrics.iteration_s;
    options.sharding.zero = 0;
    const Shared<Profile> profile = slowest_profile(scenario);
    BucketSchedule schedule =
        make_bucket_schedule(*scenario.strategy, {profile, CommCost(0, 0), options, true, scenario.workers});
    schedule.split = true;
    REQUIRE(simulate(scenario, expand(schedule, profile, options.sharding)).metrics.iteration_s ==
            Approx(sharded).epsilon(1e-12));
  }
}

TEST_CASE("memory: the peak is between the standing memory and the sum of the parts' peaks") {
  for_all(211, 40, [](Scenario& scenario, std::string_view strategy) {
    const MemoryUse memory = simulate(scenario).memory;
    const MemoryParts& parts = memory.parts;
    const double standing = parts.parameters + parts.gradients + parts.optimizer;
    const double slack = 1e-9 * memory.peak;
    for (const double part : {parts.gathered, parts.in_reduction, parts.activations.value_or(0)})
      REQUIRE(memory.peak >= standing + part - slack);
    REQUIRE(memory.peak <=
            standing + parts.gathered + parts.in_reduction + parts.activations.value_or(0) + parts.step + slack);
    double highest = 0;
    for (const MemoryPoint& point : memory.course) highest = std::max(highest, point.bytes);
    REQUIRE(highest <= memory.peak + slack);
    REQUIRE(memory.course.back().bytes >= standing - slack);
    // Everything at most; of fsdp2's last unit, gathered again while it computes, twice.
    const bool twice = strategy == "fsdp2" && scenario.options.strategy.fsdp.reshard == Reshard::All;
    REQUIRE(parts.gathered <=
            (twice ? 2 : 1) * static_cast<double>(scenario.profile->bytes()) * scenario.profile->parameter_share() +
                slack);
  });
}

TEST_CASE("an iteration is never shorter than its bound, nor than its network time") {
  for_all(212, 60, [](Scenario& scenario, std::string_view) {
    const Result result = simulate(scenario);
    const double rounding = 1e-12 * static_cast<double>(result.plan.transfers.size() + 1);
    REQUIRE(result.metrics.iteration_s >= *result.metrics.lower_bound_s - rounding);
    REQUIRE(result.metrics.comm_busy_s <= result.metrics.iteration_s + rounding);
    REQUIRE(result.metrics.speedup <= static_cast<double>(scenario.workers) * static_cast<double>(scenario.workers));
  });
}

TEST_CASE("identical workers may be simulated once, sharded or not") {
  for_all(213, 10, [](Scenario& scenario, std::string_view) {
    const Result folded = simulate(scenario);
    scenario.fold = false;
    const Result each = simulate(scenario);
    REQUIRE(each.metrics.iteration_s == folded.metrics.iteration_s);
    REQUIRE(each.memory.peak == folded.memory.peak);
  });
}
