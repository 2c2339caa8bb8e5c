// Goodput: Daly's formula, its optimum, and failures one after the other.
#include "sim/studies/jobs/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/random.hpp"

using namespace allreplay;

namespace {

const SourceLocation here{"here", ""};

// Returns a job of `nodes` nodes whose throughput grows with the nodes.
GoodputJob job_of(std::int64_t nodes, double iteration_s = 1) {
  return {.nodes = nodes,
          .iteration_s = iteration_s,
          .samples_per_s = 100,
          .relative_throughput = [nodes](std::int64_t fewer) {
            return static_cast<double>(fewer) / static_cast<double>(nodes);
          }};
}

}  // namespace

TEST_CASE("Young's and Daly's intervals, and the exact one") {
  // 8 d, two nodes: M = 345600 s, C = 60 s. Young sqrt(2·60·M) = 6439.8758; Daly that · (1 + sqrt(60/2M)/3 + 60/18M)
  // − 60.
  CHECK(young_interval(345600, 60) == Approx(6439.875775199394).epsilon(1e-12));
  CHECK(daly_interval(345600, 60) == Approx(6399.937888198769).epsilon(1e-12));
  CHECK(daly_interval(10, 20) == 10);  // C = 2M: M
  for (const double mtbf : {10., 1e3, 345600., 1e8})
    for (const double checkpoint : {1e-3, 1., 60., 5000.}) {
      const double best = optimal_interval(mtbf, checkpoint), y = best / mtbf;
      INFO(mtbf << " " << checkpoint);
      if (y < 1) CHECK(-std::log1p(-y) - y == Approx(checkpoint / mtbf).epsilon(1e-6).margin(1e-15));
      for (const double factor : {0.9, 1.1})
        CHECK(useful_fraction(best, mtbf, checkpoint, 7) >= useful_fraction(best * factor, mtbf, checkpoint, 7));
    }
  CHECK(optimal_interval(100, 0) == 0);
  CHECK(optimal_interval(1, 1000) == 1);  // as long as a failure leaves
}

TEST_CASE("the interval is a whole number of iterations") {
  const Reliability reliability{.mtbf = 8 * 86400., .checkpoint = 60, .restart = 120};
  const auto iterations = [&](CheckpointInterval interval, double iteration_s) {
    Reliability one = reliability;
    one.interval = interval;
    one.horizon = 1;
    return goodput_of(one, job_of(2, iteration_s), here).interval_iterations;
  };
  CHECK(iterations({}, 1000) == 6);                                    // 6.4 iterations: 6 lose less than 7
  CHECK(iterations({}, 1e6) == 1);                                     // never less than one
  CHECK(iterations({.seconds = 2500., .iterations = {}}, 1000) == 3);  // halves up
  CHECK(iterations({.seconds = 1., .iterations = {}}, 1000) == 1);
  CHECK(iterations({.seconds = {}, .iterations = 42}, 1000) == 42);
}

TEST_CASE("simulated failures agree with the formula") {
  // The fraction of H = 20000 M that is useful: each segment's time is independent, so that the mean is close to τ/E.
  for (const std::uint64_t seed : {1, 2, 3}) {
    Reliability reliability{.mtbf = 4000, .checkpoint = 10, .restart = 50, .seed = seed};
    const GoodputJob job = job_of(4);  // M = 1000
    reliability.horizon = 2e7;
    const Goodput goodput = goodput_of(reliability, job, here);
    CHECK(goodput.simulated.useful_fraction == Approx(goodput.chosen.useful_fraction).epsilon(5e-3));
    CHECK(static_cast<double>(goodput.simulated.failures) == Approx(2e4).epsilon(0.03));
    CHECK(goodput.simulated.waited_s == 0);
    CHECK(*goodput.samples_per_s == 100 * goodput.chosen.useful_fraction);
  }
}

TEST_CASE("jobs that wait for nodes, and jobs that continue with fewer") {
  // Without failures: 9 segments of 10 + 1 s in 100 s.
  Reliability reliability{.mtbf = 1e15, .checkpoint = 1, .restart = 5, .horizon = 100.};
  CHECK(operate(reliability, job_of(3), 10, false).useful_fraction == Approx(0.9));

  // One node and no spare: each failure is followed by a repair.
  reliability = {.mtbf = 100, .checkpoint = 0, .restart = 0, .repair = 25, .spares = 0, .horizon = 1e4};
  Operated waits = operate(reliability, job_of(1), 1e-3, false);
  CHECK(waits.waited_s == Approx(25. * static_cast<double>(waits.failures)));
  CHECK(waits.useful_fraction == Approx(1 - waits.waited_s / 1e4).epsilon(1e-3));
  // Elastic with one node is the same: with none at all it waits, too.
  CHECK(operate(reliability, job_of(1), 1e-3, true).useful_fraction == waits.useful_fraction);

  // Two nodes that return immediately, or unlimited spares: the job never continues on one node.
  for (const bool endless : {false, true}) {
    Reliability soon = reliability;
    soon.repair = endless ? 25 : 0;
    if (endless) soon.spares.reset();
    const Operated rigid = operate(soon, job_of(2), 3, false), elastic = operate(soon, job_of(2), 3, true);
    CHECK(rigid.useful_fraction == elastic.useful_fraction);
    CHECK(rigid.failures == elastic.failures);
    CHECK(rigid.waited_s == 0);
  }
}

// The same computed step by step, with a list of every node: an attempt is a list of segments, not a quotient.
TEST_CASE("an elastic job shrinks and grows at its checkpoints") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random draw(seed, 99);
    const Reliability reliability{.mtbf = 20 + 200 * draw.uniform(),
                                  .checkpoint = draw.uniform(),
                                  .restart = 3 * draw.uniform(),
                                  .repair = 60 * draw.uniform(),
                                  .spares = static_cast<std::int64_t>(draw.below(3)),
                                  .horizon = 500 + 500 * draw.uniform(),
                                  .seed = seed};
    const auto all = static_cast<std::int64_t>(1 + draw.below(5));
    const double work = 0.5 + 4 * draw.uniform();
    const bool elastic = seed % 2 == 0;
    Random random(seed, 0);
    std::vector<double> idle(static_cast<std::size_t>(*reliability.spares), 0.);  // when each spare is there
    const auto take = [&](double now, std::int64_t most) {
      std::int64_t taken = 0;
      for (std::size_t i = 0; i < idle.size() && taken < most;)
        if (idle[i] <= now)
          idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i)), ++taken;
        else
          ++i;
      return taken;
    };
    double useful = 0, now = 0, restart = 0;
    std::int64_t nodes = all, failures = 0;
    while (now < *reliability.horizon) {
      const double fails = now - reliability.mtbf / static_cast<double>(nodes) * std::log1p(-random.uniform());
      const double back = nodes < all ? *std::min_element(idle.begin(), idle.end()) : INFINITY;
      double at = now + restart;
      bool grown = false;
      while (!grown && at + work + reliability.checkpoint <= std::min(fails, *reliability.horizon)) {
        at += work + reliability.checkpoint;
        useful += work * static_cast<double>(nodes) / static_cast<double>(all);
        grown = at >= back;
      }
      restart = reliability.restart;
      if (grown) {
        now = at;
        nodes += take(now, all - nodes);
        continue;
      }
      if (fails > *reliability.horizon) break;
      ++failures;
      idle.push_back(fails + reliability.repair);
      now = fails;
      const std::int64_t left = elastic ? nodes - 1 : all - 1;
      std::int64_t taken = take(now, all - left);
      if ((elastic ? left : 0) + taken == 0) {
        now = *std::min_element(idle.begin(), idle.end());
        taken = take(now, all - left);
      }
      nodes = left + taken;
    }
    const Operated operated = operate(reliability, job_of(all), work, elastic);
    INFO(seed);
    CHECK(operated.failures == failures);
    CHECK(operated.useful_fraction == Approx(useful / *reliability.horizon).epsilon(1e-9));
  }
}

TEST_CASE("a checkpoint that takes many times the mean time between failures has an interval, too") {
  // y lies between 1 − e^−(r + 1) and 1: for r = C/M from 20 on within 1e-9 of 1, whatever rounding makes of it.
  for (int ratio = 20; ratio < 60; ++ratio) CHECK(optimal_interval(3, 3.0 * ratio) == Approx(3).epsilon(1e-8));
}

TEST_CASE("durations of hours and days, and intervals") {
  CHECK(parse_long_duration("8 d", here) == 691200);
  CHECK(parse_long_duration("1.5h", here) == 5400);
  CHECK(parse_long_duration("30 min", here) == 1800);
  CHECK(parse_long_duration("250 ms", here) == 0.25);
  CHECK(error_place([] { parse_long_duration("8", here); }) == "here");
  CHECK(parse_checkpoint_interval("500", here).iterations == 500);
  CHECK(parse_checkpoint_interval("30 min", here).seconds == 1800.);
  CHECK(!parse_checkpoint_interval("optimal", here).seconds);
  CHECK(error_place([] { parse_checkpoint_interval("soon", here); }) == "here");
}
