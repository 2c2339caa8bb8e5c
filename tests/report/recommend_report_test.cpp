#include "sim/report/recommend_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/training/scenario.hpp"

#include "sim/core/text.hpp"
#include "sim/experiment/tuning.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"
#include "sim/report/tuning_report.hpp"
#include "sim/schedule/offer.hpp"

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
  for (const Strategy& strategy : strategies()) list.push_back(scenario(strategy.name));
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
    // The table marks no trial where the options as given are best.
    CHECK((tuning_report(one).find("* best") == std::string::npos) == one.as_given);
    const std::string words = tuning_report(one, {.width = 1000});
    for (std::size_t i = 0; i < one.ranges.size() && !one.as_given; ++i)
      CHECK(words.find(shell_words({"--option", one.ranges[i].option + "=" + one.trials[one.best].values[i]})) !=
            std::string::npos);
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
  const std::string report = tuning_report(tuning, {.width = 1000});
  std::size_t marked = 0;
  for (std::size_t at = 0; (at = report.find("does not fit", at)) != std::string::npos; ++at) ++marked;
  CHECK(marked == 2);
}

TEST_CASE("a ranking is sorted, speaks the frameworks' words, and repeats itself") {
  std::vector<RuledOut> ruled_out;
  const auto ranking = recommend(all(), {.budget = 12}, ruled_out),
             again = recommend(all(), {.budget = 12, .jobs = 1}, ruled_out);
  REQUIRE(ruled_out.empty());
  REQUIRE(ranking.size() == strategies().size());
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    REQUIRE(ranking[i].settings == again[i].settings);
    REQUIRE(ranking[i].tuned.result.metrics.iteration_s <= 1.02 * ranking[i].given_s);
    const double before = i > 0 ? ranking[i - 1].tuned.result.metrics.iteration_s : 0;
    if (i > 1 && !ranking[i].ties && !ranking[i - 1].ties)
      REQUIRE(before <= ranking[i].tuned.result.metrics.iteration_s);
  }
  const std::string page = recommend_report(ranking, {});
  // Twenty layers of 3 ms; what an iteration takes beyond them is exposed.
  const double iteration = ranking.front().tuned.result.metrics.iteration_s;
  INFO(page);
  CHECK(recommend_report(ranking, {}, {.width = 1000})
            .find(fmt::format("({}) beyond it", percent((iteration - 60e-3) / iteration))) != std::string::npos);
  CHECK(page.find("DistributedDataParallel(model") != std::string::npos);
  CHECK(page.find("HOROVOD_FUSION_THRESHOLD=") != std::string::npos);
  const JsonValue best = recommend_json({ranking}, {.tie = 0.05}).items().front();
  CHECK(best.contains("settings"));
  CHECK(best.at("tie").number() == 0.05);
  CHECK(scaling_report({ranking, ranking}, 0.5, WinningRule{}).find("at least 50 %") != std::string::npos);
  // A row for each strategy, with its efficiency at each size.
  const std::string table = scaling_report({ranking, ranking}, 0.5, WinningRule{}),
                    name(ranking.front().tuned.scenario.strategy->name);
  const std::size_t row = table.find("\n" + name + " ");
  INFO(table);
  REQUIRE(row != std::string::npos);
  const std::size_t cells = row + 1 + name.size();
  CHECK(table.substr(cells, table.find('\n', cells) - cells).find_first_of("0123456789") != std::string::npos);
}

namespace {

std::vector<Advice> ranking_of(const std::vector<Scenario>& scenarios, std::int64_t budget = 1) {
  std::vector<RuledOut> ruled_out;
  std::vector<Advice> ranking = recommend(scenarios, {.budget = budget}, ruled_out);
  REQUIRE(ruled_out.empty());
  return ranking;
}

// The line of a table that begins with this.
std::string line_of(const std::string& text, const std::string& name) {
  const std::size_t start = text.find("\n" + name + "  ");
  INFO(text);
  REQUIRE(start != std::string::npos);
  return text.substr(start + 1, text.find('\n', start + 1) - start - 1);
}

}  // namespace

TEST_CASE("the options as given stay where none is faster by more than the tie; else few are changed") {
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

TEST_CASE("of several that are as fast, the ranking begins with the simplest, and the screen ends with what to do") {
  std::vector<Scenario> hidden = all();  // on a network so fast that nothing waits
  for (Scenario& one : hidden) one.cluster.network.alpha = 1e-7, one.cluster.network.beta = 1e-13;
  const std::vector<Advice> ranking = ranking_of(hidden, 4);
  double least = ranking.front().tuned.result.metrics.iteration_s;
  for (const Advice& one : ranking) least = std::min(least, one.tuned.result.metrics.iteration_s);
  for (const Advice& one : ranking)
    CHECK((one.ties || &one == &ranking.front()) == (one.tuned.result.metrics.iteration_s <= 1.02 * least));
  REQUIRE(ranking[1].ties);
  CHECK(ranking.front().tuned.scenario.strategy->offer.maintained());
  const std::string page = recommend_report(ranking, {}, {.width = 1000});
  const std::string what = "Run " + name_of(ranking.front());
  REQUIRE(page.find(what) != std::string::npos);
  CHECK(page.find(what) > page.rfind("~: "));
}

TEST_CASE("every reason of more than half a thousandth of the iteration has its time") {
  // What waits is the first layer's block: 1.4 ms of start-ups, and 4 MB · 2·7/8 · 0.1 ns/B = 0.7 ms. The others hide.
  Scenario fast = scenario("wfbp");
  fast.cluster.network.beta = 0.1e-9;
  const std::vector<Advice> ranking = ranking_of({fast});
  const std::string page = recommend_report(ranking, {}, {.width = 1000});
  const double iteration = ranking[0].tuned.result.metrics.iteration_s;
  INFO(page);
  int said = 0;
  for (const Bound bound : {Bound::Traffic, Bound::FirstLayer, Bound::StartUps, Bound::Schedule})
    if (const double part = ranking[0].why.of(bound); part > 0.0005 * iteration) {
      CHECK(page.find(format_duration(part)) != std::string::npos);
      ++said;
    }
  CHECK(said > 1);
  // The table has what makes up the iteration, computing with the rest.
  const double computing = ranking[0].why.of(Bound::Computing) / iteration;
  CHECK(page.find(fmt::format("computing {:.0f} %", 100 * computing)) != std::string::npos);
}

TEST_CASE("for each number of workers a line says what part of the iteration is exposed") {
  const std::vector<Advice> ranking = ranking_of({scenario("ddp")});
  const Metrics& of = ranking[0].tuned.result.metrics;
  REQUIRE(of.exposed_comm_s > 0.01 * of.iteration_s);
  const std::string page = scaling_report({ranking}, 0.8, WinningRule{}, {.width = 1000});
  INFO(page);
  CHECK(page.find(fmt::format(", {} exposed, bound by ", percent(of.exposed_comm_s / of.iteration_s))) !=
        std::string::npos);
}

TEST_CASE("what no schedule can change counts the update, as the table's efficiency does") {
  // Twenty layers of 3 ms and an update of 20 ms; a network so fast that all but the first layer's block hides.
  Scenario fast = scenario("wfbp");
  fast.profile.own().update = to_time(20e-3);
  fast.cluster.network.alpha = 1e-7, fast.cluster.network.beta = 1e-13;
  const std::string page = recommend_report(ranking_of({fast}), {}, {.width = 1000});
  INFO(page);
  CHECK(page.find("Computation takes 80 ms, and") != std::string::npos);
  CHECK(page.find("up to 100.0 % efficiency is possible without sharding.") != std::string::npos);
}

TEST_CASE("what does not fit is marked at every size, and reaches no line") {
  // Whole parameters, gradients and states on every worker, or an eighth of them: between the two there is a limit.
  std::vector<Scenario> list{scenario("ddp"), scenario("fsdp2")};
  const double whole = simulate(list[0]).memory.peak, sharded = simulate(list[1]).memory.peak;
  REQUIRE(sharded < whole);
  for (Scenario& one : list) one.options.memory.limit = static_cast<Bytes>((whole + sharded) / 2);
  const std::vector<Advice> ranking = ranking_of(list);
  const std::string table = scaling_report({ranking, ranking}, 0.01, WinningRule{});
  const std::string ddp = line_of(table, "ddp"), fsdp2 = line_of(table, "fsdp2");
  CHECK(std::count(ddp.begin(), ddp.end(), '!') == 2);
  CHECK(ddp.ends_with("no size"));
  CHECK(fsdp2.find('!') == std::string::npos);
  CHECK(fsdp2.ends_with("every size"));
  CHECK(table.find("!: does not fit") != std::string::npos);
  CHECK(table.find("nothing fits") == std::string::npos);
  std::vector<Advice> roomy = ranking;
  for (Advice& one : roomy) one.tuned.scenario.options.memory.limit = static_cast<Bytes>(2 * whole);
  CHECK(line_of(scaling_report({ranking, roomy, roomy}, 0.01, WinningRule{}), "ddp").ends_with("from 8"));
  CHECK(line_of(scaling_report({roomy, ranking, ranking}, 0.01, WinningRule{}), "ddp").ends_with("up to 8"));
  CHECK(line_of(scaling_report({ranking, roomy, ranking}, 0.01, WinningRule{}), "ddp").ends_with("at 8"));
  for (Scenario& one : list) one.options.memory.limit = static_cast<Bytes>(sharded / 2);
  const std::vector<Advice> none = ranking_of(list);
  CHECK(scaling_report({none}, 0.01, WinningRule{}).find("(nothing fits into the memory)") != std::string::npos);
  CHECK(recommend_report(none, {}).find("Nothing fits into the memory; ") != std::string::npos);
}

TEST_CASE("one strategy asked for twice, with and without shards, has two names") {
  std::vector<Scenario> list{scenario("best"), scenario("best")};
  list.back().options.strategy.sharding.zero = 3;
  const std::vector<Advice> ranking = ranking_of(list);
  const std::string table = scaling_report({{ranking.front()}, ranking}, 0.01, WinningRule{});
  const std::string whole = line_of(table, "best without shards"), sharded = line_of(table, "best --zero 3");
  // One of the two was ruled out at the first size.
  CHECK((whole.find(" - ") == std::string::npos) != (sharded.find(" - ") == std::string::npos));
  CHECK(recommend_report(ranking, {}).find("best --zero 3 ") != std::string::npos);
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
  CHECK(settings(scenario("best")).empty());  // nobody's words
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

TEST_CASE("what is to be pasted says mesh, types and wrapping, for every module") {
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
