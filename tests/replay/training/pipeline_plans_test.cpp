// Plans of pipelines that planners make, held against what a pipeline's plan has to do.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/pipeline/planned.hpp"
#include "sim/replay/training/parallel_setup.hpp"

using namespace allreplay;

namespace {

// Eight layers of one tensor each, in two or four micro-batches on two ranks of two workers.
Scenario piped(const char* strategy, const char* schedule, const char* batches) {
  Profile profile;
  for (LayerId layer = 0; layer < 8; ++layer) {
    profile.layers.push_back({fmt::format("l{}", layer), Time(1'000'000 * (layer + 1)), Time(2'000'000)});
    profile.tensors.push_back({fmt::format("t{}", layer), 1000, 4000, layer});
    profile.layers.back().output_bytes = 100 * (layer + 1);
  }
  profile.update = Time(1000);
  Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-9);
  for (const auto& [name, value] : {std::pair("pp", "2"), {"accumulate", batches}, {"schedule", schedule}})
    scenario.options.set(name, value, {"command line", name});
  return scenario;
}

}  // namespace

TEST_CASE("a pipeline is recovered from its complete plan") {
  for (const char* strategy : {"ddp", "wfbp", "horovod", "megatron", "fsdp2"})
    for (const char* schedule : {"gpipe", "1f1b", "interleaved", "looped-bfs"})
      for (const char* batches : {"2", "4"}) {
        INFO(strategy << " " << schedule << " " << batches);
        const Scenario scenario = piped(strategy, schedule, batches);
        const Plan plan = plan_of(scenario);
        const Pipeline asked = pipeline_of(scenario);
        const Pipeline read = pipeline_of(plan, degrees_of(scenario), scenario.profile, {"plan", ""});
        CHECK(write_rows(read.rows) == write_rows(asked.rows));
        REQUIRE(read.chunks.size() == asked.chunks.size());
        for (std::size_t chunk = 0; chunk < read.chunks.size(); ++chunk)
          CHECK((read.chunks[chunk].first == asked.chunks[chunk].first &&
                 read.chunks[chunk].last == asked.chunks[chunk].last));
        const auto wrong = find_plan_error(plan, read, scenario.profile);
        CHECK((wrong ? wrong->what : "").empty());
        // A chunk sends the output of its last layer.
        const std::vector<double> sends = send_bytes(plan, read, scenario.profile);
        for (std::size_t chunk = 0; chunk + 1 < read.chunks.size(); ++chunk)
          CHECK(sends[chunk] == 100. * (read.chunks[chunk].last + 1));
      }
}

TEST_CASE("a pipeline's plan with a missing transfer, or a transfer without its gates, is refused") {
  for (const char* strategy : {"ddp", "megatron", "fsdp2"}) {
    Scenario scenario = piped(strategy, "1f1b", "2");
    scenario.options.set("update_barrier", "stage", {"command line", "update_barrier"});  // no rank waits for others
    const Plan whole = plan_of(scenario);
    const Pipeline pipeline = pipeline_of(scenario);
    for (std::uint32_t index = 0; index < whole.transfers.size(); ++index) {
      INFO(strategy << " " << describe_transfer(whole, index, scenario.profile));
      const auto is_it = [&](const TransferPoint* point) { return point && point->index == index; };
      Plan early = whole, unread = whole;
      std::erase_if(early.gates, [&](const Gate& gate) { return is_it(gate.transfer_after()); });
      CHECK(find_plan_error(early, pipeline, scenario.profile));
      std::erase_if(unread.gates, [&](const Gate& gate) { return is_it(gate.transfer_before()); });
      CHECK(find_plan_error(unread, pipeline, scenario.profile));
    }
  }
}
