// Dependencies in sharded training, rule by rule (docs/sharding.md).
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/plans/schedule/planned.hpp"

#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/plans/schedule/units.hpp"

using namespace allreplay;
using namespace planned;

namespace {

std::vector<Bytes> sizes(const Plan& plan, CollectiveOp op) {
  std::vector<Bytes> sizes;
  for (const Transfer& transfer : plan.transfers)
    if (transfer.op == op) sizes.push_back(plan.block_of(transfer).bytes());
  return sizes;
}

std::string units(const Profile& profile, const Wrap& wrap) {
  std::string text;
  for (const Unit& unit : units_of(profile, wrap))
    text += (text.empty() ? "" : " ") + std::to_string(unit.first + 1) + "-" + std::to_string(unit.last + 1);
  return text;
}

Profile with_groups(Profile profile, const std::vector<std::string>& names) {
  for (std::size_t layer = 0; layer < names.size(); ++layer) profile.layers[layer].group = names[layer];
  return profile;
}

}  // namespace

TEST_CASE("units: groups by name; layers without name or tensors join them") {
  const Wrap standard;
  const Profile five = layers_of({10, 10, 10, 10, 10});
  CHECK(units(five, standard) == "1-1 2-2 3-3 4-4 5-5");
  CHECK(units(with_groups(five, {"a", "a", "b", "b", "b"}), standard) == "1-2 3-5");
  CHECK(units(with_groups(five, {"a", "a", "b", "b", "b"}), {.by = Wrap::By::Layer}) == "1-1 2-2 3-3 4-4 5-5");
  // Without a name: to the unit before, or the first.
  CHECK(units(with_groups(five, {"", "a", "", "b", ""}), standard) == "1-3 4-5");
  // The same without tensors. A group that has tensors only in its second layer begins with its first.
  CHECK(units(layers_of({0, 10, 0, 0, 10}), standard) == "1-4 5-5");
  CHECK(units(with_groups(layers_of({10, 0, 10, 0, 0}), {"a", "b", "b", "c", "c"}), standard) == "1-1 2-5");
  CHECK(units(with_groups(layers_of({0, 0, 10, 10, 10}), {"a", "a", "b", "c", "c"}), standard) == "1-3 4-5");
}

TEST_CASE("units of a part are groups if they are groups in the model") {
  // fully_shard wraps the blocks that a model has; a part outside of all blocks is the unit of its root. Layers 3 to 5
  // of the model have no names: together with the rest of the model they join "b", otherwise they are one unit.
  const Profile model = with_groups(layers_of({10, 10, 10, 10, 10}), {"a", "b", "", "", ""});
  const Profile part = layers_of({10, 10, 10});
  CHECK(units_of(model, {}).size() == 2);
  CHECK(units_of_part(part, model, {}).size() == 1);
  CHECK(units_of_part(part, model, {.by = Wrap::By::Group}).size() == 1);
  CHECK(units_of_part(part, model, {.by = Wrap::By::Layer}).size() == 3);
  CHECK(units_of_part(part, part, {}).size() == 3);
}

TEST_CASE("units by size: one closes once its parameters reach it") {
  // 40, 80, 120, 40 and 40 B of gradients.
  Profile profile = layers_of({10, 20, 30, 10, 10});
  const auto by_size = [&](Bytes size) { return units(profile, {.by = Wrap::By::Size, .size = size}); };
  CHECK(by_size(120) == "1-2 3-3 4-5");
  CHECK(by_size(121) == "1-3 4-5");
  CHECK(by_size(1) == "1-1 2-2 3-3 4-4 5-5");
  CHECK(by_size(1000) == "1-5");
  profile.parameter_bytes = 2;  // half of that: 20, 40, 60, 20, 20
  CHECK(by_size(120) == "1-3 4-5");
  CHECK(by_size(60) == "1-2 3-3 4-5");
}

TEST_CASE("groups that do not exist, or are not contiguous, are refused") {
  const Profile three = layers_of({10, 10, 10});
  const auto complaint = [&](const Profile& profile, const Wrap& wrap) {
    return error_place([&] { units_of(profile, wrap); });
  };
  CHECK(complaint(three, {.by = Wrap::By::Group}) == "no place");
  CHECK(complaint(with_groups(three, {"a", "b", "a"}), {}) == "layers: /layers/2/group");
  // Whom the names do not concern does not look at them.
  CHECK(complaint(with_groups(three, {"a", "b", "a"}), {.by = Wrap::By::Layer}).empty());
}

TEST_CASE("fsdp2: gathers wait for the buffer, copies in for the reduction before") {
  const Planned four("fsdp2", layers_of({1, 1, 1, 1}));
  // The last unit stays from its forward to its backward pass.
  CHECK(four.words.program() == "C1 F1 C2 F2 C3 F3 C4 F4 B4 D4 c3 B3 D3 c2 B2 D2 c1 B1 D1 U");
  CHECK(four.words.lane("gather and reduce") == "G1 G2 G3 G4 G3' R4 G2' R3 G1' R2 R1");
  four.waits({{"G1", "start"},
              {"G2", "start"},
              {"G3", "C1"},
              {"G4", "C2"},
              {"C1", "G1"},
              {"C4", "G4"},
              {"F4", ""},
              {"G3'", "C4"},
              {"G2'", "c3"},
              {"G1'", "c2"},
              {"c3", "G3'"},
              {"c1", "G1'"},
              {"D4", ""},
              {"D3", "R4"},
              {"D1", "R2"},
              {"R4", "D4"},
              {"R1", "D1"}});
  // The update comes after D1 on the compute stream, and after all reductions.
  CHECK(four.words.before("U") == "R4 R3 R2 R1");
  CHECK(four.plan.sharding.zero == 3);
}

TEST_CASE("fsdp2: freed units, prefetching, and pending reductions") {
  const auto with = [](auto change) {
    return Planned("fsdp2", layers_of({1, 1, 1, 1}), [&](StrategyOptions& options) { change(options.fsdp); });
  };
  const Planned all = with([](FsdpOptions& fsdp) { fsdp.reshard = Reshard::All; });
  CHECK(all.words.program() == "C1 F1 C2 F2 C3 F3 C4 F4 c4 B4 D4 c3 B3 D3 c2 B2 D2 c1 B1 D1 U");
  CHECK(all.words.lane("gather and reduce") == "G1 G2 G3 G4 G4' G3' R4 G2' R3 G1' R2 R1");
  all.waits({{"G4'", "C4"}, {"G3'", "c4"}, {"G1'", "c2"}});

  const Planned none = with([](FsdpOptions& fsdp) { fsdp.reshard = Reshard::None; });
  CHECK(none.words.program() == "C1 F1 C2 F2 C3 F3 C4 F4 B4 D4 B3 D3 B2 D2 B1 D1 U");
  CHECK(none.words.lane("gather and reduce") == "G1 G2 G3 G4 R4 R3 R2 R1");

  const Planned ahead = with([](FsdpOptions& fsdp) { fsdp.prefetch = 2; });
  CHECK(ahead.words.lane("gather and reduce") == "G1 G2 G3 G4 G3' G2' R4 G1' R3 R2 R1");
  ahead.waits({{"G3", "start"}, {"G4", "C1"}, {"G3'", "C4"}, {"G2'", "C4"}, {"G1'", "c3"}});

  const Planned behind = with([](FsdpOptions& fsdp) { fsdp.reduce_buffers = 2; });
  behind.waits({{"D4", ""}, {"D3", ""}, {"D2", "R4"}, {"D1", "R3"}});

  const Planned apart = with([](FsdpOptions& fsdp) { fsdp.separate_lanes = true; });
  CHECK(apart.words.lane("gather") == "G1 G2 G3 G4 G3' G2' G1'");
  CHECK(apart.words.lane("reduce") == "R4 R3 R2 R1");
}

TEST_CASE("fsdp2: a micro-batch waits for all of the one before") {
  const auto two = [](Reduce reduce) {
    return Planned("fsdp2", layers_of({1, 1}), [&](StrategyOptions& options) {
      options.sharding.accumulate = 2;
      options.fsdp.reduce = reduce;
    });
  };
  const Planned every = two(Reduce::Every);
  every.waits({{"G1", "start"}, {"G1/2", "D1 R2 R1"}, {"G2/2", "D1 R2 R1"}, {"D1/2", "R2/2"}, {"U", "R2/2 R1/2"}});
  CHECK_FALSE(every.plan.memory_policy.whole_gradients);
  const Planned last = two(Reduce::Last);  // the first one has neither copies in nor reductions
  CHECK(last.words.program() == "C1 F1 C2 F2 B2 c1 B1 C1/2 F1/2 C2/2 F2/2 B2/2 D2/2 c1/2 B1/2 D1/2 U");
  last.waits({{"G1/2", "B1"}, {"U", "R2/2 R1/2"}});
  CHECK(last.plan.memory_policy.whole_gradients);
}

TEST_CASE("fsdp2: all-reduces among groups in the last micro-batch only") {
  const auto with = [](const char* name, Reduce reduce, std::int64_t group) {
    return Planned(name, layers_of({1, 1}), [&](StrategyOptions& options) {
      options.sharding.shard_group = group;
      options.sharding.accumulate = 2;
      options.fsdp.reduce = reduce;
    });
  };
  const Planned once = with("fsdp2", Reduce::ReplicasLast, 2);
  CHECK(once.words.lane("gather and reduce") == with("fsdp2", Reduce::Every, 2).words.lane("gather and reduce"));
  CHECK(once.words.lane("replicate") == "A2/2 A1/2");
  once.waits({{"G1/2", "D1 R2 R1"}, {"A2/2", "R2/2"}, {"U", "R2/2 A2/2 R1/2 A1/2"}});
  CHECK_FALSE(once.plan.memory_policy.whole_gradients);
  // Without groups there is nothing to postpone.
  CHECK(with("fsdp2", Reduce::ReplicasLast, 0).plan.transfers == with("fsdp2", Reduce::Every, 0).plan.transfers);
  CHECK(with("fsdp1", Reduce::ReplicasLast, 2).words.lane("replicate") == "A2 A1 A2/2 A1/2");  // not its option
  CHECK(!find_plan_error(once.plan, once.profile));

  const std::vector<std::string> names = once.words.transfers();
  const auto place = [&](const char* name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  // An all-reduce of the last micro-batch has to wait for the first one's reduce-scatter too.
  Plan early = once.plan;
  const std::size_t first = place("R2");
  early.transfers[first].lane = static_cast<std::uint32_t>(early.lanes.size());
  early.lanes.push_back({"other", Order::AsListed, {}, Time(0)});
  std::erase_if(early.gates, [&](const Gate& gate) {
    const auto* before = gate.transfer_before();
    return before && before->index == first;
  });
  early.gates.push_back({transfer(first), work(early.program().size() - 1)});
  const auto wrong = find_plan_error(early, once.profile);
  REQUIRE(wrong);
  CHECK(wrong->what.find(fmt::format(" transfer {} (", first)) != std::string::npos);
  // A micro-batch whose shards are summed in part.
  Plan part = once.plan;
  part.transfers[place("A2/2")].micro_batch = 0;
  CHECK(find_plan_error(part, once.profile));
}

TEST_CASE("hybrid sharding: an all-reduce of the shard follows each reduction in a lane of its own") {
  for (const char* name : {"fsdp1", "fsdp2"}) {
    INFO(name);
    const Planned two(name, layers_of({1, 1}), [](StrategyOptions& options) {
      options.sharding.shard_group = 2;
      options.sharding.accumulate = 2;
    });
    CHECK(two.words.lane("replicate") == "A2 A1 A2/2 A1/2");
    two.waits({{"A2", "R2"}, {"U", "R2/2 A2/2 R1/2 A1/2"}});
    CHECK(two.words.before("G1/2") == (std::string(name) == "fsdp2" ? "D1" : "B1") + std::string(" R2 A2 R1 A1"));
    for (const Transfer& transfer : two.plan.transfers)
      CHECK(transfer.group == (transfer.op == CollectiveOp::AllReduce ? group_replica : group_shard));
    // One that does not wait for its shards' reduction is named, whichever it is.
    CHECK(!find_plan_error(two.plan, two.profile));
    int missed = 0;
    for (std::size_t i = 0; i < two.plan.gates.size(); ++i) {
      const PlanPoint before = two.plan.gates[i].before, after = two.plan.gates[i].after;
      const auto is = [&](const PlanPoint& one, CollectiveOp op) {
        const auto* transfer = std::get_if<TransferPoint>(&one);
        return transfer && two.plan.transfers[transfer->index].op == op;
      };
      if (!is(before, CollectiveOp::ReduceScatter) || !is(after, CollectiveOp::AllReduce)) continue;
      Plan early = two.plan;
      early.gates.erase(early.gates.begin() + static_cast<std::ptrdiff_t>(i));
      const auto wrong = find_plan_error(early, two.profile);
      REQUIRE(wrong);
      CHECK(wrong->what.starts_with(fmt::format("transfer {} (", std::get<TransferPoint>(after).index)));
      CHECK(wrong->what.find(fmt::format(" transfer {} (", std::get<TransferPoint>(before).index)) !=
            std::string::npos);
      ++missed;
    }
    CHECK(missed == 4);  // of two tensors in two micro-batches
  }
}

TEST_CASE("fsdp1: the limit, and the three ways of prefetching") {
  const auto with = [](auto change) {
    return Planned("fsdp1", layers_of({1, 1, 1, 1}), [&](StrategyOptions& options) { change(options.fsdp); });
  };
  const Planned pre = with([](FsdpOptions&) {});
  CHECK(pre.words.program() == "F1 F2 F3 F4 B4 B3 B2 B1 U");  // no copies
  CHECK(pre.words.lane("gather and reduce") == "G1 G2 G3 G4 G4' G3' R4 G2' R3 G1' R2 R1");
  pre.waits({{"G1", "start"},
             {"G2", "start"},
             {"G3", "F1"},
             {"G4", "F2"},
             {"F1", "G1"},
             {"F4", "G4"},
             {"G4'", "F4"},
             {"G3'", "F4"},
             {"G2'", "B4"},
             {"G1'", "B3"},  // what the unit before waits for
             {"B4", "G4'"},
             {"B1", "G1'"},
             {"R4", "B4"},
             {"R1", "B1"},
             {"U", "R4 R3 R2 R1"}});

  const Planned post = with([](FsdpOptions& fsdp) { fsdp.backward_prefetch = BackwardPrefetch::Post; });
  CHECK(post.words.lane("gather and reduce") == pre.words.lane("gather and reduce"));
  post.waits({{"G4'", "F4"}, {"G3'", "B4"}, {"G2'", "B3"}, {"G1'", "B2"}});

  const Planned late = with([](FsdpOptions& fsdp) { fsdp.backward_prefetch = BackwardPrefetch::None; });
  CHECK(late.words.lane("gather and reduce") == "G1 G2 G3 G4 G4' R4 G3' R3 G2' R2 G1' R1");
  late.waits({{"G4'", "F4"}, {"G3'", "B4"}, {"G2'", "B3"}, {"G1'", "B2"}});

  const Planned one = with([](FsdpOptions& fsdp) { fsdp.limit = 1; });
  one.waits({{"G1", "start"}, {"G2", "F1"}, {"G3", "F2"}, {"G4", "F3"}});

  const Planned kept = with([](FsdpOptions& fsdp) { fsdp.reshard = Reshard::None; });  // nothing is freed: no limit
  CHECK(kept.words.lane("gather and reduce") == "G1 G2 G3 G4 R4 R3 R2 R1");
  kept.waits({{"G3", "start"}, {"G4", "start"}});
}

TEST_CASE("fsdp1: layers outside of blocks belong to the root: gathered first, once, and reduced last") {
  // PyTorch's _post_forward_reshard frees all but the root; with k blocks there are k + 1 gathers forward, k backward.
  const std::vector<std::string> names{"embed", "h.0", "h.1", "head"};
  const auto with = [&](auto change) {
    return Planned("fsdp1", with_groups(layers_of({1, 1, 1, 1}), names),
                   [&](StrategyOptions& options) { change(options.fsdp); });
  };
  const Planned pre = with([](FsdpOptions&) {});
  CHECK(pre.words.program() == "F1 F2 F3 F4 B4 B3 B2 B1 U");
  CHECK(pre.words.lane("gather and reduce") == "G1+4 G2 G3 G3' G2' R3 R2 R1+4");
  // The root's backward pass begins with the head's, and has the last block gathered meanwhile.
  pre.waits({{"G1+4", "start"},
             {"G2", "start"},
             {"G3", "start"},
             {"F1", "G1+4"},
             {"F4", "G1+4"},
             {"B4", ""},
             {"G3'", "F4"},
             {"G2'", "B4"},
             {"B3", "G3'"},
             {"B1", ""},
             {"R3", "B3"},
             {"R1+4", "B1"},
             {"U", "R3 R2 R1+4"}});
  const Planned post = with([](FsdpOptions& fsdp) { fsdp.backward_prefetch = BackwardPrefetch::Post; });
  CHECK(post.words.lane("gather and reduce") == pre.words.lane("gather and reduce"));
  post.waits({{"G3'", "B4"}, {"G2'", "B3"}});
  const Planned late = with([](FsdpOptions& fsdp) { fsdp.backward_prefetch = BackwardPrefetch::None; });
  CHECK(late.words.lane("gather and reduce") == "G1+4 G2 G3 G3' R3 G2' R2 R1+4");
  late.waits({{"G3'", "B4"}, {"G2'", "B3"}});
  const Planned kept = with([](FsdpOptions& fsdp) { fsdp.reshard = Reshard::None; });
  CHECK(kept.words.lane("gather and reduce") == "G1+4 G2 G3 R3 R2 R1+4");
  const Planned one_ahead = with([](FsdpOptions& fsdp) { fsdp.limit = 1; });  // the root counts for no limit
  one_ahead.waits({{"G2", "start"}, {"G3", "F2"}});
  const Planned by_layer = with([](FsdpOptions& fsdp) { fsdp.wrap = {.by = Wrap::By::Layer}; });
  CHECK(by_layer.words.lane("gather and reduce") == "G1 G2 G3 G4 G4' G3' R4 G2' R3 G1' R2 R1");
}

TEST_CASE("fsdp1: the root is one unit, the layers too small for a unit, or empty") {
  const auto lane = [](const Profile& profile, const Wrap& wrap, BackwardPrefetch prefetch = BackwardPrefetch::Pre) {
    return Planned("fsdp1", profile,
                   [&](StrategyOptions& options) {
                     options.fsdp.wrap = wrap;
                     options.fsdp.backward_prefetch = prefetch;
                   })
        .words.lane("gather and reduce");
  };
  CHECK(lane(layers_of({5}), {}) == "G1 R1");  // FSDP around the whole model
  CHECK(lane(with_groups(layers_of({1, 1}), {"h.0", ""}), {}) == "G1+2 R1+2");
  // 40, 40, 40 and 20 B: what does not reach 80 B stays with the root, which is gathered first wherever it is.
  const Profile small = layers_of({10, 10, 10, 5});
  const Wrap by_size{.by = Wrap::By::Size, .size = 80};
  CHECK(lane(small, by_size) == "G3+4 G1+2 G1+2' R3+4 R1+2");
  CHECK(lane(small, by_size, BackwardPrefetch::Post) == "G3+4 G1+2 G1+2' R3+4 R1+2");
  CHECK(lane(small, by_size, BackwardPrefetch::None) == "G3+4 G1+2 R3+4 G1+2' R1+2");
  CHECK(lane(layers_of({10, 10, 10, 10}), by_size) == "G1+2 G3+4 G3+4' G1+2' R3+4 R1+2");
  // Numbers name the blocks of a list; names without any are modules of their own.
  const auto roots = [](const std::vector<std::string>& names) {
    const Profile profile = with_groups(layers_of(std::vector<std::int64_t>(names.size(), 1)), names);
    std::string text;
    for (const bool root : root_layers(profile, units_of(profile, {}), {})) text += root ? 'r' : '-';
    return text;
  };
  CHECK(roots({"wte", "layers.0.attn", "layers.0.mlp", "layers.1", "ln_f"}) == "r---r");
  CHECK(roots({"embed", "block1", "bridge", "block 12", "conv2d"}) == "r-r-r");
  CHECK(roots({"stem", "body", "head"}) == "---");
}

TEST_CASE("fsdp: a unit's layers pass back to back, and its tensors travel as one") {
  const Planned two("fsdp1", with_groups(layers_of({3, 0, 5, 7}), {"a", "a", "b", "b"}));
  CHECK(two.words.program() == "F1 F2 F3 F4 B4 B3 B2 B1 U");
  two.waits({{"F1", "G1"}, {"F3", "G3+4"}, {"B4", "G3+4'"}, {"R3+4", "B3"}, {"R1", "B1"}, {"F4", ""}, {"B3", ""}});
  CHECK(sizes(two.plan, CollectiveOp::ReduceScatter) == std::vector<Bytes>{48, 12});
}

TEST_CASE("zero-1 without overlap: buckets in forward order, after the backward pass") {
  // 100 + 200 fit in 500, + 300 do not; 300 + 400 do not.
  const auto change = [](StrategyOptions& options) {
    options.zero.reduce_bucket = 500;
    options.zero.allgather_bucket = 350;
    options.sharding.accumulate = 2;
  };
  const Planned plan("zero-1", layers_of({100, 200, 300, 400}), change);
  CHECK(plan.words.program() == "F1 F2 F3 F4 B4 B3 B2 B1 F1/2 F2/2 F3/2 F4/2 B4/2 B3/2 B2/2 B1/2 U");
  // The last micro-batch only.
  CHECK(plan.words.lane("reduce") == "R1+2/2 R3/2 R4/2");
  plan.waits({{"R1+2/2", "B1/2"}, {"R3/2", "B1/2"}, {"R4/2", "B1/2"}, {"U", "R1+2/2 R3/2 R4/2"}});
  // All parameters in pieces of 350 elements, tensors cut: 100 + 200 + 50, 250 + 100, 300 of 400 left.
  CHECK(sizes(plan.plan, CollectiveOp::AllGather) == std::vector<Bytes>{1400, 1400, 1200});
  CHECK(plan.words.lane("gather") == "G1+2+3 G3+4 G4");
  plan.waits({{"G1+2+3", "start"}, {"G3+4", "start"}, {"F1", "G1+2+3 G3+4 G4"}, {"F2", ""}, {"F1/2", ""}});
  const Slice rest = plan.plan.block_of(plan.plan.transfers[2]).slices.front();
  CHECK(rest.offset == 400);
  CHECK(plan.plan.sharding.zero == 1);
  CHECK(plan.plan.memory_policy.reduce_buffer == 500);
}

TEST_CASE("zero-1 with overlap: backward buckets, each launched when the next gradient does not fit") {
  const auto change = [](StrategyOptions& options) {
    options.zero.reduce_bucket = 500;
    options.zero.overlap_comm = true;
  };
  // 400, + 300 do not fit: closed by layer 3. 300 + 200 fit, + 100 do not: closed by layer 1.
  const Planned plan("zero-1", layers_of({100, 200, 300, 400}), change);
  CHECK(plan.words.lane("reduce") == "R4 R3+2 R1");
  // No pass waits at the launch of the first; all are awaited at the end.
  plan.waits({{"R4", "B3"}, {"B2", ""}, {"R3+2", "B1"}, {"R1", "B1"}, {"B1", ""}, {"U", "R4 R3+2 R1"}});
  CHECK(plan.words.lane("gather") == "G1+2+3+4");        // all in one
  CHECK(plan.plan.memory_policy.reduce_buffer == 1000);  // two buckets, as many as there are elements
}

TEST_CASE("zero-2: every micro-batch; the next task waits for this bucket, or with overlap for the one before") {
  const auto with = [](bool overlap) {
    return Planned("zero-2", layers_of({240, 240, 240, 240, 240}), [&](StrategyOptions& options) {
      options.zero.reduce_bucket = 240;
      options.zero.overlap_comm = overlap;
      options.zero.whole_buckets = false;
      options.sharding.accumulate = 2;
    });
  };
  const Planned waiting = with(false);
  CHECK(waiting.words.lane("reduce") == "R5 R4 R3 R2 R1 R5/2 R4/2 R3/2 R2/2 R1/2");
  waiting.waits({{"R5", "B4"},
                 {"B3", "R5"},
                 {"R4", "B3"},
                 {"B2", "R4"},
                 {"B1", "R3"},
                 {"R2", "B1"},
                 {"R1", "B1"},
                 {"F1/2", "R5 R4 R3 R2 R1"},
                 {"R5/2", "B4/2"},
                 {"U", "R5/2 R4/2 R3/2 R2/2 R1/2"}});
  const Planned overlap = with(true);
  overlap.waits({{"R5", "B4"},
                 {"B3", ""},
                 {"R4", "B3"},
                 {"B2", "R5"},
                 {"B1", "R4"},
                 {"F1/2", "R5 R4 R3 R2 R1"},
                 {"B3/2", ""},
                 {"B2/2", "R5/2"}});
  for (const Transfer& transfer : overlap.plan.transfers) CHECK(transfer.group == group_shard);
}

TEST_CASE("zero-2: a larger gradient is sent separately, and whole buckets are all-reduced") {
  const Planned plan("zero-2", layers_of({100, 900, 100}),
                     [](StrategyOptions& options) { options.zero.reduce_bucket = 500; });
  CHECK(plan.words.lane("reduce") == "R3 R2 R1");
  plan.waits({{"R3", "B2"}, {"B1", "R3"}, {"R2", "B1"}, {"R1", "B1"}});
  CHECK(sizes(plan.plan, CollectiveOp::AllReduce) == std::vector<Bytes>{400, 3600, 400});
  CHECK(plan.plan.transfers.back().group == group_all);
}

TEST_CASE("zero-3: the task that is next fetches its own layer, and those that follow while below the bucket") {
  const auto with = [](std::int64_t prefetch, std::int64_t live) {
    return Planned("zero-3", layers_of({100, 300, 300}), [&](StrategyOptions& options) {
      options.zero.persistence = 0;
      options.zero.prefetch_bucket = prefetch;
      options.zero.max_live = live;
    });
  };
  constexpr std::int64_t much = 1'000'000;
  const Planned one = with(300, much);  // 300 are not fewer than 300
  CHECK(one.words.lane("gather") == "G1 G2 G3");
  one.waits({{"G1", "start"}, {"F1", "G1"}, {"G2", "start"}, {"F2", "G2"}, {"G3", "F1"}, {"F3", "G3"}, {"B2", "G2"}});
  const Planned two = with(301, much);
  CHECK(two.words.lane("gather") == "G1 G2+3");  // in one collective
  two.waits({{"F2", "G2+3"}, {"F3", "G2+3"}});
  // 100 are there, so 300 of 400 are left: layer 2 takes them. Then none are left, and layer 3 is fetched when next.
  const Planned live = with(much, 400);
  CHECK(live.words.lane("gather") == "G1 G2 G3");
  live.waits({{"G2", "start"}, {"G3", "F2"}, {"F3", "G3"}});
  const Planned none = with(0, much);
  none.waits({{"G1", "start"}, {"G2", "F1"}, {"G3", "F2"}});
}

TEST_CASE("zero-3: a layer stays if fewer elements than max_reuse are between its uses") {
  const auto with = [](std::int64_t reuse) {
    return Planned("zero-3", layers_of({100, 200, 300}), [&](StrategyOptions& options) {
      options.zero.persistence = 0;
      options.zero.prefetch_bucket = 0;
      options.zero.max_reuse = reuse;
    });
  };
  // Between the uses of layer 3 lie 0 elements, of layer 2 twice 300, of layer 1 twice 200 more.
  CHECK(with(0).words.lane("gather") == "G1 G2 G3 G3' G2' G1'");
  CHECK(with(600).words.lane("gather") == "G1 G2 G3 G2' G1'");
  CHECK(with(601).words.lane("gather") == "G1 G2 G3 G1'");
  CHECK(with(1001).words.lane("gather") == "G1 G2 G3");
  with(0).waits({{"G3'", "F3"}, {"B3", "G3'"}, {"G2'", "B3"}, {"G1'", "B2"}, {"B1", "G1'"}});
}

TEST_CASE("zero-3: kept layers are freed after their backward pass, which makes room for the next micro-batch") {
  const Planned plan("zero-3", layers_of({100, 300, 300}), [](StrategyOptions& options) {
    options.zero.persistence = 0;
    options.zero.max_live = 400;
    options.sharding.accumulate = 2;  // max_reuse keeps all three of each
  });
  CHECK(plan.words.lane("gather") == "G1 G2 G3 G1/2 G2/2 G3/2");
  plan.waits({{"G1", "start"}, {"G2", "start"}, {"G3", "F2"}, {"G1/2", "B1"}, {"G2/2", "B1"}, {"G3/2", "F2/2"}});
}

TEST_CASE("zero-3: small tensors are refreshed first, and never freed") {
  Profile profile = layers_of({100, 50, 300});
  profile.tensors.insert(profile.tensors.begin() + 1, {"t1b", 50, 200, 0});
  const Planned plan("zero-3", profile, [](StrategyOptions& options) {
    options.zero.persistence = 50;
    options.zero.max_reuse = 0;
    options.zero.max_live = 100;  // which do not count towards the limit
    options.zero.prefetch_bucket = 1;
    options.sharding.accumulate = 2;
  });
  // The second layer has nothing else; before it the first one's own is all that may be there.
  CHECK(plan.words.lane("gather") == "G1+2 G1 G3 G3' G1' G1/2 G3/2 G3'/2 G1'/2");
  plan.waits({{"G1+2", "start"}, {"G1", "start"}, {"F1", "G1+2 G1"}, {"F2", ""}, {"G1/2", "B1"}});
  REQUIRE(plan.plan.memory_policy.resident.has_value());
  CHECK(plan.plan.blocks[*plan.plan.memory_policy.resident].bytes() == 400);
}

TEST_CASE("zero-3: parameters that are never freed do not count towards max_live") {
  Profile profile = layers_of({100, 50, 300});
  profile.tensors.insert(profile.tensors.begin() + 1, {"t1b", 50, 200, 0});
  const Planned plan("zero-3", profile, [](StrategyOptions& options) {
    options.zero.persistence = 50;
    options.zero.max_reuse = 0;
    options.zero.max_live = 101;  // one more than the first layer's own: the third is fetched together with it
  });
  CHECK(plan.words.lane("gather") == "G1+2 G1 G3 G3' G1'");
  plan.waits({{"G3", "start"}, {"F3", "G3"}, {"G3'", "F3"}});
}

TEST_CASE("zero-3: with overlap three buckets may be pending") {
  const auto with = [](bool overlap) {
    return Planned("zero-3", layers_of({240, 240, 240, 240, 240, 240}), [&](StrategyOptions& options) {
      options.zero.reduce_bucket = 240;
      options.zero.overlap_comm = overlap;
      options.zero.persistence = 1000;  // no gathers between
      options.sharding.accumulate = 2;
    });
  };
  const Planned plan = with(true);
  CHECK(plan.words.lane("reduce") == "R6 R5 R4 R3 R2 R1 R6/2 R5/2 R4/2 R3/2 R2/2 R1/2");
  plan.waits({{"R6", "B5"},
              {"R5", "B4"},
              {"R3", "B2"},
              {"B2", ""},
              {"B1", "R6"},
              {"F1/2", "R6 R5 R4 R3 R2 R1"},
              {"U", "R6/2 R5/2 R4/2 R3/2 R2/2 R1/2"}});
  with(false).waits({{"B4", "R6"}, {"B1", "R3"}});
}

TEST_CASE("megatron: buckets close once full, and the next one's gather is issued when its reader starts") {
  const auto with = [](auto change) {
    return Planned("megatron", layers_of({240, 240, 240}), [&](StrategyOptions& options) {
      options.megatron.bucket_size = 240;
      options.sharding.accumulate = 2;
      change(options);
    });
  };
  const Planned plan = with([](StrategyOptions&) {});
  CHECK(plan.words.lane("gather") == "G1 G2 G3");
  CHECK(plan.words.lane("reduce") == "R3/2 R2/2 R1/2");  // in the last micro-batch only
  plan.waits({{"G1", "start"},
              {"F1", "G1"},
              {"G2", "start G1"},
              {"F2", "G2"},
              {"G3", "F1 G2"},
              {"F3", "G3"},
              {"F1/2", ""},
              {"R3/2", "B3/2"},
              {"R1/2", "B1/2"},
              {"U", "R3/2 R2/2 R1/2"}});

  const Planned late = with([](StrategyOptions& options) { options.megatron.overlap_param_gather = false; });
  late.waits({{"G1", "start"}, {"G2", "start"}, {"G3", "start"}, {"F1", "G1 G2 G3"}, {"F2", ""}});

  const Planned none = with([](StrategyOptions& options) { options.megatron.overlap_grad_reduce = false; });
  CHECK(none.words.lane("reduce") == "R3+2+1/2");
  none.waits({{"R3+2+1/2", "B1/2"}, {"G3+2+1", "start"}, {"F1", "G3+2+1"}});

  const Planned whole = with([](StrategyOptions& options) { options.megatron.distributed_optimizer = false; });
  CHECK(whole.words.lane("gather").empty());
  CHECK(sizes(whole.plan, CollectiveOp::AllReduce) == std::vector<Bytes>{960, 960, 960});
  CHECK(whole.plan.sharding.zero == 0);

  const Planned groups = with([](StrategyOptions& options) { options.sharding.shard_group = 2; });
  CHECK(groups.words.lane("reduce") == "R3/2 A3/2 R2/2 A2/2 R1/2 A1/2");
  groups.waits({{"A3/2", "R3/2"}, {"U", "R3/2 A3/2 R2/2 A2/2 R1/2 A1/2"}});

  CHECK(error_place([&] {
          with([](StrategyOptions& options) {
            options.megatron.overlap_grad_reduce = false;
            options.megatron.overlap_param_gather = true;
          });
        }) == "no place");
}

TEST_CASE("megatron: tensors of a layer in several buckets, buckets of several layers") {
  // Backward: 400 (layer 3), then 200 and 100 of layer 2, then 100 (layer 1). Closed at 300: {3}, {2b, 2a}, {1}.
  Profile profile = layers_of({100, 100, 400});
  profile.tensors.insert(profile.tensors.begin() + 2, {"t2b", 200, 800, 1});
  const auto with = [&](std::int64_t size) {
    return Planned("megatron", profile, [&](StrategyOptions& options) { options.megatron.bucket_size = size; });
  };
  CHECK(with(300).words.lane("reduce") == "R3 R2 R1");
  CHECK(with(500).words.lane("reduce") == "R3+2 R2+1");
  // Layer 2 reads both: it waits for the second of them, which the first layer's start has issued.
  with(500).waits({{"F1", "G2+1"}, {"G3+2", "start G2+1"}, {"F2", "G3+2"}, {"R3+2", "B2"}, {"R2+1", "B1"}});
  // {3}, {2b}, {2a}, {1}: layer 2 waits for two; its second is issued with the first's reader, itself.
  const Planned small = with(1);
  CHECK(small.words.lane("gather") == "G1 G2 G2' G3");
  small.waits({{"F2", "G2 G2'"}, {"G2", "start G1"}, {"G2'", "F1 G2"}, {"G3", "F1 G2'"}, {"F3", "G3"}});
}

TEST_CASE("megatron: buckets grow with the workers, from 40 million elements on") {
  const Profile profile = layers_of({50'000'000, 50'000'000, 50'000'000});
  const auto reductions = [&](std::int64_t workers) {
    return Planned(
               "megatron", profile, [](StrategyOptions&) {}, workers)
        .words.lane("reduce");
  };
  CHECK(reductions(4) == "R3 R2 R1");
  CHECK(reductions(50) == "R3 R2 R1");
  CHECK(reductions(51) == "R3+2 R1");  // 50 million do not fill 51
}

TEST_CASE("zero under a plan: reduce-scatters, the update, all-gathers from the input on") {
  const auto with = [](std::int64_t zero, std::int64_t group, std::optional<Barrier> barrier = {}) {
    return Planned("wfbp", layers_of({1, 1}), [&](StrategyOptions& options) {
      options.sharding = {.accumulate = 2, .zero = zero, .shard_group = group};
      options.barrier = barrier;
    });
  };
  // A period begins with the backward pass of the first micro-batch that is reduced: of the last one, in stage 1.
  const Planned one = with(1, 0);
  CHECK(one.words.program() == "B2/2 B1/2 U F1 F2 B2 B1 F1/2 F2/2");
  CHECK(one.words.lane("reduce") == "R2/2 R1/2");
  CHECK(one.words.lane("gather") == "G1 G2");
  one.waits({{"R2/2", "B2/2"}, {"R1/2", "B1/2"}, {"U", "R2/2 R1/2"}, {"G1", "U"}, {"G2", "U"}, {"F1", "G1 G2"}});
  const Planned two = with(2, 0);
  CHECK(two.words.program() == "B2 B1 F1/2 F2/2 B2/2 B1/2 U F1 F2");
  CHECK(two.words.lane("reduce") == "R2 R1 R2/2 R1/2");
  two.waits({{"F1/2", ""}, {"U", "R2 R1 R2/2 R1/2"}});
  const Planned layered = with(2, 0, Barrier::Layer);
  layered.waits({{"F1", "G1"}, {"F2", "G2"}, {"U", "R2 R1 R2/2 R1/2"}});
  const Planned groups = with(1, 2);
  CHECK(groups.words.lane("replicate") == "A2/2 A1/2");
  groups.waits({{"A2/2", "R2/2"}, {"U", "A2/2 A1/2"}, {"G1", "U"}});
}

TEST_CASE("zero under a plan by priority: an earlier micro-batch comes first, regardless of keys") {
  const Planned plan("p3", layers_of({1, 1, 1}),
                     [](StrategyOptions& options) { options.sharding = {.accumulate = 2, .zero = 2}; });
  std::map<std::string, std::int64_t> keys;
  for (std::size_t i = 0; i < plan.plan.transfers.size(); ++i)
    keys[plan.words.transfers()[i]] = plan.plan.transfers[i].priority;
  CHECK(keys["R1"] < keys["R2"]);
  CHECK(keys["R2"] < keys["R3"]);
  CHECK(keys["R3"] < keys["R1/2"]);
  CHECK(keys["R1/2"] < keys["R3/2"]);
  // Stage 1 reduces only the last micro-batch: its blocks' keys are the plan's own.
  for (const std::int64_t accumulate : {1, 2}) {
    const Planned one("p3", layers_of({1, 0, 1, 1}),
                      [&](StrategyOptions& options) { options.sharding = {.accumulate = accumulate, .zero = 1}; });
    for (const Transfer& transfer : one.plan.transfers)
      if (transfer.op == CollectiveOp::ReduceScatter) CHECK(transfer.priority == one.plan.block_of(transfer).priority);
  }
}

TEST_CASE("without sharding an update is one task, or each layer's before its forward pass") {
  const auto program = [](Barrier barrier) {
    Profile profile = layers_of({1, 0, 1});
    profile.update = Time(10);
    const Planned plan("wfbp", profile, [&](StrategyOptions& options) {
      options.barrier = barrier;
      options.sharding.accumulate = 2;
    });
    return plan.words.program() + "; R3: " + plan.words.before(barrier == Barrier::Layer ? "U3" : "U");
  };
  CHECK(program(Barrier::Iteration) == "B3/2 B2/2 B1/2 U F1 F2 F3 B3 B2 B1 F1/2 F2/2 F3/2; R3: R3/2 R1/2");
  CHECK(program(Barrier::Layer) == "B3/2 B2/2 B1/2 U1 F1 F2 U3 F3 B3 B2 B1 F1/2 F2/2 F3/2; R3: R3/2");
}
