#include "sim/replay/network/known_networks.hpp"

#include "tests/catch.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/replay/network/round_load.hpp"

using namespace allreplay;

namespace {

TopologySpec of_latency(double latency) {
  return {.kind = TopologyKind::FatTree, .link = link(latency, 1.25e9), .ports = 4};
}

}  // namespace

TEST_CASE("equal descriptions share a topology, others do not") {
  KnownNetworks known;
  const auto one = known.topology(of_latency(1e-6), 16);
  CHECK(known.topology(of_latency(1e-6), 16) == one);
  CHECK(known.topology(of_latency(2e-6), 16) != one);
  CHECK(known.topology(of_latency(1e-6), 8) != one);
}

TEST_CASE("a fabric that shares its collectives finds the same prices, and counts the same events") {
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    KnownNetworks known;
    const auto topology = known.topology(of_latency(1e-6), 12);
    const NetworkSetup ring = setup("ring", 12, fidelity, 1e-5);
    const auto own = lay_on(ring, *topology);
    for (int i = 0; i < 2; ++i) {
      const auto shared = known.lay_on(ring, topology);
      CHECK(shared->loads() == known.lay_on(ring, topology)->loads());
      CHECK(shared->pricing_events() == 0);
      CHECK(shared->alone(1e6) == own->alone(1e6));
      CHECK(shared->pricing_events() == own->pricing_events());
      CHECK(shared->price()(3e6) == own->price()(3e6));
    }
  }
}

TEST_CASE("fabrics of different setups are laid separately") {
  KnownNetworks known;
  const auto topology = known.topology(of_latency(1e-6), 12);
  const NetworkSetup ring = setup("ring", 12, Fidelity::Fluid, 1e-5);
  const auto loads = known.lay_on(ring, topology)->loads();
  const auto differs = [&](auto change) {
    NetworkSetup other = ring;
    change(other);
    return known.lay_on(other, topology)->loads() != loads;
  };
  CHECK_FALSE(differs([](NetworkSetup&) {}));
  CHECK(differs([](NetworkSetup& one) { one.alpha = 2e-5; }));
  CHECK(differs([](NetworkSetup& one) { one.workers = 8; }));
  CHECK(differs(
      [](NetworkSetup& one) { one.calls.emplace_back(CollectiveOp::AllGather, everybody(), one.calls[0].algorithm); }));
  CHECK(differs([](NetworkSetup& one) { one.options.rails = 2; }));
  CHECK(known.lay_on(ring, known.topology(of_latency(2e-6), 12))->loads() != loads);
}

TEST_CASE("a fabric's memory is that of the hops of its paths, and in message of its messages") {
  KnownNetworks known;
  const auto topology = known.topology(of_latency(1e-6), 12);
  for (const char* name : {"ring", "double-binary-tree"}) {
    const auto fluid = known.lay_on(setup(name, 12, Fidelity::Fluid, 1e-5), topology);
    std::size_t hops = 0;
    for (const auto& loads : fluid->loads()) hops += loads->path.hops();
    CHECK(hops > 0);
    CHECK(fluid->bytes() == hops * sizeof(Hop));
    CHECK(known.lay_on(setup(name, 12, Fidelity::Message, 1e-5), topology)->bytes() > fluid->bytes());
  }
}

TEST_CASE("only the latest networks are kept, and no large ones") {
  KnownNetworks known;
  const auto first = known.topology(of_latency(1e-6), 16);
  for (int i = 2; i < 12; ++i) known.topology(of_latency(i * 1e-6), 16);
  CHECK(known.topology(of_latency(1e-6), 16) != first);
  const TopologySpec large{.kind = TopologyKind::Star, .link = link(1e-6, 1.25e9)};
  CHECK(known.topology(large, 1 << 19) != known.topology(large, 1 << 19));
}
