// Collectives that reduce at the same time: each rank's arithmetic is its own, and only the links are shared.
#include "tests/catch.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/replay/engine/server.hpp"
#include "sim/replay/network/rounds_fabric.hpp"

using namespace allreplay;

namespace {

// When blocks of these bytes end that start at 0.
std::vector<double> ends_ms(Server& server, const std::vector<Bytes>& blocks) {
  std::vector<double> ends(blocks.size(), -1);
  for (std::size_t i = 0; i < blocks.size(); ++i) server.start(static_cast<TaskId>(i), {.bytes = blocks[i]}, Time(0));
  std::vector<TaskId> done;
  for (Time now = server.next_completion(); now != never; now = server.next_completion()) {
    done.clear();
    server.complete(now, done);
    for (const TaskId id : done) ends[id] = to_seconds(now) * 1e3;
  }
  return ends;
}

}  // namespace

TEST_CASE("fluid: two simultaneous reductions take no longer than one") {
  // Ring of 2 over 1 GB/s, γ = 1 ns/B: half of 1 MB out (0.5 ms unshared, 1 ms shared), 0.5 ms reducing it, half back.
  const auto topology = star(2, link(0, 1e9));
  const auto model = lay_on(setup("ring", 2, Fidelity::Fluid, 1e-6, 1e-9), *topology);
  CHECK(ends_ms(*model->server(), {1'000'000})[0] == Approx(0.001 + 0.5 + 0.5 + 0.001 + 0.5));
  for (const double end : ends_ms(*model->server(), {1'000'000, 1'000'000}))
    CHECK(end == Approx(0.001 + 1 + 0.5 + 0.001 + 1));
}

TEST_CASE("fluid: while one reduces, the other has the links") {
  // Without start-up. A: 1 MB, B: 4 MB, halves of 0.5 and 2 MB. Both out at half speed: A's 0.5 MB arrive at 1 ms, B
  // has 1.5 MB left. A reduces until 1.5 ms, B at full speed: 1 MB left. Shared again: A's 0.5 MB back at 2.5 ms, B 0.5
  // MB left, unshared: arrives at 3 ms. It reduces for 2 ms and sends back for 2 ms: 7 ms.
  const auto topology = star(2, link(0, 1e9));
  const auto model = lay_on(setup("ring", 2, Fidelity::Fluid, 0, 1e-9), *topology);
  const auto ends = ends_ms(*model->server(), {1'000'000, 4'000'000});
  CHECK(ends[0] == Approx(2.5));
  CHECK(ends[1] == Approx(7));
}
