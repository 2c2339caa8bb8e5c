// best --zero 3 against brute force: all merges of up to six units, over every setting that its schedules have, and
// over orders that no setting has.
#include <algorithm>
#include <limits>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/search/best.hpp"

using namespace allreplay;

namespace {

// Each layer has a tensor, so that it is a unit.
Scenario random_units(Random& random, std::size_t units) {
  const double alpha = static_cast<double>(random.below(100)) * 1e-6,
               beta = static_cast<double>(1 + random.below(20)) * 1e-10;
  const auto workers = static_cast<std::int64_t>(2 + 2 * random.below(3));
  Profile profile = random_profile(random, 1);
  profile.tensors.clear();
  for (std::size_t layer = 1; layer < units; ++layer) {
    const auto time = [&] { return to_time(static_cast<double>(random.below(1000)) * 1e-6); };
    profile.layers.push_back({"layer" + std::to_string(layer), time(), time()});
  }
  for (LayerId layer = 0; layer < profile.layers.size(); ++layer) {
    const auto elements = static_cast<std::int64_t>(1 + random.below(1'000'000));
    profile.tensors.push_back({"tensor" + std::to_string(layer), elements, 4 * elements, layer});
  }
  if (random.below(2) == 0) profile.update = to_time(static_cast<double>(random.below(1000)) * 1e-6);
  Scenario scenario = scenario_of(std::move(profile), "best", workers, alpha, beta);
  ShardingConfig& step = scenario.options.strategy.sharding;
  step.zero = 3;
  step.accumulate = static_cast<std::int64_t>(1 + random.below(2));
  if (random.below(2) == 0) step.shard_group = 2;
  scenario.options.sharing = random.below(2) == 0 ? Sharing::Serial : Sharing::Fair;
  return scenario;
}

struct Least {
  double seconds = 1e300, bytes = 1e300;
};

// The fastest of all that fit into a limit, if there is one.
class BruteForce {
 public:
  explicit BruteForce(const Scenario& scenario)
      : scenario_(scenario),
        profile_(scenario.profile),
        options_(scenario.options.strategy),
        units_(static_cast<std::int64_t>(profile_.layers.size())) {
    options_.sharding.zero = 0;
    scenario_.strategy = &find_strategy("fsdp2", {});
    scenario_.options.strategy.sharding.zero = 0;
  }

  // Bit i of `merge`: a unit begins behind layer i.
  template <class Each>
  void each_plan(Each each) {
    for (std::uint32_t merge = 0; merge < 1U << (units_ - 1); ++merge) {
      options_.fsdp.wrap = {.by = Wrap::By::Given, .begins = {0}};
      for (std::uint32_t layer = 1; layer < units_; ++layer)
        if ((merge >> (layer - 1) & 1U) != 0) options_.fsdp.wrap.begins.push_back(layer);
      for (const Reshard reshard : {Reshard::ButLast, Reshard::All, Reshard::None})
        for (const Reduce reduce : {Reduce::Every, Reduce::ReplicasLast, Reduce::Last})
          for (std::int64_t prefetch = 1; prefetch <= units_; ++prefetch)
            for (std::int64_t buffers = 1; buffers <= units_; ++buffers)
              for (const bool separate : {false, true}) {
                options_.fsdp.reshard = reshard;
                options_.fsdp.reduce = reduce;
                options_.fsdp.prefetch = prefetch;
                options_.fsdp.reduce_buffers = buffers;
                options_.fsdp.separate_lanes = separate;
                each(plan_fsdp2({profile_, price_of_blocks(job_of(scenario_)), options_, true, scenario_.workers}));
              }
    }
  }

  void replay(const Plan& plan) {
    const Result result = simulate(scenario_, plan);
    const auto limit = scenario_.options.memory.limit;
    if (limit && result.memory.peak > static_cast<double>(*limit)) return;
    least_.seconds = std::min(least_.seconds, result.metrics.iteration_s);
    least_.bytes = std::min(least_.bytes, result.memory.peak);
  }

  const Least& least() const { return least_; }

 private:
  Scenario scenario_;
  const Profile& profile_;
  StrategyOptions options_;
  std::int64_t units_;
  Least least_;
};

// The transfers of one lane in another order; gates point to where they stand then.
Plan reordered(const Plan& plan, const std::vector<std::uint32_t>& order) {
  Plan other = plan;
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    other.transfers[i] = plan.transfers[order[i]];
    place[order[i]] = i;
  }
  for (Gate& gate : other.gates)
    for (PlanPoint* point : {&gate.before, &gate.after})
      if (auto* transfer = std::get_if<TransferPoint>(point)) transfer->index = place[transfer->index];
  return other;
}

}  // namespace

TEST_CASE("best --zero 3 is the best of all merges and settings of few units") {
  Random random(71, 0);
  for (int round = 0; round < 12; ++round) {
    Scenario scenario = random_units(random, round < 2 ? 6 : 2 + random.below(4));
    for (const bool limited : {false, true}) {
      BruteForce all(scenario);
      all.each_plan([&](const Plan& plan) { all.replay(plan); });
      const Result best = simulate(scenario);
      INFO("round " << round << ", " << scenario.profile->layers.size() << " units");
      REQUIRE(best.metrics.iteration_s <= all.least().seconds);
      require_covered(best.plan, scenario.profile);
      if (limited) REQUIRE(best.memory.peak <= static_cast<double>(*scenario.options.memory.limit));
      // Once more, half way between the smallest and what the fastest needs.
      scenario.options.memory.limit = static_cast<Bytes>((all.least().bytes + best.memory.peak) / 2) + 1;
    }
  }
}

TEST_CASE("best --zero 3 against every order of gathers and reductions in one lane") {
  Random random(72, 0);
  int replayed = 0;
  for (int round = 0; round < 12; ++round) {
    Scenario scenario = random_units(random, round < 2 ? 4 : 3);
    scenario.options.strategy.sharding.accumulate = 1;
    scenario.options.strategy.sharding.shard_group = 0;
    const double best = simulate(scenario).metrics.iteration_s;
    BruteForce all(scenario);
    all.each_plan([&](const Plan& plan) {
      if (plan.lanes.size() > 1) return;
      std::vector<std::uint32_t> fixed, gathers, reductions;
      for (std::uint32_t i = 0; i < plan.transfers.size(); ++i) {
        const bool backward = fixed.size() >= plan.blocks.size();
        (plan.transfers[i].op == CollectiveOp::ReduceScatter ? reductions : backward ? gathers : fixed).push_back(i);
      }
      // Every merge of both rows.
      const auto merge = [&](auto&& self, std::vector<std::uint32_t>& order, std::size_t g, std::size_t r) -> void {
        if (g == gathers.size() && r == reductions.size()) {
          try {
            all.replay(reordered(plan, order));
            ++replayed;
          } catch (const std::exception&) {  // a transfer waits for itself
          }
          return;
        }
        if (g < gathers.size()) {
          order.push_back(gathers[g]);
          self(self, order, g + 1, r);
          order.pop_back();
        }
        if (r < reductions.size()) {
          order.push_back(reductions[r]);
          self(self, order, g, r + 1);
          order.pop_back();
        }
      };
      std::vector<std::uint32_t> order = fixed;
      merge(merge, order, 0, 0);
    });
    INFO("round " << round);
    REQUIRE(best <= all.least().seconds);
  }
  REQUIRE(replayed > 5000);
}

TEST_CASE("best --zero 3 keeps given options; if all are given, only the frameworks' own plans are left") {
  Random random(74, 0);
  for (int round = 0; round < 6; ++round) {
    Scenario scenario = random_units(random, 3 + random.below(6));
    for (const auto& [option, value] : {std::pair("wrap", "layer"),
                                        {"reshard", "all"},
                                        {"prefetch", "4"},
                                        {"reduce_buffers", "2"},
                                        {"reduce", "last"},
                                        {"lanes", "separate"}})
      scenario.options.set(option, value, {});
    double least = std::numeric_limits<double>::infinity();
    for (const char* name : {"fsdp2", "fsdp1", "simple-fsdp", "zero-3", "megatron-fsdp"}) {
      if (name == std::string_view("zero-3") && scenario.options.strategy.sharding.shard_group > 0) continue;
      Scenario other = scenario;
      other.strategy = &find_strategy(name, {});
      other.options.strategy.sharding.zero = 0;
      least = std::min(least, simulate(other).metrics.iteration_s);
    }
    INFO("round " << round);
    REQUIRE(simulate(scenario).metrics.iteration_s == least);
  }
}

TEST_CASE("best --zero 3 with jitter, or on links, is never worse than the frameworks' own") {
  Random random(73, 0);
  for (int round = 0; round < 8; ++round) {
    Scenario scenario = random_units(random, 3 + random.below(6));
    if (round % 2 == 0) {
      scenario.stragglers.jitter = Jitter{.sigma = 0.2, .seed = 5};
      scenario.options.iterations = 10;
    } else {
      TopologySpec star;
      star.link = {.latency = 1e-6, .bandwidth = 1e9};
      scenario.cluster.network.topology = star;
      scenario.fidelity = round % 4 == 1 ? "fluid" : "message";
    }
    const double best = simulate(scenario).metrics.iteration_s;
    for (const char* name : {"fsdp2", "fsdp1", "simple-fsdp", "zero-3", "megatron-fsdp"}) {
      if (name == std::string_view("zero-3") && scenario.options.strategy.sharding.shard_group > 0) continue;
      Scenario other = scenario;
      other.strategy = &find_strategy(name, {});
      other.options.strategy.sharding.zero = 0;
      INFO("round " << round << ' ' << name);
      REQUIRE(best <= simulate(other).metrics.iteration_s);
    }
  }
}

TEST_CASE("plans that fit come first; then by time, or by memory if none fits; then by memory") {
  const PlanCost fast{1, 9, true}, small{1, 8, true}, slow{2, 1, true}, large{1, 9, false}, less{5, 8, false};
  CHECK(fast.better_than(slow));
  CHECK(small.better_than(fast));
  CHECK_FALSE(fast.better_than(small));
  CHECK_FALSE(fast.better_than(fast));
  CHECK(slow.better_than(less));
  CHECK(less.better_than(large));
  CHECK_FALSE(large.better_than(less));
  CHECK(PlanCost{4, 8, false}.better_than(less));
}

TEST_CASE("of many units, no border put or taken makes best --zero 3 better") {
  // All else is given, so that the search has one start for each even merge, and moves borders from there.
  Random random(76, 0);
  int compared = 0;
  for (int round = 0; round < 20; ++round) {
    Scenario scenario = random_units(random, 7 + random.below(4));
    scenario.options.strategy.sharding.accumulate = 1;
    scenario.options.strategy.sharding.shard_group = 0;
    for (const auto& [option, value] : {std::pair("reshard", "all"),
                                        {"prefetch", "1"},
                                        {"reduce_buffers", "1"},
                                        {"reduce", "every"},
                                        {"lanes", "shared"}})
      scenario.options.set(option, value, {});
    const Result best = simulate(scenario);
    Scenario fsdp2 = scenario;
    fsdp2.strategy = &find_strategy("fsdp2", {});
    fsdp2.options.strategy.sharding.zero = 0;
    const auto cost_of = [&](const std::vector<std::uint32_t>& begins) {
      fsdp2.options.strategy.fsdp.wrap = {.by = Wrap::By::Given, .begins = begins};
      const Result result = simulate(fsdp2);
      return PlanCost{result.metrics.iteration_s, result.memory.peak, true};
    };
    std::vector<std::uint32_t> begins;
    for (const Unit& unit : best.plan.memory_policy.units) begins.push_back(unit.first);
    const PlanCost found{best.metrics.iteration_s, best.memory.peak, true};
    if (begins.empty() || cost_of(begins).seconds != found.seconds) continue;  // another strategy's plan
    ++compared;
    for (LayerId layer = 1; layer < scenario.profile->layers.size(); ++layer) {
      std::vector<std::uint32_t> other = begins;
      if (const auto border = std::find(other.begin(), other.end(), layer); border != other.end())
        other.erase(border);
      else
        other.insert(std::upper_bound(other.begin(), other.end(), layer), layer);
      INFO("round " << round << ", layer " << layer);
      REQUIRE_FALSE(cost_of(other).better_than(found));
    }
  }
  CHECK(compared >= 5);
}
