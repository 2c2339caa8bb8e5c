// The cost of a whole training, prices, and the cheapest of several plans.
#include "sim/studies/experiment/training_cost.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace {

const SourceLocation here{"here", ""};

bool refuses(const char* text, const char* unit = "tok") {
  try {
    parse_amount(text, unit, here);
    return false;
  } catch (const InputError&) {
    return true;
  }
}

bool refuses_price(const char* text) {
  try {
    parse_prices(text, here);
    return false;
  } catch (const InputError&) {
    return true;
  }
}

// An outcome on `workers` workers of `cluster`, as far as costs and ranking read it.
Outcome outcome_on(const std::string& cluster, std::int64_t workers, double samples_per_s) {
  Random random(1, 0);
  Profile profile = random_profile(random, 3);
  profile.batch_size = 1;
  Outcome outcome{scenario_of(std::move(profile), "wfbp", workers, 1e-6, 1e-9), {}, 0};
  outcome.scenario.cluster.name = cluster;
  outcome.result.metrics.samples_per_s = samples_per_s;
  outcome.result.metrics.iteration_s = static_cast<double>(workers) / samples_per_s;
  return outcome;
}

}  // namespace

TEST_CASE("15 T tokens at 1.2e6 tokens/s on 256 GPUs at 2.5 $/h and 700 W") {
  const TrainingCost cost = training_cost(15e12, 1.2e6, 256, {2.5, 700, 1.3});
  CHECK(cost.seconds == 12.5e6);                                // 15e12 / 1.2e6: 144.7 days of 86400 s
  CHECK(cost.gpu_hours == Approx(256 * 12.5e6 / 3600));         // 888,889 h
  CHECK(*cost.usd == Approx(2.5 * 256 * 12.5e6 / 3600));        // 2.22 M$
  CHECK(*cost.kwh == Approx(1.3 * 0.7 * 256 * 12.5e6 / 3600));  // 809 MWh
  const TrainingCost unknown = training_cost(15e12, 1.2e6, 256, {});
  CHECK((!unknown.usd && !unknown.kwh));
}

TEST_CASE("costs are proportional: to the price, to the amount, to the workers at the same throughput of each") {
  Random random(7, 0);
  for (int i = 0; i < 50; ++i) {
    const double amount = 1e9 * (1 + random.uniform()), speed = 1e3 * (1 + random.uniform());
    const auto workers = static_cast<std::int64_t>(1 + random.below(512));
    const double price = 0.1 + random.uniform();
    const TrainingCost cost = training_cost(amount, speed, workers, {price, 400, 1});
    CHECK(*training_cost(amount, speed, workers, {2 * price, 400, 1}).usd == Approx(2 * *cost.usd));
    CHECK(*training_cost(2 * amount, speed, workers, {price, 400, 1}).usd == Approx(2 * *cost.usd));
    const TrainingCost more = training_cost(amount, 3 * speed, 3 * workers, {price, 400, 1});  // perfect scaling
    CHECK(more.seconds == Approx(cost.seconds / 3));
    CHECK(*more.usd == Approx(*cost.usd));
    CHECK(*training_cost(amount, speed, workers, {price, 400, 1.5}).kwh == Approx(1.5 * *cost.kwh));
  }
}

TEST_CASE("amounts have suffixes and units") {
  CHECK(parse_amount("15T", "tok", here) == 15e12);
  CHECK(parse_amount("15Ttok", "tok", here) == 15e12);
  CHECK(parse_amount("4 Mtok", "tok", here) == 4e6);
  CHECK(parse_amount("90m", "", here) == 90e6);
  CHECK(parse_amount("1.5B", "", here) == 1.5e9);
  CHECK(parse_amount("300k", "", here) == 3e5);
  CHECK(parse_amount("1.4e12", "tok", here) == 1.4e12);
  for (const char* text : {"", "T", "0", "-1T", "15TT", "15 GB", "many", "1e30", "nan"}) {
    INFO(text);
    CHECK(refuses(text));
  }
  CHECK(refuses("90Mtok", ""));  // samples are not tokens
}

TEST_CASE("prices are per GPU-hour, of all clusters or of each") {
  CHECK(parse_prices("2.5/h", here).front().usd_per_hour == 2.5);
  CHECK(parse_prices("2", here).front().cluster.empty());
  const auto two = parse_prices("a=2.5/h, b c=1", here);
  REQUIRE(two.size() == 2);
  CHECK((two[0].cluster == "a" && two[0].usd_per_hour == 2.5 && two[1].cluster == "b c" && two[1].usd_per_hour == 1));
  for (const char* text : {"0", "-1/h", "2.5/min", "cheap", "=2", "a=", "a=1,2", "a=1,", "inf"}) {
    INFO(text);
    CHECK(refuses_price(text));
  }
}

TEST_CASE("a training in tokens needs a profile of tokens, and either a batch size") {
  Scenario scenario;
  const auto place = [&](const Training& training, const Profile& profile) {
    scenario.profile = profile;
    return error_place([&] { require_countable(training, {&scenario, 1}); });
  };
  Profile profile;
  CHECK(place({.amount = 1e9, .in_tokens = false}, profile) == "command line: --samples");
  CHECK(place({}, profile).empty());  // nothing was asked
  profile.batch_size = 4;
  CHECK(place({.amount = 1e9, .in_tokens = false}, profile).empty());
  CHECK(place({.amount = 1e9}, profile) == "command line: --tokens");
  profile.tokens_per_sample = 8192;
  CHECK(place({.amount = 1e9}, profile).empty());
  scenario.cluster.name = "dgx (bandwidth x2)";
  CHECK(place({.amount = 1e9, .prices = {{"dgx", 2}}}, profile).empty());
  CHECK(place({.amount = 1e9, .prices = {{"dgx", 2}, {"h100", 3}}}, profile) == "command line: --price");
}

TEST_CASE("a cluster's price also counts for its changed versions; a name that only begins like it has none") {
  const Training training{.amount = 3600, .in_tokens = false, .prices = {{"a", 2}, {"b", 3}}};
  CHECK(*cost_of(training, outcome_on("a", 4, 1)).usd == 8);  // an hour of 4 GPUs
  CHECK(*cost_of(training, outcome_on("a (bandwidth x2)", 4, 1)).usd == 8);
  CHECK(*cost_of(training, outcome_on("b", 4, 1)).usd == 12);
  CHECK(!cost_of(training, outcome_on("ab", 4, 1)).usd);
  CHECK(*cost_of(training, outcome_on("b", 4, 1), 0.5).usd == 24);  // half of the throughput is left
}

TEST_CASE("the least cost, and the soonest done of those within the tie of it") {
  const Training training{.amount = 3600e3, .in_tokens = false, .prices = {{"", 1}}};
  // Costs are workers / samples_per_s · 1000 h: 8 / 8 -> 1000, 16 / 15.8 -> 1013 (tied at 2 %, half the time),
  // 32 / 30 -> 1067 (beyond the tie).
  const Outcome few = outcome_on("a", 8, 8), more = outcome_on("a", 16, 15.8), most = outcome_on("a", 32, 30);
  const std::vector<const Outcome*> all{&few, &more, &most};
  const auto least_and_rather = [](const std::optional<Cheapest>& one) { return std::pair(one->least, one->rather); };
  CHECK(least_and_rather(cheapest(training, all, {.tie = 0.02})) == std::pair<std::size_t, std::size_t>(0, 1));
  CHECK(least_and_rather(cheapest(training, all, {.tie = 0.001})) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(least_and_rather(cheapest(training, all, {.tie = 0.1})) == std::pair<std::size_t, std::size_t>(0, 2));
  CHECK(!cheapest(training, {&few, &few}, {.tie = 0.02}));                    // the fastest is the cheapest
  CHECK(!cheapest({.amount = 1e6, .in_tokens = false}, all, {.tie = 0.02}));  // no prices
  CHECK(!cheapest({}, all, {.tie = 0.02}));
  const Outcome slow = outcome_on("b", 8, 5);  // 1600 GPU-hours, but for half the price
  const Training two{.amount = 3600e3, .in_tokens = false, .prices = {{"a", 1}, {"b", 0.5}}};
  CHECK(least_and_rather(cheapest(two, {&few, &slow}, {.tie = 0.02})) == std::pair<std::size_t, std::size_t>(1, 1));
}
