// Drafts written out as plans, and plans against what training needs.
#include "sim/plans/schedule/plan.hpp"

#include <regex>

#include "tests/catch.hpp"
#include "tests/plan_words.hpp"
#include "tests/random_profile.hpp"

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/strategy.hpp"

using namespace allreplay;

namespace {

// Three layers; the second has no tensors, the third two.
Profile three_layers() {
  Profile profile;
  for (const char* name : {"in", "relu", "out"}) profile.layers.push_back({name, Time(1), Time(2)});
  profile.tensors = {{"in.weight", 10, 40, 0}, {"out.weight", 5, 20, 2}, {"out.bias", 1, 4, 2}};
  return profile;
}

// A block of the output layer's tensors, and one of the input's.
BucketSchedule two_blocks() {
  BucketSchedule schedule;
  schedule.strategy = "two";
  schedule.blocks = {{{{2, 0, 4}, {1, 0, 20}}, 7}, {{{0, 0, 40}}, 3}};
  return schedule;
}

// Returns the bytes, transfers, layers and tensors that an error names, in its order.
std::string named_by(const std::string& error) {
  static const std::regex names("(byte|transfer) [0-9]+|'[^']*'");
  std::string all;
  for (std::sregex_iterator one(error.begin(), error.end(), names), end; one != end; ++one)
    all += (all.empty() ? "" : ", ") + one->str();
  return all.empty() && !error.empty() ? "nothing" : all;
}

std::string complaint_of(const Plan& plan) {
  const Profile profile = three_layers();
  const auto wrong = find_plan_error(plan, profile);
  return wrong ? named_by(wrong->what) : "";
}

using Gates = std::vector<Gate>;

}  // namespace

namespace {

// Returns a transfer of a block's gradients among all workers.
Transfer of_all(CollectiveOp op, const Plan& plan, std::uint32_t block, std::int64_t priority) {
  return {.op = op,
          .payload = {Payload::Kind::Gradients, block},
          .bytes = plan.blocks[block].bytes(),
          .priority = priority};
}

}  // namespace

TEST_CASE("a draft is expanded to transfers and the gates after them") {
  // The program: B out, B relu, B in, F in, F relu, F out: places 0 to 5.
  const Profile profile = three_layers();
  const Plan plan = expand(two_blocks(), profile);
  REQUIRE(plan.program().size() == 6);
  CHECK(plan.program()[0] == Work{Activity::Backward, 2});
  CHECK(plan.program()[5] == Work{Activity::Forward, 2});
  CHECK(plan.transfers == std::vector<Transfer>{of_all(CollectiveOp::AllReduce, plan, 0, 7),
                                                of_all(CollectiveOp::AllReduce, plan, 1, 3)});
  // Barrier iteration: the first forward waits for both.
  CHECK(plan.gates ==
        Gates{{work(0), transfer(0)}, {work(2), transfer(1)}, {transfer(0), work(3)}, {transfer(1), work(3)}});

  BucketSchedule by_layer = two_blocks();
  by_layer.barrier = Barrier::Layer;
  by_layer.release = Release::Backward;
  CHECK(expand(by_layer, profile).gates ==
        Gates{{work(2), transfer(0)}, {work(2), transfer(1)}, {transfer(0), work(5)}, {transfer(1), work(3)}});
}

TEST_CASE("a split draft is reductions, and gathers once they and the backward pass have ended") {
  BucketSchedule schedule = two_blocks();
  schedule.split = true;
  schedule.barrier = Barrier::Layer;
  const Plan plan = expand(schedule, three_layers());
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  CHECK(plan.transfers == std::vector<Transfer>{of_all(CollectiveOp::ReduceScatter, plan, 0, first),
                                                of_all(CollectiveOp::ReduceScatter, plan, 1, first),
                                                of_all(CollectiveOp::AllGather, plan, 0, 7),
                                                of_all(CollectiveOp::AllGather, plan, 1, 3)});
  CHECK(plan.gates == Gates{{work(0), transfer(0)},
                            {work(2), transfer(1)},
                            {transfer(0), transfer(2)},
                            {work(2), transfer(2)},
                            {transfer(1), transfer(3)},
                            {work(2), transfer(3)},
                            {transfer(2), work(5)},
                            {transfer(3), work(3)}});
  CHECK(complaint_of(plan).empty());
}

TEST_CASE("missing or duplicate bytes of a plan are reported by the first one") {
  BucketSchedule schedule = two_blocks();
  schedule.blocks[0].slices[1] = {1, 0, 12};
  CHECK(complaint_of(expand(schedule, three_layers())) == "byte 12, 'out.weight'");
  schedule.blocks[1].slices.push_back({1, 8, 12});
  CHECK(complaint_of(expand(schedule, three_layers())) == "byte 8, 'out.weight', transfer 0, transfer 1");
  schedule.blocks[1].slices.back() = {1, 0, 20};  // with equal first bytes, the earlier transfer is named
  CHECK(complaint_of(expand(schedule, three_layers())) == "byte 0, 'out.weight', transfer 0, transfer 1");
  schedule.blocks.pop_back();
  schedule.blocks[0].slices[1] = {1, 0, 20};
  CHECK(complaint_of(expand(schedule, three_layers())) == "byte 0, 'in.weight'");

  schedule = two_blocks();
  schedule.split = true;
  Plan plan = expand(schedule, three_layers());
  plan.transfers.pop_back();
  std::erase_if(plan.gates, [](const Gate& gate) { return gate.before == transfer(3) || gate.after == transfer(3); });
  CHECK(complaint_of(plan) == "byte 0, 'in.weight'");
}

TEST_CASE("a transfer that comes too early or too late is named") {
  Plan plan = expand(two_blocks(), three_layers());
  plan.gates[1] = {work(1), transfer(1)};  // after B relu only
  CHECK(complaint_of(plan) == "transfer 1, 'in', 'in.weight'");
  plan = expand(two_blocks(), three_layers());
  plan.gates[3] = {transfer(1), work(4)};  // F in does not wait for its gradient
  CHECK(complaint_of(plan) == "transfer 1, 'in'");
  plan.gates.pop_back();  // nothing waits for it: it might still be on its way when the next iteration begins
  CHECK(complaint_of(plan) == "transfer 1, 'in'");
  // By way of another transfer is as good.
  plan.gates.push_back({transfer(1), transfer(0)});
  CHECK(complaint_of(plan).empty());
}

TEST_CASE("gathers come after their reductions, and nothing waits for itself") {
  BucketSchedule schedule = two_blocks();
  schedule.split = true;
  Plan plan = expand(schedule, three_layers());
  plan.gates[2] = {work(0), transfer(2)};  // instead of its reduce-scatter
  CHECK(complaint_of(plan) == "transfer 2, transfer 0");
  plan.gates[2] = {transfer(0), work(1)};  // by way of the program: B relu waits for it, and the gather for B in
  CHECK(complaint_of(plan).empty());
  plan = expand(two_blocks(), three_layers());
  plan.gates.push_back({transfer(1), work(1)});  // B relu comes before B in, which transfer 1 waits for
  CHECK(complaint_of(plan) == "transfer 1");
  plan = expand(two_blocks(), three_layers());
  plan.gates.push_back({transfer(0), transfer(1)});
  plan.gates.push_back({transfer(1), transfer(0)});
  CHECK(complaint_of(plan) == "transfer 0");
}

TEST_CASE("a program that updates layer by layer updates every layer that has tensors, before its forward pass") {
  Profile profile = three_layers();
  profile.update = Time(6);
  BucketSchedule schedule = two_blocks();
  schedule.barrier = Barrier::Layer;
  const Plan plan = expand(schedule, profile);  // B B B, U of in, F, F, U of out, F
  REQUIRE(plan.program()[3] == Work{Activity::Update, 0});
  REQUIRE(plan.program()[6] == Work{Activity::Update, 2});
  CHECK(!find_iteration_error(plan, profile));
  const auto complaint = [&](auto change) {
    Plan changed = plan;
    change(changed.program());
    const auto wrong = find_iteration_error(changed, profile);
    return wrong ? named_by(wrong->what) : "";
  };
  using Program = std::vector<Work>;
  CHECK(complaint([](Program& one) { one.erase(one.begin() + 6); }) == "'out'");
  CHECK(complaint([](Program& one) { one.erase(one.begin() + 3); }) == "'in'");
  CHECK(complaint([](Program& one) { std::swap(one[3], one[4]); }) == "'in'");
  CHECK(complaint([](Program& one) { one.push_back(one[6]); }) == "nothing");
}

TEST_CASE("a sharded plan has no transfer without a successor, though every byte is reduced") {
  const Profile profile = three_layers();
  const Plan plan = expand(two_blocks(), profile, {.zero = 1});
  CHECK(complaint_of(plan) == "");
  Plan stray = plan;  // one more sum among replicas, which no need of unsplit shards asks for
  stray.transfers.push_back(plan.transfers.front());
  stray.transfers.back().op = CollectiveOp::AllReduce;
  stray.transfers.back().group = group_replica;
  const std::size_t last = stray.transfers.size() - 1;
  CHECK_FALSE(complaint_of(stray).empty());  // it may start before the backward pass
  stray.gates.push_back({work(0), transfer(last)});
  CHECK_FALSE(complaint_of(stray).empty());  // it may end after the update
  const ProgramIndex index(plan.program());
  stray.gates.push_back({transfer(last), work(index(Activity::Update, everything, 0))});
  CHECK(complaint_of(stray) == "");
}

TEST_CASE("needs follow from the sharding") {
  using enum Payload::Kind;
  using enum Activity;
  CHECK(needs_of({.accumulate = 3}) ==
        std::vector<Need>{{CollectiveOp::AllReduce, group_all, Gradients, 2, Backward, Update}});
  for (const std::int64_t zero : {1, 2, 3})
    CHECK(needs_of({.zero = zero, .shard_group = 4}) ==
          std::vector<Need>{{CollectiveOp::ReduceScatter, group_shard, Gradients, 0, Backward, Update},
                            {CollectiveOp::AllReduce, group_replica, Gradients, 0, Backward, Update},
                            {CollectiveOp::AllGather, group_shard, Parameters, 0, Update, Forward}});
}

TEST_CASE("every draft with all gradients covers the needs, and is recovered unchanged") {
  Random random(71, 0);
  for (int round = 0; round < 300; ++round) {
    const Profile profile = random_profile(random, 12);
    const auto list = gradients(profile);
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i <= list.size(); ++i)
      if (i == list.size() || random.below(2) == 0) ends.push_back(i);
    BucketSchedule schedule = merge("some", list, ends);
    schedule.barrier = static_cast<Barrier>(random.below(2));
    schedule.release = static_cast<Release>(random.below(2));
    schedule.split = random.below(2) == 0;
    const Plan plan = expand(schedule, profile);
    require_covered(plan, profile);
    const BucketSchedule back = bucket_schedule_of(plan);
    CHECK(back.blocks.size() == schedule.blocks.size());
    CHECK(back.split == schedule.split);
    // One gate less, and it does not any more, unless another says as much.
    Plan broken = plan;
    const std::size_t gone = random.below(broken.gates.size());
    const Gate gate = broken.gates[gone];
    broken.gates.erase(broken.gates.begin() + static_cast<std::ptrdiff_t>(gone));
    if (gate.work_before() && gate.transfer_after() && !schedule.split)
      CHECK(find_plan_error(broken, profile).has_value());
    if (gate.work_after()) CHECK(find_plan_error(broken, profile).has_value());
  }
}

TEST_CASE("an iteration that is cut at the first micro-batch keeps its dependencies") {
  Profile profile = three_layers();
  profile.update = Time(5);
  ShardingConfig three;
  three.accumulate = 3;
  for (const Barrier barrier : {Barrier::Iteration, Barrier::Layer}) {
    BucketSchedule schedule = two_blocks();
    schedule.barrier = barrier;
    schedule.tick = Time(7);
    const Plan whole = expand(schedule, profile, three), cut = from_first_micro_batch(whole);
    const PlanWords before(whole, profile), after(cut, profile);
    const bool each = barrier == Barrier::Layer;  // layers update when they are about to compute
    const std::string update = each ? "U1 F1 F2 U3 F3" : "U F1 F2 F3";
    CHECK(before.program() == "B3/3 B2/3 B1/3 " + update + " B3 B2 B1 F1/2 F2/2 F3/2 B3/2 B2/2 B1/2 F1/3 F2/3 F3/3");
    CHECK(after.program() == "B3 B2 B1 F1/2 F2/2 F3/2 B3/2 B2/2 B1/2 F1/3 F2/3 F3/3 B3/3 B2/3 B1/3 " + update);
    CHECK_FALSE(find_plan_error(cut, profile));
    for (const std::vector<std::string>& names : {before.works(), before.transfers()})
      for (const std::string& name : names) CHECK(after.before(name) == before.before(name));
    // Ticks are counted from where the other program begins: after the forward pass of the third micro-batch.
    for (const Transfer& one : cut.transfers) CHECK(after.name_of(PlanPoint(one.ticks_from.value())) == "F3/3");
  }
  // Programs that begin with the first micro-batch stay as they are.
  for (const Strategy& strategy : strategies()) {
    if (!strategy.plan) continue;
    StrategyOptions options;
    options.sharding = three;
    const Plan plan = make_plan(strategy, {profile, CommCost(0, 0), options, true, 4});
    CHECK(plan.program().front().kind != Activity::Backward);
    CHECK(plan.program().front().micro_batch == 0);
    CHECK(from_first_micro_batch(plan).program() == plan.program());
  }
}

TEST_CASE("strategies state in their rows whether their plans are split") {
  // Asked before anything is planned (require_possible).
  Random random(72, 0);
  const Profile profile = random_profile(random, 8);
  const StrategyOptions options;
  for (const Strategy& strategy : strategies())
    if (strategy.schedule) CHECK(strategy.schedule({profile, CommCost(1e-4, 1e-9), options}).split == strategy.split);
}
