// The parts of a judgement: the band, the verdict, the order of causes, and the nearest published errors.
#include "sim/studies/calibration/judgement.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/studies/calibration/causes.hpp"

using namespace allreplay;

namespace judgement_test {

namespace {

Cause fixed(const char* name, double miss) { return {.name = name, .miss = miss}; }
Cause fitted(const char* name, double miss, double departure) {
  return {.name = name, .miss = miss, .is_fitted = true, .departure = departure};
}

std::vector<std::string> sorted(std::vector<Cause> causes, double median_quotient) {
  sort_causes(causes, median_quotient);
  std::vector<std::string> names;
  for (const Cause& cause : causes) names.push_back(cause.name);
  return names;
}

// The outcome of a profile of one layer on a ring of two with 1.25 GB/s, which computes 3 s and sends 4000 B.
Outcome outcome_of(Origin origin, const std::string& source, std::string_view strategy = "wfbp") {
  Profile profile;
  profile.name = "one";
  profile.device = "NVIDIA A100";
  profile.origin = origin;
  profile.source = source;
  profile.layers.push_back({"l", to_time(1.0), to_time(2.0)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  return run(scenario_of(profile, strategy, 2, 1e-5, 8e-10));
}

}  // namespace

TEST_CASE("an error of times or speeds becomes a quotient") {
  // |predicted / measured - 1| = 0.2 of times: measured / predicted is 1 / 0.8 at most; of speeds it is 1.2.
  CHECK(quotient_at(0.2, true) == Approx(1.25));
  CHECK(quotient_at(0.2, false) == Approx(1.2));
  CHECK(quotient_at(5.594, false) == Approx(6.594));
}

TEST_CASE("the verdict changes at the band's ends") {
  CHECK(verdict_on(1.25, 1.25) == SpeedVerdict::AsExpected);
  CHECK(verdict_on(1.2501, 1.25) == SpeedVerdict::Slow);
  CHECK(verdict_on(0.8, 1.25) == SpeedVerdict::AsExpected);
  CHECK(verdict_on(0.7999, 1.25) == SpeedVerdict::Fast);
}

TEST_CASE("a time that is off by about a thousand may have another unit") {
  CHECK(unit_slip(1179) == Approx(1e-3));  // 1350 s where 1.145 s are expected: 1350 ms
  CHECK(unit_slip(0.0012) == Approx(1000));
  for (const double ratio : {0.011, 0.5, 1.0, 3.0, 99.0, 10100.0, 1e6}) CHECK_FALSE(unit_slip(ratio));
  CHECK(unit_slip(89, 100) == Approx(0.01));  // an MFU of 0.45 % where 40 % are expected
  CHECK_FALSE(unit_slip(20, 100));
}

TEST_CASE("of a node's ports, every half down to one is a cause") {
  const auto ports_of = [](std::int64_t rails) {
    Scenario scenario;
    scenario.workers = 16;
    scenario.cluster.network.alpha = 1e-5;
    scenario.cluster.network.beta = 1e-10;
    scenario.cluster.network.node.emplace(NodeLevel{.workers = 8, .rails = rails});
    std::vector<std::string> ports;
    for (const FixedCause& cause : causes_in_network(scenario, true).fixed)
      if (cause.words.front().name == "rails") ports.push_back(cause.words.front().value);
    return ports;
  };
  CHECK(ports_of(8) == std::vector<std::string>{"4", "2", "1"});
  CHECK(ports_of(6) == std::vector<std::string>{"3", "1"});
  CHECK(ports_of(2) == std::vector<std::string>{"1"});
  CHECK(ports_of(1).empty());
}

TEST_CASE("causes are sorted by their miss, fitted ones as if they missed by the median error too") {
  // log 1.1 = 0.0953: a fixed cause that misses by 0.09 stands before fitted ones, one that misses by 0.1 after them.
  CHECK(sorted({fixed("b", 0.1), fitted("fit", 0.001, 0), fixed("a", 0.09)}, 1.1) ==
        std::vector<std::string>{"a", "fit", "b"});
  CHECK(sorted({fitted("far", 0, 0.9), fitted("near", 0.004, 0.2), fitted("misses", 0.5, 0)}, 1.1) ==
        std::vector<std::string>{"near", "far", "misses"});
  CHECK(sorted({fixed("first", 0.3), fixed("second", 0.3)}, 1.1) == std::vector<std::string>{"first", "second"});
}

TEST_CASE("the nearest errors are those of the same kind of profile and network") {
  const NearestError measured = nearest_error(outcome_of(Origin::Measured, "mine"));
  CHECK(measured.known->setting.device == "K80");  // measured layers, replicated, ports of 10 Gbit/s
  CHECK(measured.differs == std::vector<std::string>{"NVIDIA A100"});
  CHECK_FALSE(measured.matters);
  CHECK(measured.quantiles().points == measured.known->all.points);
  const NearestError speed = nearest_error(outcome_of(Origin::Estimated, "roofline of A100 at 50 %, 100 tokens/s"));
  CHECK(speed.known->setting.times == TimesFrom::Speed);
  const NearestError sheets = nearest_error(outcome_of(Origin::Estimated, "roofline of A100, the usual for it"));
  CHECK(sheets.known->setting.times == TimesFrom::DataSheets);
  CHECK(sheets.known->setting.device == "A100");
  const NearestError sharded = nearest_error(outcome_of(Origin::Measured, "mine", "fsdp2"));
  CHECK(sharded.known->setting.split == ModelSplit::Sharded);
}

TEST_CASE("a scenario has the nearest errors of its outcome") {
  for (const char* strategy : {"wfbp", "fsdp2", "zero-1"}) {
    const Outcome outcome = outcome_of(Origin::Estimated, "roofline of A100, the usual for it", strategy);
    CHECK(nearest_error(outcome.scenario).known == nearest_error(outcome).known);
  }
}

TEST_CASE("every known error is plausible, and its name is given once") {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const KnownError& one : known_errors()) {
    INFO(one.data);
    CHECK(names.emplace(one.data, one.row).second);
    CHECK(one.all.points > 0);
    CHECK(one.all.median <= one.all.p90);
    if (one.matters) CHECK(one.matters->points <= one.all.points);
  }
}

TEST_CASE("a network without Alps' corrections has the errors of data sheets") {
  Network network;
  network.node.emplace(NodeLevel{.workers = 8});
  network.nccl.emplace();
  CHECK(nearest_collective_errors(network, 16).row == "Alps, all but 4: data sheets");
  CHECK(nearest_collective_errors(network, 8).row == "Alps, 4, 128 and 256: preset");  // one node
  network.nccl->rendezvous = NcclRendezvous{2048, 14e-6};
  CHECK(nearest_collective_errors(network, 16).row == "Alps, 4, 128 and 256: preset");
}

}  // namespace judgement_test
