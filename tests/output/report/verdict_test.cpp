#include "sim/output/report/verdict.hpp"

#include <optional>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/report/result_rows.hpp"

using namespace allreplay;

namespace {

Outcome outcome(std::string_view strategy, const std::string& cluster, double iteration_ms) {
  Profile profile;
  profile.name = "p";
  profile.layers.push_back({"l", to_time(1e-3), to_time(2e-3)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  Outcome one{scenario_of(profile, strategy, 8, 1e-6, 1e-9), {}, 0};
  one.scenario.cluster.name = cluster;
  one.result.metrics.iteration_s = iteration_ms / 1000;
  one.result.metrics.lower_bound_s = 0.08;
  one.result.fidelity = Fidelity::AlphaBeta;
  return one;
}

const WinningRule exact{.tie = 0};

std::vector<Ranking> races_of(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  return races(outcomes, rule, groups_of(outcomes, rule, false).front());
}

// Returns the outcomes in the order of each race, with a star for each that ties for the first place.
std::string order_of(const std::vector<Outcome>& outcomes, const WinningRule& rule = exact) {
  std::string text;
  for (const Ranking& race : races_of(outcomes, rule))
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const Scenario& scenario = outcomes[race.order[i]].scenario;
      text += fmt::format("{}{} {} {}; ", i < race.tied ? "*" : "", scenario.strategy->name, scenario.cluster.name,
                          scenario.workers);
    }
  return text;
}

}  // namespace

TEST_CASE("outcomes of all clusters race together") {
  const std::vector<Outcome> outcomes{outcome("ddp", "a", 120), outcome("wfbp", "a", 100), outcome("wfbp", "b", 150),
                                      outcome("ddp", "b", 140), outcome("ddp", "c", 115)};
  CHECK(order_of(outcomes) == "*wfbp a 8; ddp c 8; ddp a 8; ddp b 8; wfbp b 8; ");
}

TEST_CASE("the simplest to run wins a tie") {
  const std::vector<Outcome> outcomes{outcome("wfbp", "a", 100), outcome("ddp", "a", 101)};
  CHECK(order_of(outcomes, {}) == "*ddp a 8; *wfbp a 8; ");
  CHECK(order_of(outcomes, {.runs_now = "wfbp"}) == "*wfbp a 8; *ddp a 8; ");
  CHECK(order_of(outcomes) == "*wfbp a 8; ddp a 8; ");
}

TEST_CASE("workers and fidelities do not compete") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("wfbp", "a", 92), outcome("ddp", "a", 130),
                                outcome("wfbp", "a", 120)};
  for (const std::size_t i : {0, 1}) outcomes[i].scenario.workers = 16;
  CHECK(order_of(outcomes) == "*wfbp a 8; ddp a 8; *wfbp a 16; ddp a 16; ");
  outcomes.erase(outcomes.begin());
  outcomes.front().scenario.workers = 8;  // 92, 130 and 120 ms; the one of another fidelity has no competitors
  outcomes.front().result.fidelity = Fidelity::Fluid;
  const std::vector<Ranking> all = races_of(outcomes, {});
  REQUIRE(all.size() == 2);
  CHECK(all[0].order == std::vector<std::size_t>{0});
  CHECK(all[1].order == std::vector<std::size_t>{2, 1});
}

TEST_CASE("a strategy that does not fit into memory does not win") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("zero-3", "a", 152), outcome("fsdp2", "a", 160)};
  for (Outcome& one : outcomes) one.scenario.options.memory.limit = 1000;
  outcomes[0].result.memory.peak = 1001;
  CHECK(order_of(outcomes, {}) == "*zero-3 a 8; fsdp2 a 8; ddp a 8; ");
  for (Outcome& one : outcomes) one.result.memory.peak = 1001;
  CHECK(races_of(outcomes, {}).front().tied == 0);
}

TEST_CASE("iterations with different numbers of samples are ranked by samples per second") {
  // 8 workers of 32 samples: 4 micro-batches in 400 ms are 2560 samples/s, one in 103 ms 2485.4: 3 % longer each.
  std::vector<Outcome> outcomes{outcome("ddp", "a", 103), outcome("ddp", "a", 400)};
  outcomes[1].scenario.options.strategy.sharding.accumulate = outcomes[1].result.plan.sharding.accumulate = 4;
  outcomes[0].result.metrics.samples_per_s = 8 * 32 / 0.103;
  outcomes[1].result.metrics.samples_per_s = 8 * 4 * 32 / 0.4;
  const std::vector<Ranking> all = races_of(outcomes, {});
  REQUIRE(all.size() == 1);
  CHECK(all[0].order == std::vector<std::size_t>{1, 0});
  CHECK(samples_differ(all[0], outcomes));
  CHECK_FALSE(samples_differ(races_of({outcomes[0], outcomes[0]}, {})[0], {outcomes[0], outcomes[0]}));
}

TEST_CASE("less bandwidth is mentioned only if it changes the order") {
  const auto racer = [](const char* name, double seconds, double doubted) {
    return Racer{.name = name,
                 .iteration_s = seconds,
                 .samples_per_s = {},
                 .lower_bound_s = {},
                 .equal_work_s = seconds,
                 .doubted_s = doubted};
  };
  const Doubt doubt{0.5, 2, 0.02};
  const JsonValue turns = verdict_of({racer("ddp", 0.1, 0.3), racer("fsdp2", 0.12, 0.2)}, 1, false, doubt);
  CHECK(turns.at("doubt").at("name").get<std::string>() == "fsdp2");
  CHECK(turns.at("doubt").at("times").get<double>() == Approx(1.5));
  // megatron is faster anyway, and lost only because it leaves too little memory free.
  CHECK_FALSE(verdict_of({racer("fsdp2", 0.12, 0.3), racer("megatron", 0.09, 0.2)}, 1, false, doubt).contains("doubt"));
}

TEST_CASE("a tie that less bandwidth decided says so, in the verdict and the legend") {
  // All tie within 2 %, but with half of the bandwidth plain sharding takes 0.3 s, and groups of 64 and 128 0.2 s: both
  // groups are ranked first. Of these the simplest wins, though "plain" is simpler.
  const auto racer = [](const char* name, double seconds, std::optional<double> doubted) {
    return Racer{.name = name,
                 .iteration_s = seconds,
                 .samples_per_s = {},
                 .lower_bound_s = {},
                 .equal_work_s = seconds,
                 .doubted_s = doubted};
  };
  const Doubt doubt{0.5, 2, 0.02};
  const auto verdict = [&](double plain_s, std::optional<double> doubted) {
    return verdict_of({racer("128", 0.1, 0.2), racer("64", 0.1005, 0.2), racer("plain", plain_s, doubted)}, 3, false,
                      doubt);
  };
  const JsonValue slower = verdict(0.101, 0.3), faster = verdict(0.099, 0.3), even = verdict(0.099, 0.203);
  CHECK(slower.at("set_back").dump() == R"(["plain"])");
  CHECK(slower.at("tie_bandwidth_share").get<double>() == 0.5);
  CHECK_FALSE(slower.contains("fragile"));
  CHECK(faster.at("fragile").at("name").get<std::string>() == "plain");
  CHECK_FALSE(faster.contains("fastest"));
  CHECK(even.at("fastest").at("name").get<std::string>() == "plain");
  for (const JsonValue& undecided : {even, verdict(0.099, std::nullopt)}) {
    CHECK_FALSE(undecided.contains("fragile"));
    CHECK_FALSE(undecided.contains("tie_bandwidth_share"));
  }

  const auto only = [](const JsonValue& one) {
    auto list = JsonValue::array();
    list.push_back(one);
    return list;
  };
  const auto says = [&](const JsonValue& race, std::string_view words) {
    std::string text = rendered(verdict_view(), {{"races", only(race)}}, {.width = 1000});
    for (std::size_t end; (end = text.find("\n  ")) != std::string::npos;) text.replace(end, 3, " ");  // one line
    return text.find(words) != std::string::npos;
  };
  CHECK(says(slower,
             "Within the tie: 64 and plain. With half of the bandwidth between nodes (--doubt) no longer: plain."));
  CHECK(says(faster,
             "; plain is faster, but not with half of the bandwidth between nodes (--doubt). Within the tie: 64."));
  const JsonValue row{{"ties", true}, {"tight", false}, {"fits", true}};
  const auto rule_in_legend = [&](const JsonValue& race) {
    auto notes = JsonValue::array();
    add_notes_on_marks(notes, only(row), WinningRule(), only(race));
    const View view{{ViewNotes{}}};
    return rendered(view, {{"notes", notes}}, {.width = 1000});
  };
  CHECK(rule_in_legend(even).find("half of the bandwidth") == std::string::npos);
  CHECK(rule_in_legend(slower).find("the simplest to run wins of those that tie with half of the bandwidth between "
                                    "nodes, too (--doubt)") != std::string::npos);
}

TEST_CASE("a deprecated winner is named with its successor if predictions cannot tell them apart") {
  const auto racer = [](const char* strategy, double ms) { return racer_of(outcome(strategy, "a", ms), strategy); };
  const double error = racer("fsdp1", 100).error;
  REQUIRE(error > 0.01);
  const auto verdict = [&](const char* winner, double times) {
    return verdict_of({racer(winner, 100), racer("zero-3", 100.1), racer("fsdp2", 100 * times)}, 1, false);
  };
  const JsonValue near = verdict("fsdp1", 1 + 0.9 * error);
  CHECK(near.at("successor").at("name").get<std::string>() == "fsdp2");
  CHECK(near.at("successor").at("times").get<double>() == Approx(1 + 0.9 * error));
  CHECK(near.at("successor").at("error").get<double>() == Approx(error));
  CHECK(verdict("composer", 1).contains("successor"));
  CHECK_FALSE(verdict("fsdp1", 1 + 1.1 * error).contains("successor"));
  CHECK_FALSE(verdict("zero-3", 1).contains("successor"));
  CHECK_FALSE(verdict_of({racer("fsdp1", 100), racer("zero-3", 101)}, 1, false).contains("successor"));
}

TEST_CASE("a verdict has the winner, its ties, and the first outside of the tie") {
  const auto racer = [](const char* name, double seconds) {
    return Racer{
        .name = name, .iteration_s = seconds, .samples_per_s = {}, .lower_bound_s = 0.08, .equal_work_s = seconds};
  };
  const JsonValue json =
      verdict_of({racer("ddp", 0.101), racer("byteps", 0.102), racer("wfbp", 0.1), racer("dear", 0.2)}, 3, false);
  CHECK(json.at("winner").get<std::string>() == "ddp");
  CHECK(json.at("above_bound_share").get<double>() == Approx(0.101 / 0.08 - 1));
  CHECK(json.at("fastest").at("name").get<std::string>() == "wfbp");
  CHECK(json.at("ties").dump() == R"(["byteps"])");
  CHECK(json.at("next").at("times").get<double>() == Approx(0.2 / 0.101));
  CHECK_FALSE(json.contains("crowded"));
  // Without a tie only what leaves too little memory free can be faster than the winner.
  const JsonValue crowded = verdict_of({racer("fsdp2", 0.12), racer("megatron", 0.09), racer("ddp", 0.15)}, 1, false);
  CHECK(crowded.at("crowded").at("name").get<std::string>() == "megatron");
  CHECK(crowded.at("crowded").at("times").get<double>() == Approx(0.75));
  CHECK(crowded.at("next").at("name").get<std::string>() == "ddp");
  CHECK(verdict_of({racer("ddp", 1)}, 0, false).dump() == R"({"nothing_fits":true})");
}
