// Sharded iterations worked out by hand, in microseconds, and what a worker's memory holds meanwhile.
#include "tests/replay/training/worked.hpp"

using namespace allreplay;
using namespace worked;

TEST_CASE("fsdp2: copies take the compute stream") {
  // 1 GB/s: a copy of 1000 B lasts 1 us. The copy-in of the first unit waits for the reduction of the second.
  Scenario scenario = on_ring(profile_of({{1, 2}, {1, 2}}), "fsdp2");
  scenario.options.strategy.fsdp.copy = 1e9;
  const Result result = check(scenario, {13, 7,
                                         "G1 0-1 C1 1-2 G2 1-2 F1 2-3 C2 3-4 F2 4-5 G1' 4-5 B2 5-7 D2 7-8 c1 8-9 "
                                         "R2 8-9 B1 9-11 D1 11-12 R1 12-13"});
  CHECK(result.metrics.copy_s / microsecond == Approx(5));
  CHECK(*result.metrics.lower_bound_s / microsecond == Approx(6 + 5));  // five transfers take 5 us
}

TEST_CASE("fsdp2 in groups: all-reduces among groups overlap with the reductions") {
  // Four workers, two in a group: an all-reduce of half the bytes among two takes 1 us.
  Scenario scenario = on_ring(profile_of({{1, 2}, {1, 2}}, 2), "fsdp2", 4);
  scenario.options.strategy.fsdp.reshard = Reshard::None;
  scenario.options.strategy.sharding.shard_group = 2;
  const Result result =
      check(scenario, {10, 3, "G1 0-1 F1 1-2 G2 1-2 F2 2-3 B2 3-5 B1 5-7 R2 5-6 A2 6-7 R1 7-8 A1 8-9 U 9-10"});  // U/2
  CHECK(result.metrics.update_s / microsecond == Approx(1));
  CHECK(result.metrics.speedup == Approx(4 * (6 + 2) / 10.0));
  CHECK(*result.metrics.lower_bound_s / microsecond == Approx(7));
}

TEST_CASE("fsdp2: only the last micro-batch is reduced, and each one gathers again") {
  Scenario scenario = on_ring(profile_of({{1, 2}}), "fsdp2");
  scenario.options.strategy.sharding.accumulate = 2;
  scenario.options.strategy.fsdp.reduce = Reduce::Last;
  const Result result = check(scenario, {9, 3, "G1 0-1 F1 1-2 B1 2-4 G1/2 4-5 F1/2 5-6 B1/2 6-8 R1/2 8-9"});
  // 250 elements: a shard of the parameters in fp32, the gradients whole, two moments shared out.
  CHECK(result.memory.parts.parameters == 500);
  CHECK(result.memory.parts.gradients == 1000);
  CHECK(result.memory.parts.optimizer == 1000);
  CHECK(result.memory.parts.in_reduction == 0);
  CHECK(result.memory.peak == 2500 + 1000);  // and what is gathered
}

TEST_CASE("fsdp2 in groups: reductions in each micro-batch, all-reduces among groups in the last one") {
  Scenario scenario = on_ring(profile_of({{1, 2}}), "fsdp2", 4);
  scenario.options.strategy.sharding.shard_group = 2;
  scenario.options.strategy.sharding.accumulate = 2;
  scenario.options.set("reduce", "replicas-last", {});
  const Result result =
      check(scenario, {11, 5, "G1 0-1 F1 1-2 B1 2-4 R1 4-5 G1/2 5-6 F1/2 6-7 B1/2 7-9 R1/2 9-10 A1/2 10-11"});
  CHECK(result.memory.parts.gradients == 500);  // 250 elements in fp32, shared by two
  CHECK(result.memory.parts.in_reduction == 1000);
}

TEST_CASE("fsdp1: three ways of prefetching") {
  // G3 waits for F1, as two units may be there. Then only the backward pass differs.
  const std::string forward = "G1 0-1 F1 1-4 G2 1-2 F2 4-7 G3 4-5 F3 7-10 ";
  Scenario scenario = on_ring(profile_of({{3, 1}, {3, 1}, {3, 1}}), "fsdp1");
  auto& prefetch = scenario.options.strategy.fsdp.backward_prefetch;
  check(scenario,
        {16, 4, forward + "G3' 10-11 B3 11-12 G2' 11-12 B2 12-13 R3 12-13 G1' 13-14 B1 14-15 R2 14-15 R1 15-16"});
  prefetch = BackwardPrefetch::Post;
  check(scenario,
        {17, 5, forward + "G3' 10-11 B3 11-12 G2' 12-13 B2 13-14 R3 13-14 G1' 14-15 B1 15-16 R2 15-16 R1 16-17"});
  prefetch = BackwardPrefetch::None;
  check(scenario,
        {19, 7, forward + "G3' 10-11 B3 11-12 R3 12-13 G2' 13-14 B2 14-15 R2 15-16 G1' 16-17 B1 17-18 R1 18-19"});
}

TEST_CASE("fsdp1: a single unit is the root, and is gathered once") {
  const Result result = check(on_ring(profile_of({{1, 2}}), "fsdp1"), {5, 2, "G1 0-1 F1 1-2 B1 2-4 R1 4-5"});
  CHECK(result.metrics.collectives == 2);
  // 250 elements: shards of parameters, gradients and moments 500 + 500 + 1000; the root 1000 from 0 to 4, its
  // gradients 1000 from 2 to 5.
  CHECK(result.memory.peak == 2000 + 1000 + 1000);
}

TEST_CASE("fsdp1: embedding and head are one unit, which stays until the embedding's backward pass") {
  Profile profile = profile_of({{1, 1}, {1, 2}, {1, 2}, {1, 1}});
  const char* names[] = {"embed", "h.0", "h.1", "head"};
  for (LayerId layer = 0; layer < 4; ++layer) profile.layers[layer].group = names[layer];
  // The root's gather and reduction take 2 us. G3 waits for nothing, as the root counts for no limit; G3' waits for F4,
  // G2' for B4.
  const Result result =
      check(on_ring(profile, "fsdp1"),
            {14, 4,
             "G1+4 0-2 F1 2-3 G2 2-3 F2 3-4 G3 3-4 F3 4-5 F4 5-6 B4 6-7 G3' 6-7 B3 7-9 G2' 7-8 B2 9-11 "
             "R3 9-10 B1 11-12 R2 11-12 R1+4 12-14"});
  CHECK(result.metrics.collectives == 3 + 2 + 3);
  // 1000 elements: shards 2000 + 2000 + 4000. Gathered: the root's 2000 from 0 to 12; h.1's 1000 from 6 to 9, h.0's
  // from 7 to 11: 4000 from 7 to 9. In reduction: the root's 2000 from 6 to 14; h.1's from 7 to 10, h.0's from 9 to 12.
  CHECK(result.memory.parts.gathered == 4000);
  CHECK(result.memory.parts.in_reduction == 4000);
  CHECK(result.memory.peak == 8000 + 4000 + 3000);  // from 7 to 9; then 3000 + 4000
}

TEST_CASE("zero-1: whole buckets after the backward pass, or overlapping with it") {
  Scenario scenario = on_ring(profile_of({{1, 1}, {1, 1}, {1, 1}}), "zero-1");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.reduce_bucket = 500;  // two tensors, in forward order
  check(scenario, {15, 9, "G1+2+3 0-3 F1 3-4 F2 4-5 F3 5-6 B3 6-7 B2 7-8 B1 8-9 R1+2 9-13 R3 13-15"});
  zero.whole_buckets = false;
  check(scenario, {12, 6, "G1+2+3 0-3 F1 3-4 F2 4-5 F3 5-6 B3 6-7 B2 7-8 B1 8-9 R1+2 9-11 R3 11-12"});
  zero.overlap_comm = true;
  zero.reduce_bucket = 250;  // R3 is closed by the gradient of layer 2
  check(scenario, {11, 5, "G1+2+3 0-3 F1 3-4 F2 4-5 F3 5-6 B3 6-7 B2 7-8 B1 8-9 R3 8-9 R2 9-10 R1 10-11"});
}

TEST_CASE("zero-2: the backward pass waits for each bucket, or for the one before") {
  // Buckets of a tensor as all-reduces, 2 us.
  Scenario scenario = on_ring(profile_of({{1, 1}, {1, 1}, {1, 1}, {1, 1}}), "zero-2");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.reduce_bucket = 250;
  const std::string forward = "G1+2+3+4 0-4 F1 4-5 F2 5-6 F3 6-7 F4 7-8 B4 8-9 B3 9-10 ";
  check(scenario, {20, 12, forward + "R4 10-12 B2 12-13 R3 13-15 B1 15-16 R2 16-18 R1 18-20"});
  zero.overlap_comm = true;  // at the launch of R3, at 11, B1 waits for R4
  check(scenario, {18, 10, forward + "B2 10-11 R4 10-12 B1 12-13 R3 12-14 R2 14-16 R1 16-18"});
}

TEST_CASE("zero-3: layers are kept, or gathered twice") {
  // Prefetches of 250 elements: the next layer's. Buckets of one tensor.
  Scenario scenario = on_ring(profile_of({{1, 1}, {1, 1}, {1, 1}}), "zero-3");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.persistence = 0;
  zero.prefetch_bucket = zero.reduce_bucket = 250;
  check(scenario, {9, 3, "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 B3 4-5 B2 5-6 B1 6-7 R3 6-7 R2 7-8 R1 8-9"});
  zero.max_reuse = 0;
  // When F3 is next, layer 2 is fetched (layer 3 is there); when B3 is, layer 3 again and then layer 1.
  check(scenario, {10, 4,
                   "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G3 2-3 F3 3-4 G2' 3-4 G3' 4-5 B3 5-6 G1' 5-6 B2 6-7 B1 7-8 R3 7-8 "
                   "R2 8-9 R1 9-10"});
}

TEST_CASE("zero-3: persistent parameters are gathered after the update, and count unsharded") {
  Profile profile = profile_of({{1, 1}, {1, 1}}, 2);
  profile.tensors[0] = {"t1", 500, 2000, 0};
  Scenario scenario = on_ring(profile, "zero-3");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.persistence = 250;
  const Result result = check(scenario, {11, 6, "G2 0-1 G1 1-3 F1 3-4 F2 4-5 B2 5-6 B1 6-7 R2+1 7-10 U 10-11"});
  // 750 elements, 250 of them whole: 4·(500/2 + 250), 4·750/2, 8·750/2. Layer 1 is here from its gather to its
  // backward.
  CHECK(result.memory.parts.parameters == 2000);
  CHECK(result.memory.parts.gradients == 1500);
  CHECK(result.memory.parts.optimizer == 3000);
  CHECK(result.memory.parts.gathered == 2000);
  CHECK(result.memory.parts.in_reduction == 3000);
  CHECK(result.memory.peak == 6500 + 2000 + 3000);  // at the end of B1, just before layer 1 is freed
}

TEST_CASE("megatron: each of its three overlaps") {
  Scenario scenario = on_ring(profile_of({{2, 1}, {2, 1}, {2, 1}}), "megatron");
  MegatronOptions& megatron = scenario.options.strategy.megatron;
  megatron.bucket_size = 250;
  check(scenario, {11, 2, "G1 0-1 F1 1-3 G2 1-2 F2 3-5 G3 3-4 F3 5-7 B3 7-8 B2 8-9 R3 8-9 B1 9-10 R2 9-10 R1 10-11"});
  megatron.overlap_param_gather = false;
  check(scenario,
        {13, 4, "G1 0-1 G2 1-2 G3 2-3 F1 3-5 F2 5-7 F3 7-9 B3 9-10 B2 10-11 R3 10-11 B1 11-12 R2 11-12 R1 12-13"});
  megatron.overlap_grad_reduce = false;
  check(scenario, {15, 6, "G3+2+1 0-3 F1 3-5 F2 5-7 F3 7-9 B3 9-10 B2 10-11 B1 11-12 R3+2+1 12-15"});
  megatron.overlap_grad_reduce = true;
  megatron.distributed_optimizer = false;
  check(scenario, {13, 4, "F1 0-2 F2 2-4 F3 4-6 B3 6-7 B2 7-8 R3 7-9 B1 8-9 R2 9-11 R1 11-13"});
}

TEST_CASE("wfbp with stages 1 and 2, two micro-batches") {
  Scenario scenario = on_ring(profile_of({{1, 1}, {1, 1}}, 2), "wfbp");
  ShardingConfig& step = scenario.options.strategy.sharding;
  step = {.accumulate = 2, .zero = 2};
  const std::string both = "B2 0-1 B1 1-2 R2 1-2 F1/2 2-3 R1 2-3 F2/2 3-4 B2/2 4-5 B1/2 5-6 R2/2 5-6 R1/2 6-7 U 7-8 ";
  check(scenario, {12, 3, both + "G1 8-9 G2 9-10 F1 10-11 F2 11-12"});
  scenario.options.strategy.barrier = Barrier::Layer;
  check(scenario, {11, 2, both + "G1 8-9 F1 9-10 G2 9-10 F2 10-11"});
  step.zero = 1;
  scenario.options.strategy.barrier.reset();
  check(scenario, {12, 3,
                   "B2/2 0-1 B1/2 1-2 R2/2 1-2 R1/2 2-3 U 3-4 G1 4-5 G2 5-6 F1 6-7 F2 7-8 B2 8-9 B1 9-10 "
                   "F1/2 10-11 F2/2 11-12"});
  // Unsharded: the whole update, before the layers that read it.
  step.zero = 0;
  scenario.options.strategy.barrier = Barrier::Layer;
  check(scenario, {13, 3,
                   "B2/2 0-1 B1/2 1-2 R2/2 1-3 R1/2 3-5 U1 5-6 F1 6-7 U2 7-8 F2 8-9 B2 9-10 B1 10-11 F1/2 11-12 "
                   "F2/2 12-13"});
}

TEST_CASE("the peak is of the sum, and each part has its own") {
  Profile profile = profile_of({{1, 2}, {1, 2}});
  profile.layers[0].activation_bytes = 100;
  profile.layers[1].activation_bytes = 200;
  const Scenario scenario = on_ring(profile, "fsdp2");
  const Result result = check(scenario, {8, 2, "G1 0-1 F1 1-2 G2 1-2 F2 2-3 G1' 2-3 B2 3-5 B1 5-7 R2 5-6 R1 7-8"});
  const MemoryUse& memory = result.memory;
  CHECK(memory.parts.parameters == 1000);
  CHECK(memory.parts.gradients == 1000);
  CHECK(memory.parts.optimizer == 2000);
  // Unit 1 is here 0-2 and 2-7, unit 2 1-5. Gradients of unit 2 are on their way out 3-6, of unit 1 5-8.
  CHECK(memory.parts.gathered == 2000);
  CHECK(memory.parts.in_reduction == 2000);
  CHECK(*memory.parts.activations == 300);         // 100 from 1 to 7, 200 from 2 to 5
  CHECK(memory.peak == 4000 + 2000 + 1000 + 300);  // 3 to 5; from 5 to 6 it is 1000 + 2000 + 100
}

TEST_CASE("gradients of a unit are held from its first backward pass on, of whichever layer") {
  // Two units of two layers: G1 0-2, F1 F2 2-4 during G2, F3 F4 4-6, B4 B3 6-10, B2 B1 10-14, R2 10-12, R1 14-16. The
  // last one's gradients are held from 6 to 12, the first one's from 10 to 16.
  Scenario scenario = on_ring(profile_of({{1, 2}, {1, 2}, {1, 2}, {1, 2}}), "fsdp2");
  scenario.options.strategy.fsdp.wrap = {.by = Wrap::By::Size, .size = 2000};
  scenario.options.strategy.fsdp.reshard = Reshard::None;
  const Result result = simulate(scenario);
  CHECK(result.metrics.iteration_s / microsecond == Approx(16));
  CHECK(result.memory.parts.in_reduction == 4000);
}

TEST_CASE("memory with two-byte types, and of DeepSpeed's buckets") {
  Scenario scenario = on_ring(with_element_bytes(profile_of({{1, 1}, {1, 1}}), 2, 2), "zero-1");
  ZeroOptions& zero = scenario.options.strategy.zero;
  zero.reduce_bucket = 300;
  MemoryUse memory = simulate(scenario).memory;  // 500 elements of 2 B; 12 B an element of state, shared out
  CHECK(memory.parts.parameters == 1000);
  CHECK(memory.parts.gradients == 1000);
  CHECK(memory.parts.optimizer == 3000);
  CHECK(memory.parts.gathered == 0);
  CHECK(memory.parts.in_reduction == 600);  // a bucket
  CHECK(memory.parts.step == 250 * (4 + 2));
  CHECK(memory.peak == 5600 + 1500);
  scenario.strategy = &find_strategy("zero-2", {});
  memory = simulate(scenario).memory;
  CHECK(memory.parts.gradients == 500);
  CHECK(memory.parts.in_reduction == 600);
  zero.overlap_comm = true;
  CHECK(simulate(scenario).memory.parts.in_reduction == 1000);  // two, but no more than there is
  scenario.options.memory.state = 6;
  CHECK(simulate(scenario).memory.parts.optimizer == 1500);
  scenario.strategy = &find_strategy("fsdp2", {});
  CHECK(simulate(scenario).memory.parts.parameters == 1000);  // fp32 shards
}

TEST_CASE("memory: amount and time of the optimizer step's buffers") {
  // Two layers of 250 elements each, two workers. Times play no part: also an update that takes none has temporaries.
  const auto memory = [](std::string_view strategy, Bytes element, const auto& change, const char* framework = "none",
                         double update = 0) {
    Profile profile = profile_of({{1, 1}, {1, 1}}, update);
    profile.framework = framework;
    for (Tensor& tensor : profile.tensors) tensor.bytes = element * tensor.elements;
    Scenario scenario = on_ring(std::move(profile), strategy);
    change(scenario.options);
    return simulate(scenario).memory;
  };
  const auto as_it_comes = [](Options&) {};
  // PyTorch's Adam: roots of 500 second moments. Parameters 2000, gradients 2000, moments 4000 B.
  const MemoryUse ddp = memory("ddp", 4, as_it_comes);
  CHECK(ddp.parts.step == 2000);
  CHECK(ddp.peak == 8000 + 2000);
  CHECK(memory("ddp", 4, [](Options& options) { options.memory.state = 4; }).parts.step == 0);  // no second moment
  // Other strategies do not say whose optimizer runs; the profile may: PyTorch's, unless it names another framework.
  for (const char* strategy : {"wfbp", "dear", "us-byte"}) {
    CHECK(memory(strategy, 4, as_it_comes).peak == 8000 + 2000);
    CHECK(memory(strategy, 4, as_it_comes, "TensorFlow").peak == 8000);
    CHECK(memory(strategy, 4, as_it_comes, "PyTorch 2.4").peak == 8000 + 2000);
  }
  // A layer at a time, if the update takes time and layers wait for their own blocks only.
  const auto by_layer = [](Options& options) { options.strategy.barrier = Barrier::Layer; };
  CHECK(memory("ddp", 4, by_layer, "none", 2).parts.step == 1000);
  // The step holds a temporary of a shard: after the reductions and before the next gathers, so it adds only to what is
  // always there, and the peak is elsewhere.
  const MemoryUse sharded = memory("fsdp2", 4, as_it_comes);
  CHECK(sharded.parts.step == 1000);
  CHECK(sharded.peak == 4000 + 3000);  // as in docs/sharding.md: 2000 gathered and 1000 in reduction, or the reverse
  // DeepSpeed: the shard's 250 gradients as one tensor and in fp32; in fp32 they are one. A bucket holds all.
  const MemoryUse half = memory("zero-1", 2, as_it_comes);
  CHECK(half.parts.step == 250 * (4 + 2));
  CHECK(half.peak == 1000 + 1000 + 250 * 12 + 1000 + 1500);
  CHECK(memory("zero-2", 4, as_it_comes).parts.step == 250 * 4);
  CHECK(memory("zero-3", 2, as_it_comes).parts.step == 250 * (4 + 2));
  CHECK(simulate(on_ring(profile_of({{1, 1}}), "zero-3")).plan.memory_policy.step_elements == 1'000'000'000);
  // Megatron: in fp32, of the shard or of all.
  CHECK(memory("megatron", 2, as_it_comes).parts.step == 250 * 4);
  CHECK(memory("megatron", 4, as_it_comes).parts.step == 0);
  CHECK(memory("megatron", 2, [](Options& options) {
          options.strategy.megatron.distributed_optimizer = false;
        }).parts.step == 500 * 4);
}
