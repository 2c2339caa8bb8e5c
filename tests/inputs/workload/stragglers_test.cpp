#include "sim/inputs/workload/stragglers.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

TEST_CASE("slow workers and jitter are read and checked") {
  const auto read = [](const std::string& text, std::int64_t workers = 4) {
    return read_stragglers(Json::parse(text, "c.json"), workers);
  };
  const Stragglers stragglers = read(
      R"({"stragglers": [{"worker": 3, "slowdown": 1.5}], "jitter": {"distribution": "lognormal", "sigma": 0.1, "seed": 7}})");
  CHECK(stragglers.slow.at(0).factor == 1.5);
  CHECK(stragglers.jitter->kind == JitterKind::LogNormal);
  CHECK(error_place([&] { read(R"({"stragglers": [{"worker": 4, "slowdown": 1.5}]})"); }) ==
        "c.json: /stragglers/0/worker");
  for (const auto* bad :
       {R"([{"worker": 0, "slowdown": 0}])", R"([{"worker": 0, "slowdown": -1}])", R"([{"worker": 0}])",
        R"([{"worker": 0, "slowdown": 2}, {"worker": 0, "slowdown": 3}])", R"([{"worker": 0.5, "slowdown": 2}])"})
    CHECK(!error_place([&] { read(std::string(R"({"stragglers": )") + bad + "}"); }).empty());
  CHECK(!error_place([&] { read(R"({"jitter": {"distribution": "gamma", "sigma": 0.1}})"); }).empty());
  CHECK(!error_place([&] { read(R"({"jitter": {"distribution": "normal", "sigma": -1}})"); }).empty());
}

TEST_CASE("factors have mean 1 and the given deviation") {
  constexpr int draws = 20'000;
  for (const JitterKind kind : {JitterKind::Normal, JitterKind::LogNormal, JitterKind::Uniform}) {
    const Jitter jitter{kind, 0.1, 1};
    Random random(jitter.seed, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double factor = jitter.draw(random);
      sum += factor;
      squares += factor * factor;
    }
    const double mean = sum / draws, deviation = std::sqrt(squares / draws - mean * mean);
    CHECK(mean == Approx(1).margin(4 * 0.1 / std::sqrt(draws)));  // four standard errors
    CHECK(deviation == Approx(0.1).epsilon(0.03));
  }
}

TEST_CASE("a seed gives the same numbers everywhere") {
  // First values of mt19937_64 seeded through SplitMix64: a change here changes published results.
  Random a(1, 2), b(1, 2), other(1, 3);
  const double first = a.uniform();
  CHECK(first == b.uniform());
  CHECK(first != other.uniform());
}
