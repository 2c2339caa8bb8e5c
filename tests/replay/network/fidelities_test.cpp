// The three fidelities of one collective against each other and against what the papers derive.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/replay/network/rounds_fabric.hpp"

using namespace allreplay;

namespace {

double picoseconds(Time time) { return static_cast<double>(time.count()); }

// All three on an idle star of equal links, within a picosecond per round.
void require_agreement(const std::string& collective, std::int64_t n, Bytes bytes,
                       const CollectiveOptions& options = {}) {
  const double alpha = 45.25e-6, latency = 1.3e-6, rate = 1.25e9, gamma = 0.037e-9;
  const auto topology = star(n, link(latency, rate));
  const auto fluid = lay_on(setup(collective, n, Fidelity::Fluid, alpha, gamma, options), *topology);
  const auto message = lay_on(setup(collective, n, Fidelity::Message, alpha, gamma, options), *topology);
  const Coefficients times = find_algorithm(collective, {"test", ""}).coefficients(static_cast<double>(n), options);
  // A route is two links long.
  const double closed =
      times.alpha * (alpha + 2 * latency) + static_cast<double>(bytes) * (times.beta / rate + times.gamma * gamma);
  const double rounds = std::ceil(times.alpha);
  INFO(collective << " among " << n << ", " << bytes << " B, servers " << options.servers << ", groups "
                  << options.groups);
  CHECK(std::abs(picoseconds(fluid->alone(bytes)) - closed * 1e12) <= rounds);
  CHECK(std::abs(picoseconds(message->alone(bytes)) - closed * 1e12) <= rounds);
  CHECK(std::abs(picoseconds(message->alone(bytes)) - picoseconds(fluid->alone(bytes))) <= rounds);
}

}  // namespace

TEST_CASE("alpha-beta, fluid and message agree on an idle star") {
  const std::vector<Bytes> sizes = {1, 5, 1000, 65'537, 4'000'000, 100'000'001};
  for (const Bytes bytes : sizes) {
    for (const std::int64_t n : {2, 3, 4, 6, 7, 16, 33, 64}) {
      for (const char* name :
           {"ring", "parameter-server", "bml", "hierarchical", "reduce-scatter", "pat", "all-to-all"})
        require_agreement(name, n, bytes);
      require_agreement("parameter-server", n, bytes, {.servers = (n + 1) / 2});
      require_agreement("parameter-server", n, bytes, {.servers = 1});
      if (n % 2 == 0) require_agreement("hierarchical", n, bytes, {.groups = 2});
    }
    for (const std::int64_t n : {2, 4, 8, 64, 256})
      for (const char* name : {"halving-doubling", "recursive-doubling", "binary-tree", "all-gather", "topk-allgather",
                               "gtopk-tree", "broadcast"})
        require_agreement(name, n, bytes);
  }
}

TEST_CASE("an empty block and a single worker take no time") {
  const auto topology = star(4, link(1e-6, 1e9));
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    CHECK(lay_on(setup("ring", 4, fidelity, 1e-6), *topology)->alone(0) == Time(0));
    CHECK(lay_on(setup("ring", 1, fidelity, 1e-6), *topology)->alone(1000) == Time(0));
  }
}

// BML (Wang et al.), section 3 (docs/network.md, "BML's times"): in T_F, the time of all bytes over one link, without
// latency.
TEST_CASE("the papers' gradient synchronisation times") {
  const Bytes bytes = 1'000'000'000;
  const LinkSpec links = link(0, 1e9);  // T_F = 1 s
  const auto time = [&](const std::string& name, const Topology& topology, std::int64_t n, Fidelity fidelity,
                        const CollectiveOptions& options = {}, double alpha = 0) {
    return to_seconds(lay_on(setup(name, n, fidelity, alpha, 0, options), topology)->alone(bytes));
  };
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    INFO("fidelity " << static_cast<int>(fidelity));
    for (const auto& [n, k] : {std::pair{3, 2}, {4, 2}, {2, 3}, {3, 3}, {2, 4}, {8, 2}}) {
      const auto count = static_cast<std::int64_t>(std::llround(std::pow(n, k)));
      const auto topology = bcube(n, k, count, links);
      const double servers = static_cast<double>(count);
      INFO("BCube(" << n << ", " << k << ")");
      // Every thread has the links of a level for itself: 2(N−1)/(kN)·T_F, and 2k start-ups.
      CHECK(time("bml", *topology, count, fidelity, {.levels = k}) ==
            Approx(2 * (servers - 1) / (k * servers)).epsilon(1e-9));
      CHECK(time("bml", *topology, count, fidelity, {.levels = k}, 1e-3) ==
            Approx(2e-3 * k + 2 * (servers - 1) / (k * servers)).epsilon(1e-9));
      // Only of k = 2: a link of one level carries n − 1 of the n² pieces of its own for each of the n digits of the
      // other.
      if (k == 2)
        CHECK(time("parameter-server", *topology, count, fidelity) == Approx(2.0 * (n - 1) / n).epsilon(1e-9));
    }
    const auto tree = fat_tree(4, 16, links);
    CHECK(time("parameter-server", *tree, 16, fidelity) == Approx(1.875).epsilon(1e-9));
    CHECK(time("ring", *tree, 16, fidelity) == Approx(1.875).epsilon(1e-9));
    CHECK(time("hierarchical", *tree, 16, fidelity) == Approx(1.875).epsilon(1e-9));
    CHECK(time("hierarchical", *tree, 16, fidelity, {.groups = 8}) == Approx(1.875).epsilon(1e-9));
  }
  // 1024 servers, BCube(32,2) against Fat-Tree(16): Fig. 5.
  CHECK(time("bml", *bcube(32, 2, 1024, links), 1024, Fidelity::Fluid, {.levels = 2}) == Approx(0.9990234375));
  CHECK(time("parameter-server", *bcube(32, 2, 1024, links), 1024, Fidelity::Fluid) == Approx(1.9375));
  CHECK(time("parameter-server", *fat_tree(16, 1024, links), 1024, Fidelity::Fluid) == Approx(1.998046875));
  CHECK(time("hierarchical", *fat_tree(16, 1024, links), 1024, Fidelity::Fluid, {.groups = 128}) ==
        Approx(1.998046875));
  CHECK(time("ring", *fat_tree(16, 1024, links), 1024, Fidelity::Message) == Approx(1.998046875));
}

// gTop-k (Shi et al.), Table I with docs/models.md, "gTop-k's constants": α = 0.436 ms, β = 9e-6 ms/B, k = 0.001·100
// MB; the block is 2k.
TEST_CASE("Top-k and gTop-k aggregation times of gTop-k") {
  const std::vector<std::pair<double, double>> printed = {{2.2, 4.5},   {6.3, 8.9},   {13.9, 13.4},
                                                          {28.7, 17.9}, {58.0, 22.4}, {116, 26.8}};
  const auto topology = star(64, link(0, 1 / 9e-9));
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const std::int64_t workers = 2 << i;
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
      const auto topk = lay_on(setup("topk-allgather", workers, fidelity, 0.436e-3, 1e-9), *topology);
      const auto gtopk = lay_on(setup("gtopk-tree", workers, fidelity, 0.436e-3, 1e-9), *topology);
      CHECK(to_seconds(topk->alone(200'000)) * 1e3 == Approx(printed[i].first).margin(0.05).epsilon(0.005));
      CHECK(to_seconds(gtopk->alone(200'000)) * 1e3 == Approx(printed[i].second).margin(0.05).epsilon(0.005));
    }
  }
}

// In lockstep: tree height 2, so rounds 2·2 + 16 − 1 = 19; a chunk is M/32. Ranks 0 … 3, tree 1: 0 → (1, 2), 1 → (3);
// tree 2: 3 → (2, 1), 2 → (0). Rank 1 in a middle round sends a chunk up (to 0), one down (to 3) in tree 1, and one up
// (to 3) in tree 2; as many as any other rank.
TEST_CASE("double binary trees in lockstep") {
  const auto topology = star(4, link(0, 1e9));
  const auto fluid = lay_on(setup("double-binary-tree", 4, Fidelity::Fluid, 1e-6), *topology);
  CHECK(fluid->messages() == 2 * 3 * 2 * 16);
  CHECK(to_seconds(fluid->alone(32)) == Approx(19e-6).epsilon(0.01));
  const auto message = lay_on(setup("double-binary-tree", 4, Fidelity::Message, 1e-6), *topology);
  // The longest chain of messages, each of which waits for the one before: as many as rounds.
  CHECK(to_seconds(message->alone(32)) == Approx(19e-6).epsilon(0.01));
}

TEST_CASE("lower bounds of the network") {
  const auto topology = fat_tree(4, 16, link(2e-6, 1e9));
  for (const char* name :
       {"ring", "halving-doubling", "double-binary-tree", "binary-tree", "parameter-server", "recursive-doubling"})
    for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message})
      for (const Bytes bytes : {Bytes{1}, Bytes{1000}, Bytes{1'000'000}, Bytes{100'000'000}}) {
        INFO(name << " " << bytes);
        const auto model = lay_on(setup(name, 16, fidelity, 1e-6, 1e-11), *topology);
        CHECK(model->least(bytes) <= model->alone(bytes));
      }
}
