// Notes that depend on how exact predictions are.
#include "sim/output/report/notes.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace notes_test {

namespace {

// On eight workers, in groups of `ep` for experts; the source is that of an estimate without a measured speed.
Outcome outcome_of(Origin origin, std::int64_t ep) {
  Profile profile;
  profile.name = "p";
  profile.precision = "fp8";
  profile.origin = origin;
  profile.source = "roofline of H100, the usual for it";
  profile.layers.push_back({"l", to_time(1.0), to_time(2.0)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  Scenario scenario = scenario_of(std::move(profile), "megatron", 8, 1e-5, 1e-10);
  scenario.options.parallel.ep = ep;
  Outcome outcome{std::move(scenario), {}, 0};
  outcome.result.metrics.iteration_s = 3;
  return outcome;
}

JsonValue only_note(const Outcome& outcome) {
  const JsonValue notes = note_on_origin(outcome);
  REQUIRE(notes.size() == 1);
  return notes.front();
}

}  // namespace

TEST_CASE("the note on an estimate has the error of the nearest predictions, as judge has it") {
  const Outcome experts = outcome_of(Origin::Estimated, 2);
  const JsonValue note = only_note(experts);
  CHECK(note.at("note").get<std::string>() == "not measured");
  CHECK(note.at("page").get<std::string>() == "docs/generated/hybrids.md");
  const NearestError error = nearest_error(experts);
  REQUIRE(error.known->setting.split == ModelSplit::Experts);
  CHECK(note.at("median").get<double>() == error.quantiles().median);
  CHECK(note.at("p90").get<double>() == error.quantiles().p90);
  CHECK(note.at("p90").get<double>() > only_note(outcome_of(Origin::Estimated, 1)).at("p90").get<double>());
}

TEST_CASE("a mixture of experts has the errors of such models, whatever its layout") {
  Outcome whole = outcome_of(Origin::Estimated, 1);
  whole.scenario.profile.own().layers.front().expert = true;
  CHECK(nearest_error(whole).known == nearest_error(outcome_of(Origin::Estimated, 2)).known);
}

TEST_CASE("the error is that of outcomes that can be run") {
  // Replicated parameters have other errors than sharded ones, but do not fit.
  Outcome ddp = outcome_of(Origin::Estimated, 1);
  const Outcome sharded = ddp;  // by megatron
  ddp.scenario.strategy = &find_strategy("ddp", {});
  ddp.scenario.options.memory.limit = 1000;
  ddp.result.memory.peak = 1001;
  REQUIRE(nearest_error(ddp).known != nearest_error(sharded).known);
  const JsonValue fitting = only_note(sharded);
  for (const std::vector<Outcome>& outcomes : {std::vector{ddp, sharded}, std::vector{sharded, ddp}}) {
    const JsonValue notes = notes_on(outcomes, {});
    const auto found =
        std::ranges::find_if(notes, [](const JsonValue& one) { return one.at("note") == "not measured"; });
    REQUIRE(found != notes.end());
    CHECK(found->at("data") == fitting.at("data"));
  }
}

TEST_CASE("other notes on times have no error") {
  CHECK_FALSE(only_note(outcome_of(Origin::Reconstructed, 1)).contains("p90"));
  CHECK(note_on_origin(outcome_of(Origin::Measured, 1)).empty());
  CHECK_FALSE(note_on_origin(outcome_of(Origin::Estimated, 1).scenario.profile).front().contains("p90"));
  const JsonValue several = notes_on_origins({{"a", {"estimated"}}, {"b", {"measured"}}, {"c", {"reconstructed"}}});
  REQUIRE(several.size() == 2);
  CHECK(several[1].at("profile").get<std::string>() == "c");
}

TEST_CASE("experts in tensor groups are noted if their groups sum by all-reduces") {
  const auto is_noted = [](std::int64_t tp, bool expert, CollectiveOp sum, LayerCollective::Among group) {
    Outcome outcome = outcome_of(Origin::Measured, 2);
    Profile profile = *outcome.scenario.profile;
    profile.layers.front().expert = expert;
    profile.layers.front().collectives = {{.op = CollectiveOp::AllReduce, .bytes = 4}, {.op = sum, .group = group}};
    outcome.scenario.profile = std::move(profile);
    outcome.scenario.options.parallel.tp = tp;
    const JsonValue notes = notes_on({outcome}, {});
    return std::any_of(notes.begin(), notes.end(), [](const JsonValue& one) {
      return one.at("note").get<std::string>() == "experts without sequence parallelism";
    });
  };
  using Among = LayerCollective::Among;
  CHECK(is_noted(2, true, CollectiveOp::AllReduce, Among::Tensor));
  CHECK(is_noted(2, true, CollectiveOp::ReduceScatter, Among::Context));
  CHECK_FALSE(is_noted(2, true, CollectiveOp::ReduceScatter, Among::Tensor));  // sequence parallelism
  CHECK_FALSE(is_noted(1, true, CollectiveOp::AllReduce, Among::Tensor));
  CHECK_FALSE(is_noted(2, false, CollectiveOp::AllReduce, Among::Tensor));
}

}  // namespace notes_test
