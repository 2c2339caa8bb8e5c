#include "sim/studies/jobs/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>

#include <boost/math/special_functions/log1p.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <fmt/format.h>

#include "sim/base/core/random.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/make_topology.hpp"

namespace allreplay {

double useful_fraction(double work, double mtbf, double checkpoint, double restart) {
  if (work + checkpoint == 0) return std::exp(-restart / mtbf);  // the limit: only restarts cost
  return work / (mtbf * std::exp(restart / mtbf) * std::expm1((work + checkpoint) / mtbf));
}

double young_interval(double mtbf, double checkpoint) { return std::sqrt(2 * checkpoint * mtbf); }

double daly_interval(double mtbf, double checkpoint) {
  if (checkpoint >= 2 * mtbf) return mtbf;
  const double ratio = checkpoint / (2 * mtbf);
  return young_interval(mtbf, checkpoint) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - checkpoint;
}

double optimal_interval(double mtbf, double checkpoint) {
  const double ratio = checkpoint / mtbf;
  if (ratio == 0) return 0;
  // −ln(1 − y) − y increases from 0; since −ln(1 − y) = ratio + y < ratio + 1, the root lies below `most`.
  const double most = -std::expm1(-(ratio + 1));
  const auto beyond = [&](double y) { return -boost::math::log1pmx(-y) - ratio; };
  if (most == 1 || beyond(most) <= 0) return mtbf * most;  // equal up to rounding
  std::uintmax_t steps = 100;
  const auto [low, high] =
      boost::math::tools::toms748_solve(beyond, 0., most, boost::math::tools::eps_tolerance<double>(), steps);
  return mtbf * (low + (high - low) / 2);
}

namespace {

// The spare nodes: those that are free, and failed ones that are being repaired. Without a number they are unlimited.
class SpareNodes {
 public:
  explicit SpareNodes(std::optional<std::int64_t> spares) : endless_(!spares), free_(spares.value_or(0)) {}

  void fail(double back) {
    if (!endless_) coming_.push(back);
  }
  void come_back(double now) {
    for (; !coming_.empty() && coming_.top() <= now; coming_.pop()) ++free_;
  }
  std::int64_t take(std::int64_t most) {
    const std::int64_t taken = endless_ ? most : std::min(most, free_);
    if (!endless_) free_ -= taken;
    return taken;
  }
  // When the next repair ends. REQUIRES: a node is in repair.
  double next() const { return coming_.top(); }

 private:
  bool endless_;
  std::int64_t free_;
  std::priority_queue<double, std::vector<double>, std::greater<>> coming_;
};

double throughput_on(std::int64_t nodes, const GoodputJob& job) try {
  return job.relative_throughput(nodes);
} catch (const InputError& error) {
  throw InputError(error.place(), fmt::format("elastic, on {} of the {} nodes: {}", nodes, job.nodes, error.wrong()),
                   error.right());
}

}  // namespace

double horizon_of(const Reliability& reliability, std::int64_t nodes) {
  return reliability.horizon.value_or(1000 * reliability.mtbf / static_cast<double>(nodes));
}

Operated operate(const Reliability& reliability, const GoodputJob& job, double work, bool elastic) {
  const double horizon = horizon_of(reliability, job.nodes);
  const double segment = work + reliability.checkpoint;
  Random random(reliability.seed, 0);
  SpareNodes spares(reliability.spares);
  Operated operated;
  double useful = 0, now = 0, restart = 0;
  std::int64_t nodes = job.nodes;
  while (now < horizon) {
    const double fails = now - reliability.mtbf / static_cast<double>(nodes) * std::log1p(-random.uniform());
    const double ready = now + restart;
    const auto segments_by = [&](double instant) { return std::max(0., std::floor((instant - ready) / segment)); };
    // If nodes are missing, the attempt lasts until the first checkpoint after the next repair.
    double segments_until_regrown = 0, regrown_at = std::numeric_limits<double>::infinity();
    if (nodes < job.nodes) {
      segments_until_regrown = std::max(1., std::ceil((spares.next() - ready) / segment));
      regrown_at = ready + segments_until_regrown * segment;
    }
    const bool ended = regrown_at <= fails && regrown_at <= horizon;
    const double segments = ended ? segments_until_regrown : segments_by(std::min(fails, horizon));
    useful += segments * work * (nodes < job.nodes ? throughput_on(nodes, job) : 1);
    restart = reliability.restart;
    if (ended) {
      now = regrown_at;
      spares.come_back(now);
      nodes += spares.take(job.nodes - nodes);
      continue;
    }
    if (fails > horizon) break;
    ++operated.failures;
    spares.fail(fails + reliability.repair);
    now = fails;
    spares.come_back(now);
    const std::int64_t left = elastic ? nodes - 1 : 0, wanted = elastic ? job.nodes - left : 1;
    std::int64_t taken = spares.take(wanted);
    if (left + taken == 0) {
      now = spares.next();
      spares.come_back(now);
      taken = spares.take(wanted);
      operated.waited_s += now - fails;
    }
    nodes = elastic ? left + taken : job.nodes;
  }
  operated.useful_fraction = useful / horizon;
  return operated;
}

double useful_share(const Goodput& goodput, const Reliability& reliability) {
  if (!reliability.spares) return goodput.chosen.useful_fraction;
  return (goodput.elastic ? *goodput.elastic : goodput.simulated).useful_fraction;
}

Goodput goodput_of(const Reliability& reliability, const GoodputJob& job, const SourceLocation& place) {
  constexpr double most_failures = 10'000'000;  // seconds of work
  Goodput goodput;
  goodput.nodes = job.nodes;
  const double mtbf = goodput.mtbf_s = reliability.mtbf / static_cast<double>(job.nodes);
  if (reliability.horizon && *reliability.horizon / mtbf > most_failures)
    throw InputError(
        place, fmt::format("{:.3g} failures would have to be simulated", *reliability.horizon / mtbf),
        fmt::format("a horizon of at most {:.0f}", most_failures) + " times the job's mean time between failures");
  const auto choice = [&](double seconds) {
    return IntervalChoice{seconds, useful_fraction(seconds, mtbf, reliability.checkpoint, reliability.restart)};
  };
  goodput.young = choice(young_interval(mtbf, reliability.checkpoint));
  goodput.daly = choice(daly_interval(mtbf, reliability.checkpoint));
  goodput.optimal = choice(optimal_interval(mtbf, reliability.checkpoint));
  const auto iterations = [&](double count) { return static_cast<std::int64_t>(std::clamp(count, 1., 1e18)); };
  const auto of_iterations = [&](std::int64_t count) { return choice(static_cast<double>(count) * job.iteration_s); };
  if (reliability.interval.iterations) {
    goodput.interval_iterations = *reliability.interval.iterations;
  } else if (reliability.interval.seconds) {
    goodput.interval_iterations = iterations(std::floor(*reliability.interval.seconds / job.iteration_s + 0.5));
  } else {
    const double exact = std::floor(goodput.optimal.seconds / job.iteration_s);
    const std::int64_t below = iterations(exact), above = iterations(exact + 1);
    goodput.interval_iterations =
        of_iterations(above).useful_fraction > of_iterations(below).useful_fraction ? above : below;
  }
  goodput.chosen = of_iterations(goodput.interval_iterations);
  goodput.simulated = operate(reliability, job, goodput.chosen.seconds, false);
  if (reliability.elastic) goodput.elastic = operate(reliability, job, goodput.chosen.seconds, true);
  goodput.undisturbed_samples_per_s = job.samples_per_s;
  if (job.samples_per_s) goodput.samples_per_s = *job.samples_per_s * goodput.chosen.useful_fraction;
  return goodput;
}

std::int64_t nodes_of_job(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  if (network.node) return (scenario.workers + network.node->workers - 1) / network.node->workers;
  if (!network.topology) return scenario.workers;
  const auto topology = make_topology(*network.topology, scenario.workers);
  std::set<std::int64_t> machines;
  for (std::int64_t rank = 0; rank < scenario.workers; ++rank)
    machines.insert(topology->seat(static_cast<NodeId>(rank)) / topology->gpus_per_host());
  return static_cast<std::int64_t>(machines.size());
}

GoodputJob goodput_job(Library& library, const Request& request, const Outcome& outcome, const Watch& watch) {
  const std::int64_t workers = outcome.scenario.workers, nodes = nodes_of_job(outcome.scenario);
  const std::int64_t on_each = (workers + nodes - 1) / nodes;
  const Metrics& metrics = outcome.result.metrics;
  const double throughput = static_cast<double>(workers) / metrics.iteration_s;
  const auto relative = [&library, request, workers, on_each, throughput,
                         advance = watched(watch, static_cast<std::size_t>(nodes - 1)),
                         known = std::make_shared<std::map<std::int64_t, double>>()](std::int64_t some_nodes) {
    const auto [one, fresh] = known->emplace(some_nodes, 1);
    if (!fresh) return one->second;
    Request fewer = request;
    fewer.workers = std::min(some_nodes * on_each, workers);
    const double iteration_s = run(library.resolve(fewer)).result.metrics.iteration_s;
    if (advance) advance();
    return one->second = static_cast<double>(*fewer.workers.value) / iteration_s / throughput;
  };
  return {nodes, metrics.iteration_s, metrics.samples_per_s, relative};
}

double parse_long_duration(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  for (const auto& [unit, seconds] : {std::pair("min", 60.), {"h", 3600.}, {"d", 86400.}, {"y", 365 * 86400.}})
    if (trimmed.ends_with(unit)) {
      const double count = parse_number(trimmed.substr(0, trimmed.size() - std::string_view(unit).size()), place);
      if (count < 0) throw InputError(place, fmt::format("\"{}\" is negative", text), "a duration such as \"8 h\"");
      return count * seconds;
    }
  try {
    return parse_duration(text, place);
  } catch (const InputError&) {
    throw InputError(place, fmt::format("\"{}\" is not a duration", text),
                     "such as \"90 s\", \"30 min\", \"8 h\", \"5 d\" or \"2 y\"");
  }
}

double read_long_duration(const Json& text) {
  if (!text.is_string()) text.fail(fmt::format("{} has no unit", text.dump()), "a string such as \"90 s\"");
  return parse_long_duration(text.text(), text.place());
}

CheckpointInterval parse_checkpoint_interval(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  if (trimmed == "optimal") return {};
  if (!trimmed.empty() && trimmed.find_first_not_of("0123456789") == std::string_view::npos)
    return {.seconds = {}, .iterations = parse_integer(trimmed, 1, 1'000'000'000'000'000'000, place)};
  try {
    return {.seconds = parse_long_duration(trimmed, place), .iterations = {}};
  } catch (const InputError&) {
    throw InputError(place, fmt::format("\"{}\" is not an interval between checkpoints", text),
                     "optimal, a number of iterations, or a duration such as \"30 min\"");
  }
}

Reliability read_reliability(const Json& object) {
  object.allow_only({"mtbf", "checkpoint", "restart", "interval", "repair", "spares", "elastic", "horizon", "seed"});
  Reliability reliability;
  reliability.mtbf = read_long_duration(object.at("mtbf"));
  reliability.checkpoint = read_long_duration(object.at("checkpoint"));
  reliability.restart = read_long_duration(object.at("restart"));
  if (const auto interval = object.find("interval"))
    reliability.interval =
        interval->is_number()
            ? CheckpointInterval{.seconds = {}, .iterations = interval->integer(1, 1'000'000'000'000'000'000)}
            : parse_checkpoint_interval(interval->text(), interval->place());
  if (const auto repair = object.find("repair")) reliability.repair = read_long_duration(*repair);
  if (const auto spares = object.find("spares")) reliability.spares = spares->integer(0, most_spares);
  if (const auto elastic = object.find("elastic")) reliability.elastic = elastic->boolean();
  if (const auto horizon = object.find("horizon")) reliability.horizon = read_long_duration(*horizon);
  if (const auto seed = object.find("seed"))
    reliability.seed = static_cast<std::uint64_t>(seed->integer(0, std::numeric_limits<std::int64_t>::max()));
  require_possible(reliability, object.place() / "mtbf", object.place() / "horizon");
  return reliability;
}

void require_possible(const Reliability& reliability, const SourceLocation& place_of_mtbf,
                      const SourceLocation& place_of_horizon) {
  if (!(reliability.mtbf > 0))
    throw InputError(place_of_mtbf, "mtbf is 0", "the mean time between failures of a node: \"200 d\"");
  if (reliability.horizon && !(*reliability.horizon > 0))
    throw InputError(place_of_horizon, "horizon is 0", "how long to simulate: \"30 d\"");
  if (!std::isfinite(reliability.mtbf) || reliability.mtbf > 1e15)
    throw InputError(place_of_mtbf, "mtbf is out of range", "at most 1e15 s");
}

}  // namespace allreplay
