#include "sim/output/report/diagnosis_report.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

// A job of one replica with one stage, which is measured and replayed in the same time.
Diagnosis diagnosis() {
  Diagnosis known;
  known.job.graph.replicas = known.job.graph.stages = 1;
  known.job.steps = {5};
  known.job.ranks = {0};
  known.measured_s = known.replayed_s = {2};
  known.ideal_s = {1};
  known.by_worker = known.by_replica = known.by_stage = {2};
  known.gap_s = {0};
  known.stage_compute_s = {{}};
  return known;
}

}  // namespace

TEST_CASE("no finding promises more than the ideal step") {
  Diagnosis known = diagnosis();
  known.findings = {{.what = Finding::What::Spread, .mended = 0.5}, {.what = Finding::What::Spread, .mended = 1.5}};
  const JsonValue json = diagnosis_json(known);
  const double expected[][2] = {{1.5, 0.5}, {1, 1}};
  for (std::size_t i = 0; i < 2; ++i) {
    const JsonValue& finding = json.at("findings")[i];
    CHECK(finding.at("step_s").get<double>() == expected[i][0]);
    CHECK(finding.at("waste_share").get<double>() == expected[i][1]);
  }
}

TEST_CASE("notes list the effects that the replay ignores") {
  const auto notes = [](double error, double early) {
    Diagnosis known = diagnosis();
    known.replay_error = error;
    known.durations.ended_early = early;
    known.gap_s = {0.5};
    const JsonValue json = diagnosis_json(known);
    std::string kinds;
    for (const JsonValue& note : json.at("notes")) kinds += note.at("note").get<std::string>() + ";";
    return kinds;
  };
  CHECK(notes(0.04, 0.04).empty());
  CHECK(notes(0.06, 0.06) == "time between ops;clocks differ;");
  CHECK(notes(-0.06, 0) == "ops overlap;");
}

TEST_CASE("every key of the fitted constants is in the document") {
  FittedJob fitted;
  fitted.collectives.algorithm = &find_algorithm("ring", {});
  fitted.launch = {5e-6, 4};
  fitted.stragglers = {{1, 1.5}};
  fitted.sigma = {0.1, 2};
  const JsonValue json = diagnosis_json(diagnosis(), &fitted);
  CHECK(unresolved(fitted_job_view(), {json}) == std::vector<std::string>());
  CHECK(json.at("fitted").at("launch_s").get<double>() == 5e-6);
}
