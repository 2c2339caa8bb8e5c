#include "sim/report/recommend_report.hpp"

#include "tests/catch.hpp"
#include "tests/training/scenario.hpp"

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
    const TuneRequest request{default_ranges(*given.strategy, given.profile), 20, TuneMethod::Bayes, 1};
    const Tuning one = run_tuning(given, request, 1), many = run_tuning(given, request, 4);
    REQUIRE(tuning_csv(one) == tuning_csv(many));
    REQUIRE(one.tuned.result.metrics.iteration_s <= one.given.result.metrics.iteration_s);
    CHECK(tuning_csv(one).find("profile,cluster,strategy,workers,origin,trial,") == 0);
    CHECK(tuning_report(one).find("* best") != std::string::npos);
  }
}

TEST_CASE("a ranking is sorted, speaks the frameworks' words, and repeats itself") {
  const auto ranking = recommend(all(), {.budget = 12}), again = recommend(all(), {.budget = 12, .jobs = 1});
  REQUIRE(ranking.size() == strategies().size());
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    REQUIRE(ranking[i].settings == again[i].settings);
    REQUIRE(ranking[i].tuned.result.metrics.iteration_s <= ranking[i].given_s);
    if (i > 0) REQUIRE(ranking[i - 1].tuned.result.metrics.iteration_s <= ranking[i].tuned.result.metrics.iteration_s);
  }
  const std::string page = recommend_report(ranking);
  CHECK(page.find("DistributedDataParallel(model") != std::string::npos);
  CHECK(page.find("HOROVOD_FUSION_THRESHOLD=") != std::string::npos);
  CHECK(recommend_json({ranking}).find("\"settings\"") != std::string::npos);
  CHECK(scaling_report({ranking, ranking}, 0.5).find("at least 50 %") != std::string::npos);
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
  CHECK(find_framework("pytorch", {}).strategies.front()->name == "ddp");
  CHECK_THROWS_AS(find_framework("torch", {}), InputError);
}
