#include "sim/studies/experiment/wire_format.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/studies/experiment/recommend.hpp"

using namespace allreplay;

TEST_CASE("a request travels whole between processes") {
  Request request;
  request.profile = "p.csv";
  request.forward_ratio = 0.5;
  request.cluster = "c.json";
  request.workers = 24;
  request.collective = "ring";
  request.fidelity = "fluid";
  request.codec = "fp16";
  request.strategy = "ddp";
  request.plan = "plan.json";
  request.options = {{"bucket_cap", "3 MB", {"command line", "--option"}}, {"alpha", "1 us", {"s.json", "/a/b"}}};
  request.changes = {{"bandwidth", "x4", {"command line", "--bandwidth"}}};
  request.reuse = false;
  int number = 0;
  for (SourceLocation* place :
       {&request.profile.place, &request.forward_ratio.place, &request.workers.place, &request.strategy.place,
        &request.collective.place, &request.fidelity.place, &request.codec.place})
    *place = {"file " + std::to_string(++number), "/place/" + std::to_string(number)};
  Packer packer;
  pack(packer, request);
  Unpacker unpacker(packer.bytes());
  const Request there = unpack_request(unpacker);
  CHECK(unpacker.done());
  // The words that mean it name every field but the places; packed again, those have to be there, too.
  CHECK(run_flags(there) == run_flags(request));
  Packer again;
  pack(again, there);
  CHECK(again.bytes() == packer.bytes());
  CHECK(there.codec.place.file == "file 7");
  CHECK(there.options[1].place.path == "/a/b");
}

TEST_CASE("a row travels whole between processes, whatever its cells hold") {
  SimulatedRow row;
  std::size_t kind = 0;
  const Cell cells[] = {{},
                        std::string("a text, \"quoted\""),
                        std::int64_t{-7},
                        0.1,
                        NamedValues{{"bucket_cap", "25 MiB"}, {"window", "1"}},
                        NamedNumbers{{"parameters", 1e9}, {"activations", 0}},
                        true};
  static_assert(std::size(cells) == std::variant_size_v<Cell>);
  for (const Column& column : columns()) row.row.push_back({column, cells[kind++ % std::size(cells)]});
  row.warning = "beyond what was measured";
  Packer packer;
  pack(packer, row);
  Unpacker unpacker(packer.bytes());
  const SimulatedRow there = unpack_swept(unpacker, SweepQuestions(Sweep()).columns);
  CHECK(unpacker.done());
  CHECK(to_csv(there.row) == to_csv(row.row));
  CHECK(json_of(there.row).dump() == json_of(row.row).dump());
  CHECK(there.warning == row.warning);
}

TEST_CASE("advice travels whole between processes") {
  Profile profile;
  profile.name = "five";
  for (LayerId layer = 0; layer < 5; ++layer) {
    const std::string name = std::to_string(layer);
    profile.layers.push_back({name, to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({name, 1'000'000, 4'000'000, layer});
  }
  const Scenario scenario = scenario_of(profile, "horovod", 8, 100e-6, 1e-9);
  const RecommendRequest request{.budget = 6, .jobs = 1};
  const Advice here = *advise(scenario, request).advice;
  const Advice there = *unpacked_advice(scenario, packed_advice(scenario, request)).advice;
  CHECK(here.why.exposed() > 0);
  CHECK(std::equal(here.why.seconds.begin(), here.why.seconds.end(), there.why.seconds.begin()));
  CHECK(there.tuned.result.metrics.iteration_s == here.tuned.result.metrics.iteration_s);
  CHECK(there.given_s == here.given_s);
  CHECK(there.settings == here.settings);
  CHECK(there.schedule == here.schedule);
  REQUIRE(there.trials.size() == here.trials.size());
  for (std::size_t i = 0; i < here.trials.size(); ++i) {
    CHECK(there.trials[i].values == here.trials[i].values);
    CHECK(there.trials[i].iteration_s == here.trials[i].iteration_s);
    CHECK(there.trials[i].collectives == here.trials[i].collectives);
  }
}
