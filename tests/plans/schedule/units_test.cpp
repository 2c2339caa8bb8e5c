// The precedences of SimpleFSDP and Megatron-FSDP (docs/sharding.md); and no order that breaks a need is accepted.
#include <bitset>

#include "tests/plans/schedule/planned.hpp"

#include "sim/plans/schedule/needs.hpp"

using namespace allreplay;
using namespace planned;

TEST_CASE("simple-fsdp: places of gathers, and of the waits for reductions") {
  const Planned shared("simple-fsdp", layers_of({1, 1, 1, 1}), [](StrategyOptions&) {});
  CHECK(shared.words.program() == "F1 F2 F3 F4 B4 B3 B2 B1 U");
  CHECK(shared.words.lane("gather and reduce") == "G1 G2 G3 G4 G3' R4 G2' R3 G1' R2 R1");
  shared.waits({{"G1", "start"},
                {"G2", "start"},
                {"G3", "F1"},
                {"G4", "F2"},
                {"F1", "G1"},
                {"F4", "G4"},
                {"G3'", "F4"},  // v = K - 1
                {"G2'", "B4"},
                {"G1'", "B3 R4"},  // v + 2, v + 3
                {"B4", ""},
                {"B3", "G3'"},
                {"B2", "R4 G2'"},
                {"B1", "R3 G1'"},
                {"R4", "B4"},
                {"R1", "B1"},
                {"U", "R4 R3 R2 R1"}});
  const Planned separate("simple-fsdp", layers_of({1, 1, 1, 1}), [](StrategyOptions& options) {
    options.fsdp.separate_lanes = true;
    options.fsdp.reshard = Reshard::All;
  });
  CHECK(separate.words.lane("gather") == "G1 G2 G3 G4 G4' G3' G2' G1'");
  CHECK(separate.words.lane("reduce") == "R4 R3 R2 R1");
  separate.waits({{"G4'", "F4"}, {"G3'", "F4"}, {"G2'", "B4"}, {"G1'", "B3 R4"}, {"B4", "G4'"}});
  const Planned twice("simple-fsdp", layers_of({1, 1, 1}), [](StrategyOptions& options) {
    options.sharding = {.accumulate = 2, .shard_group = 2};
    options.fsdp.reshard = Reshard::None;
  });
  CHECK(twice.words.lane("gather and reduce") == "G1 G2 G3 R3 R2 R1 G1/2 G2/2 G3/2 R3/2 R2/2 R1/2");
  CHECK(twice.words.lane("replicate") == "A3 A2 A1 A3/2 A2/2 A1/2");
  twice.waits({{"A3", "R3"}, {"B1", "R3"}, {"G1/2", "B1 R3 A3 R2 A2 R1 A1"}, {"G3/2", "F1/2"}});
}

TEST_CASE("megatron-fsdp: the distance of prefetching") {
  const auto lane = [](std::int64_t unit_size, bool double_buffer) {
    const Planned plan("megatron-fsdp", layers_of({100, 50, 50, 100}), [&](StrategyOptions& options) {
      options.megatron_fsdp.unit_size = unit_size;
      options.megatron_fsdp.double_buffer = double_buffer;
    });
    const auto before = [&](const char* name) { return std::string(name) + ":" + plan.words.before(name); };
    return plan.words.lane("gather and reduce") + "; " + before("G3") + " " + before("G4") + " " + before("G2'");
  };
  // 50 are not fewer than 50 (unit_size 100): one ahead. 51 allow a second one, 101 a third.
  CHECK(lane(100, false) == "G1 G2 G3 G4 G4' G3' R4 G2' R3 G1' R2 R1; G3:F1 G4:F2 G2':B4");
  CHECK(lane(101, false) == "G1 G2 G3 G4 G4' G3' G2' R4 G1' R3 R2 R1; G3:start G4:F1 G2':F4");
  CHECK(lane(201, false) == "G1 G2 G3 G4 G4' G3' G2' G1' R4 R3 R2 R1; G3:start G4:start G2':F4");
  CHECK(lane(0, false) == lane(1'000'000'000, false));
  CHECK(lane(0, true) == lane(100, false));
}

TEST_CASE("megatron-fsdp: reductions not yet waited for") {
  const auto with = [](std::int64_t unit_size, bool sync_every) {
    return Planned("megatron-fsdp", layers_of({100, 100, 100, 100}), [&](StrategyOptions& options) {
      options.megatron_fsdp.unit_size = unit_size;
      options.megatron_fsdp.sync_every = sync_every;
      options.fsdp.separate_lanes = true;
      options.sharding.accumulate = 2;
    });
  };
  // 100 are more than 99 behind B3: B2 waits for R4, and what is issued in between as well. 200 behind B2 is more than
  // 199: B1 for R4. Behind B1 nothing waits, so the next micro-batch begins with three or four pending.
  const Planned each = with(99, false);
  each.waits({{"B3", "G3'"}, {"B2", "R4 G2'"}, {"R3", "B3 R4"}, {"G1'", "B3 R4"}, {"B1", "R3 G1'"}, {"R2", "B2 R3"}});
  each.waits({{"R1", "B1"}, {"G1/2", "B1"}, {"B3/2", "R2 R1 G3'/2"}, {"U", "R2/2 R1/2"}});
  with(199, false).waits({{"B2", "G2'"}, {"B1", "R4 G1'"}, {"G1/2", "B1"}, {"B3/2", "R3 R2 G3'/2"}});
  with(200, true).waits({{"B1", "G1'"}, {"G1/2", "B1 R4 R3 R2 R1"}, {"U", "R4/2 R3/2 R2/2 R1/2"}});
}

// ---- needs ----------------------------------------------------------------------------------------------------------

namespace {

// The precedences that hold surely, by the program, the gates and the lanes: independent of how coverage is checked.
class SurePrecedence {
 public:
  explicit SurePrecedence(const Plan& plan) : plan_(plan) {
    const std::size_t works = plan.program().size(), count = works + plan.transfers.size();
    REQUIRE(count <= most);
    before_.resize(count);
    for (std::size_t i = 1; i < works; ++i) before_[i].set(i - 1);
    for (const Gate& gate : plan.gates)
      if (!std::holds_alternative<StartPoint>(gate.before)) before_[node(gate.after)].set(node(gate.before));
    std::map<std::uint32_t, std::size_t> last;
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      const std::uint32_t lane = plan.transfers[i].lane;
      if (last.contains(lane)) before_[works + i].set(last[lane]);
      last[lane] = works + i;
    }
    for (std::size_t through = 0; through < count; ++through)
      for (auto& one : before_)
        if (one[through]) one |= before_[through];
  }

  bool is_circular() const {
    for (std::size_t i = 0; i < before_.size(); ++i)
      if (before_[i][i]) return true;
    return false;
  }

  // True if a need of a tensor is not met. Each tensor is a block.
  bool breaks_a_need() const {
    const std::size_t update = plan_.program().size() - 1;
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& one = plan_.transfers[i];
      const std::size_t at = update + 1 + i;
      if (is_gathering(one.op) && one.op != CollectiveOp::AllReduce) {
        if (one.group == group_shard && !is_used(one, at)) return true;
        continue;
      }
      if (!before_[at][pass(Activity::Backward, one.payload.block, one.micro_batch)] || !before_[update][at])
        return true;
      if (one.group != group_replica) continue;
      for (std::size_t other = 0; other < plan_.transfers.size(); ++other)
        if (const Transfer& sum = plan_.transfers[other];
            sum.group == group_shard && sum.op == CollectiveOp::ReduceScatter &&
            sum.payload.block == one.payload.block && sum.micro_batch <= one.micro_batch &&
            !before_[at][update + 1 + other])
          return true;
    }
    for (std::uint32_t block = 0; block < plan_.blocks.size(); ++block)
      if (!is_gathered_first(block)) return true;
    return false;
  }

 private:
  static constexpr std::size_t most = 128;

  std::size_t node(const PlanPoint& point) const {
    if (const auto* one = std::get_if<TransferPoint>(&point)) return plan_.program().size() + one->index;
    return std::get<WorkPoint>(point).place;
  }
  std::size_t pass(Activity kind, std::uint32_t layer, std::uint32_t micro_batch) const {
    return ProgramIndex(plan_.program())(kind, layer, micro_batch);
  }
  // A gather ends before some pass of its layer.
  bool is_used(const Transfer& one, std::size_t at) const {
    for (std::uint32_t micro_batch = 0; micro_batch < plan_.sharding.accumulate; ++micro_batch)
      for (const Activity kind : {Activity::Forward, Activity::Backward})
        if (before_[pass(kind, one.payload.block, micro_batch)][at]) return true;
    return false;
  }
  // Before the first forward pass, whole; and its shard before that, if groups share the optimizer.
  bool is_gathered_first(std::uint32_t block) const {
    const std::size_t first = pass(Activity::Forward, block, 0), works = plan_.program().size();
    const auto gathers = [&](std::size_t i, std::uint32_t group) {
      const Transfer& one = plan_.transfers[i];
      return one.op == CollectiveOp::AllGather && one.group == group && one.payload.block == block;
    };
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      if (!gathers(i, group_shard) || !before_[first][works + i]) continue;
      bool shard = !plan_.sharding.outer_optimizer;
      for (std::size_t other = 0; other < plan_.transfers.size(); ++other)
        shard = shard || (gathers(other, group_replica) && before_[works + i][works + other]);
      if (shard) return true;
    }
    return false;
  }

  const Plan& plan_;
  std::vector<std::bitset<most>> before_;  // by node: works, then transfers
};

// Exchanges a transfer with the next one; gates point to where they stand then.
Plan swapped(Plan plan, std::uint32_t index) {
  std::swap(plan.transfers[index], plan.transfers[index + 1]);
  for (Gate& gate : plan.gates)
    for (PlanPoint* point : {&gate.before, &gate.after})
      if (auto* one = std::get_if<TransferPoint>(point); one && (one->index == index || one->index == index + 1))
        one->index = 2 * index + 1 - one->index;
  return plan;
}

struct Tally {
  int refused = 0, passed = 0;
};

void check_every_change(const Planned& all, Tally& tally) {
  const auto check = [&](const Plan& plan) {
    const SurePrecedence order(plan);
    const bool broken = order.is_circular() || order.breaks_a_need();
    ++(broken ? tally.refused : tally.passed);
    if (broken) REQUIRE(find_plan_error(plan, all.profile));
  };
  REQUIRE_FALSE(find_plan_error(all.plan, all.profile));
  REQUIRE_FALSE(SurePrecedence(all.plan).is_circular());
  REQUIRE_FALSE(SurePrecedence(all.plan).breaks_a_need());
  for (std::size_t gate = 0; gate < all.plan.gates.size(); ++gate) {
    Plan without = all.plan;
    without.gates.erase(without.gates.begin() + static_cast<std::ptrdiff_t>(gate));
    check(without);
    for (std::uint32_t index = 0; index + 1 < without.transfers.size(); ++index) check(swapped(without, index));
  }
}

}  // namespace

TEST_CASE("groups that do not share the optimizer send each other all-reduces only") {
  Planned plan("megatron-fsdp", layers_of({1, 1}), [](StrategyOptions& options) {
    options.sharding.shard_group = 2;
    options.megatron_fsdp.outer_optimizer = true;
  });
  CHECK_FALSE(find_plan_error(plan.plan, plan.profile));
  plan.plan.sharding.outer_optimizer = false;
  CHECK(find_plan_error(plan.plan, plan.profile));
  Planned copies("megatron-fsdp", layers_of({1, 1}),
                 [](StrategyOptions& options) { options.sharding.shard_group = 2; });
  copies.plan.sharding.outer_optimizer = true;  // nothing gathers the shards
  CHECK(find_plan_error(copies.plan, copies.profile));
}

TEST_CASE("up to four units: no order that breaks a need passes") {
  Tally tally;
  for (const std::size_t units : {1, 2, 3, 4})
    for (const std::int64_t group : {0, 2})
      for (const bool separate : {false, true}) {
        const std::vector<std::int64_t> elements(units, 100);
        for (const bool outer : {false, true})
          for (const std::int64_t unit_size : {150, 1000}) {
            INFO(units << " units, groups of " << group << ", " << outer << ", " << unit_size);
            check_every_change(Planned("megatron-fsdp", layers_of(elements),
                                       [&](StrategyOptions& options) {
                                         options.sharding.shard_group = group;
                                         options.sharding.accumulate = units < 3 ? 2 : 1;
                                         options.fsdp.separate_lanes = separate;
                                         options.megatron_fsdp = {.unit_size = unit_size, .outer_optimizer = outer};
                                       }),
                               tally);
          }
        for (const bool reorder : {false, true}) {
          INFO(units << " units, groups of " << group << ", " << reorder);
          check_every_change(Planned("simple-fsdp", layers_of(elements),
                                     [&](StrategyOptions& options) {
                                       options.sharding.shard_group = group;
                                       options.sharding.accumulate = units < 3 ? 2 : 1;
                                       options.fsdp.separate_lanes = separate;
                                       options.fsdp.reorder = reorder;
                                     }),
                             tally);
        }
      }
  CHECK(tally.refused > 1000);
  CHECK(tally.passed > 1000);
}
