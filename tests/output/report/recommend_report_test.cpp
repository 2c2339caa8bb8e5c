#include "sim/output/report/recommend_report.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/report/tuning_report.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/studies/experiment/tuning.hpp"

using namespace allreplay;

namespace {

Scenario scenario(std::string_view strategy) {
  Profile profile;
  for (LayerId layer = 0; layer < 20; ++layer) {
    const std::string name = std::to_string(layer);
    profile.layers.push_back({name, to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({name, 1'000'000 + 10'000 * layer, 4'000'000 + 40'000 * layer, layer});
  }
  profile.name = "twenty";
  return scenario_of(profile, strategy, 8, 100e-6, 1e-9);
}

std::vector<Scenario> all() {
  std::vector<Scenario> list;
  for (const std::string& name : names_of_all_strategies()) list.push_back(scenario(name));
  return list;
}

}  // namespace

TEST_CASE("tuning does not depend on how many trials run at a time, and never makes anything worse") {
  for (const char* name : {"ddp", "horovod", "bytescheduler", "us-byte", "p3", "dear"}) {
    const Scenario given = scenario(name);
    const TuneRequest request{default_ranges(given), 20, TuneMethod::Bayes, 1};
    const Tuning one = run_tuning(given, request, 1), many = run_tuning(given, request, 4);
    REQUIRE(tuning_csv(one) == tuning_csv(many));
    REQUIRE(one.tuned.result.metrics.iteration_s <= one.given.result.metrics.iteration_s);
    CHECK(tuning_csv(one).find("profile,cluster,strategy,workers,origin,trial,") == 0);
  }
}

TEST_CASE("of trials that do not fit into memory none is the best so far once another does") {
  const Scenario given = scenario("ddp");
  Tuning tuning = run_tuning(given, {default_ranges(given), 4, TuneMethod::Grid, 1}, 1);
  REQUIRE(tuning.trials.size() >= 4);
  tuning.trials.resize(4);
  const TrialResult costs[] = {{1.0, 95e9, false}, {2.0, 90e9, false}, {4.0, 80e9, true}, {3.0, 70e9, true}};
  for (std::size_t i = 0; i < 4; ++i) static_cast<TrialResult&>(tuning.trials[i]) = costs[i];
  tuning.best = 3;
  const std::string csv = tuning_csv(tuning);
  // The smaller of two that do not fit, then what fits, then the faster that does.
  for (const char* end : {",1,1\n", ",2,2\n", ",4,4\n", ",3,3\n"}) CHECK(csv.find(end) != std::string::npos);
}

TEST_CASE("a ranking is sorted, speaks the frameworks' words, and repeats itself") {
  std::vector<RuledOut> ruled_out;
  const auto ranking = recommend(all(), {.budget = 12}, ruled_out),
             again = recommend(all(), {.budget = 12, .jobs = 1}, ruled_out);
  REQUIRE(ruled_out.empty());
  REQUIRE(ranking.size() == names_of_all_strategies().size());
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    REQUIRE(ranking[i].settings == again[i].settings);
    REQUIRE(ranking[i].tuned.result.metrics.iteration_s <= 1.02 * ranking[i].given_s);
    const double before = i > 0 ? ranking[i - 1].tuned.result.metrics.iteration_s : 0;
    if (i > 1 && !ranking[i].ties && !ranking[i - 1].ties)
      REQUIRE(before <= ranking[i].tuned.result.metrics.iteration_s);
  }
  const JsonValue best = recommend_json({ranking}, {.tie = 0.05}).front();
  CHECK(best.contains("settings"));
  CHECK(best.at("tie").get<double>() == 0.05);
}

namespace {

std::vector<Advice> ranking_of(const std::vector<Scenario>& scenarios, std::int64_t budget = 1) {
  std::vector<RuledOut> ruled_out;
  std::vector<Advice> ranking = recommend(scenarios, {.budget = budget}, ruled_out);
  REQUIRE(ruled_out.empty());
  return ranking;
}

}  // namespace

TEST_CASE("the given options stay if none is faster by more than the tie; otherwise few are changed") {
  bool stays = false, changes = false;
  for (const Advice& one : ranking_of(all(), 24)) {
    INFO(one.tuned.scenario.strategy->name);
    double best = one.given_s;
    for (const Trial& trial : one.trials)
      if (trial.fits) best = std::min(best, trial.iteration_s);
    const double chosen = one.tuned.result.metrics.iteration_s;
    CHECK(chosen <= 1.02 * best);
    const bool sayable = changed_options(scenario(one.tuned.scenario.strategy->name), one.tuned.scenario).empty();
    stays = stays || (sayable && one.given_s <= 1.02 * best);
    changes = changes || chosen < one.given_s;
    if (one.given_s <= 1.02 * best && sayable) CHECK(chosen == one.given_s);
    if (one.given_s > 1.03 * best) CHECK(chosen < one.given_s);
  }
  CHECK((stays && changes));
}

TEST_CASE("of several that are as fast, the ranking begins with the simplest") {
  std::vector<Scenario> hidden = all();  // on a network so fast that nothing waits
  for (Scenario& one : hidden) one.cluster.network.alpha = 1e-7, one.cluster.network.beta = 1e-13;
  const std::vector<Advice> ranking = ranking_of(hidden, 4);
  double least = ranking.front().tuned.result.metrics.iteration_s;
  for (const Advice& one : ranking) least = std::min(least, one.tuned.result.metrics.iteration_s);
  for (const Advice& one : ranking)
    CHECK((one.ties || &one == &ranking.front()) == (one.tuned.result.metrics.iteration_s <= 1.02 * least));
  REQUIRE(ranking[1].ties);
  CHECK(ranking.front().tuned.scenario.strategy->offer.maintained());
}

TEST_CASE("settings in the words of frameworks") {
  const auto settings = [](const Scenario& tuned) {
    return settings_of(*tuned.strategy, tuned.options.strategy, tuned.profile);
  };
  Scenario one = scenario("bytescheduler");
  one.options.strategy.partition = 8'000'000;
  CHECK(settings(one) == "BYTESCHEDULER_PARTITION=2000000 BYTESCHEDULER_CREDIT=8000000");  // parameters of 4 bytes
  one.options.strategy.credit = {.count = Window::unlimited, .bytes = 16'000'000};
  CHECK(settings(one) == "BYTESCHEDULER_PARTITION=2000000 BYTESCHEDULER_CREDIT=4000000");
  CHECK(settings(scenario("ddp")) == "DistributedDataParallel(model)");
  Scenario ddp = scenario("ddp");
  ddp.options.strategy.bucket_cap = Bytes{40} << 20;
  CHECK(settings(ddp) == "DistributedDataParallel(model, bucket_cap_mb=40)");
  CHECK(settings(scenario("horovod")) == "HOROVOD_FUSION_THRESHOLD=134217728 HOROVOD_CYCLE_TIME=1");
  CHECK(settings(scenario("best")).empty());  // belongs to no framework
  ddp.options.strategy.sharding.zero = 1;
  CHECK(settings(ddp).empty());  // buckets as DistributedDataParallel's, but sharded
  Scenario zero = scenario("zero-2");
  CHECK(settings(zero).find("gradient_accumulation_steps") == std::string::npos);
  CHECK(settings(zero).find("\"allgather_bucket_size\": 500000000,") != std::string::npos);  // DeepSpeed's own
  zero.options.strategy.sharding.accumulate = 2;
  CHECK(settings(zero).find("\"gradient_accumulation_steps\": 2}") != std::string::npos);
  CHECK(find_framework("pytorch", {}).strategies.front()->name == "optimal-merge");
  CHECK_THROWS_AS(find_framework("torch", {}), InputError);
}

TEST_CASE("the code to paste has mesh, types and wrapping, for every module") {
  Scenario one = scenario("fsdp2");
  for (Layer& layer : one.profile.own().layers) layer.group = layer.name;
  one.profile.own().precision = "bf16";
  one.profile = with_element_bytes(one.profile, 4, 2);
  one.options.strategy.sharding.shard_group = 4;
  one.options.strategy.sharding.accumulate = 3;
  one.options.strategy.fsdp.reduce = Reduce::Last;
  one.options.strategy.fsdp.reshard = Reshard::All;
  const std::string code = settings_of(*one.strategy, one.options.strategy, one.profile);
  CHECK(code ==
        "mesh = init_device_mesh(\"cuda\", (world_size // 4, 4), mesh_dim_names=(\"replicate\", \"shard\"))\n"
        "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)\n"
        "for block in blocks:\n"
        "    fully_shard(block, mesh=mesh, mp_policy=policy)\n"
        "fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=True)\n"
        "model.set_requires_gradient_sync(micro_batch == 2)");
  one.options.strategy.fsdp.reduce = Reduce::ReplicasLast;
  CHECK(settings_of(*one.strategy, one.options.strategy, one.profile)
            .ends_with("\nmodel.set_requires_all_reduce(micro_batch == 2)"));
  CHECK(in_one_line("# a comment\ncode") == "a comment");
  CHECK(in_one_line("a\nfor b:\n    c\n    d\ne") == "a; for b: c; d; e");
  one.strategy = &find_strategy("fsdp1", {});
  one.options.strategy.fsdp.reshard = Reshard::None;
  CHECK(settings_of(*one.strategy, one.options.strategy, one.profile) ==
        "mesh = init_device_mesh(\"cuda\", (world_size // 4, 4), mesh_dim_names=(\"replicate\", \"shard\"))\n"
        "policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)\n"
        "FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({Block}), "
        "sharding_strategy=ShardingStrategy._HYBRID_SHARD_ZERO2, device_mesh=mesh, mixed_precision=policy, "
        "backward_prefetch=BackwardPrefetch.BACKWARD_PRE, limit_all_gathers=True)");
  // 1001 bytes of parameters of 2 bytes are reached with 501 of them, whatever a gradient has.
  one.options.strategy.fsdp.wrap = {.by = Wrap::By::Size, .size = 1001};
  CHECK(settings_of(*one.strategy, one.options.strategy, one.profile).find("min_num_params=501)") != std::string::npos);
}

TEST_CASE("one that cannot be simulated is ruled out, and does not stop the others") {
  std::vector<Scenario> list{scenario("fsdp2"), scenario("zero-3")};
  for (Scenario& one : list) one.options.strategy.sharding.shard_group = 4;
  std::vector<RuledOut> ruled_out;
  const auto ranking = recommend(list, {.budget = 4}, ruled_out);
  REQUIRE(ranking.size() == 1);
  CHECK(ranking.front().tuned.scenario.strategy->name == "fsdp2");
  REQUIRE(ruled_out.size() == 1);
  CHECK(ruled_out.front().strategy == "zero-3");
  list.erase(list.begin());
  CHECK_THROWS_AS(recommend(list, {.budget = 4}, ruled_out), InputError);
}
