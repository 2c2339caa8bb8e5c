#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/picture/svg.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/view/compare_picture.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/timeline_rows.hpp"
#include "sim/studies/experiment/run.hpp"

using namespace allreplay;

namespace {

double width_of(const std::vector<Rectangle>& boxes) {
  return std::accumulate(boxes.begin(), boxes.end(), 0.0,
                         [](double sum, const Rectangle& one) { return sum + one.box.width; });
}

// The arrow as long as the iteration gives the scale of the picture.
double pixels_per_second(const Drawing& drawing, const Outcome& outcome) {
  const auto lines = shapes<Path>(drawing, "iteration");
  return lines.empty() ? 0 : (lines[0].points[1].x - lines[0].points[0].x) / outcome.result.metrics.iteration_s;
}

// The time that a worker without slowdown waits for communication and for slow workers.
double beyond_computing(const Outcome& outcome) {
  return outcome.result.metrics.exposed_comm_s + outcome.result.metrics.straggler_s;
}

Outcome outcome_of(const std::string& strategy, std::uint64_t seed, std::size_t layers = 12) {
  Random random(seed, 0);
  return run(scenario_of(random_profile(random, layers), strategy, 8, 50e-6, 1e-9));
}

}  // namespace

TEST_CASE("a timeline's bars have the lengths of the metrics, for every strategy") {
  for (const Strategy& strategy : strategies())
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      INFO(strategy.name << ", seed " << seed);
      const Outcome outcome = outcome_of(std::string(strategy.name), seed);
      const Metrics& metrics = outcome.result.metrics;
      const Drawing drawing = timeline_picture({outcome});
      const double scale = pixels_per_second(drawing, outcome);
      REQUIRE(scale > 0);
      CHECK(width_of(shapes<Rectangle>(drawing, "backward")) / scale == Approx(metrics.backward_s));
      CHECK(width_of(shapes<Rectangle>(drawing, "forward")) / scale == Approx(metrics.forward_s));
      CHECK(width_of(shapes<Rectangle>(drawing, "waiting")) / scale == Approx(beyond_computing(outcome)).margin(1e-11));
      require_legible(drawing);
    }
}

namespace {

// Returns the words at the arrow of the iteration.
std::string iteration_words(const Drawing& drawing) {
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Path>(&shape); one && one->meaning.kind == "iteration") return one->meaning.title;
  return "";
}

}  // namespace

TEST_CASE("an iteration with Muon ends when its updates have returned") {
  Random random(3, 0);
  Profile profile = random_profile(random, 4);
  for (Tensor& tensor : profile.tensors) tensor.shape = {1, tensor.elements}, tensor.muon = to_time(1e-3);
  for (const char* spread : {"gathered", "owned", "all-to-all"}) {
    INFO(spread);
    Scenario scenario = scenario_of(profile, "fsdp2", 8, 50e-6, 1e-9);
    scenario.options.set("optimizer", "muon", {});
    scenario.options.set("muon", spread, {});
    const Outcome outcome = run(scenario);
    CHECK(iteration_words(timeline_picture({outcome})) ==
          "iteration " + format_duration(outcome.result.metrics.iteration_s));
  }
}

TEST_CASE("a round of local steps is drawn as a round") {
  Random random(3, 0);
  Scenario scenario = scenario_of(random_profile(random, 4), "diloco", 8, 50e-6, 1e-9);
  scenario.options.set("sync_every", "4", {});
  const Outcome outcome = run(scenario);
  CHECK(iteration_words(timeline_picture({outcome})) ==
        "round of 4 steps " + format_duration(*outcome.result.metrics.period_s));
}

TEST_CASE("exposed communication is in flight while computing waits") {
  // WFBP's channel is never idle while the next forward waits for it, and has one row.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = outcome_of("wfbp", seed);
    const Drawing drawing = timeline_picture({outcome});
    const double scale = pixels_per_second(drawing, outcome);
    CHECK(width_of(shapes<Rectangle>(drawing, "collective")) / scale == Approx(outcome.result.metrics.comm_busy_s));
    CHECK(width_of(shapes<Rectangle>(drawing, "exposed")) / scale == Approx(beyond_computing(outcome)).margin(1e-11));
  }
}

TEST_CASE("codecs have bars on the compute stream or below it") {
  for (const CodecStream stream : {CodecStream::Compute, CodecStream::Side})
    for (const DecodeAt decode_at : {DecodeAt::Arrival, DecodeAt::Encode})
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Random random(seed, 1);
        Scenario scenario = scenario_of(random_profile(random, 12), "wfbp", 8, 50e-6, 1e-9);
        scenario.codec = CodecCosts{"signsgd", &find_codec("signsgd", {}), "", "estimated", "", {1e-4}, {2e-5}};
        scenario.options.codec.stream = stream;
        scenario.options.codec.decode_at = decode_at;
        scenario.stragglers.slow = {{2, 1.3}};
        const Outcome outcome = run(scenario);
        const Drawing drawing = timeline_picture({outcome});
        require_legible(drawing);
        const double scale = pixels_per_second(drawing, outcome);
        // Each block takes 0.1 ms to encode and 8 payloads · 0.02 ms to decode, on both classes, 1.3 times as long on
        // one.
        const double codec = 2.3 * 2.6e-4 * static_cast<double>(outcome.result.plan.blocks.size());
        double drawn = 0;
        for (const char* kind : {"encode", "decode", "encode and decode"})
          drawn += width_of(shapes<Rectangle>(drawing, kind));
        CHECK(drawn / scale == Approx(codec));
        // The fast worker's row is the upper one.
        double top = drawing.height, waiting = 0;
        for (const Rectangle& one : shapes<Rectangle>(drawing, "backward")) top = std::min(top, one.box.y);
        for (const Rectangle& one : shapes<Rectangle>(drawing, "waiting"))
          if (one.box.y == top) waiting += one.box.width;
        CHECK(waiting / scale == Approx(beyond_computing(outcome)).margin(1e-11));
      }
}

TEST_CASE("with stragglers each class has a row of its own length; the unslowed one shows exposed communication") {
  Random random(7, 0);
  Scenario scenario = scenario_of(random_profile(random, 10), "mg-wfbp", 8, 50e-6, 1e-9);
  scenario.stragglers.slow = {{1, 1.5}, {3, 1.2}};
  const Outcome outcome = run(scenario);
  const Drawing drawing = timeline_picture({outcome});
  require_legible(drawing);
  const double scale = pixels_per_second(drawing, outcome);
  std::map<double, double> backward, waiting;  // by row
  for (const Rectangle& one : shapes<Rectangle>(drawing, "backward")) backward[one.box.y] += one.box.width / scale;
  for (const Rectangle& one : shapes<Rectangle>(drawing, "waiting")) waiting[one.box.y] += one.box.width / scale;
  REQUIRE(backward.size() == 3);
  std::vector<double> lengths;
  for (const auto& [row, length] : backward) lengths.push_back(length);
  const double unslowed = outcome.result.metrics.backward_s;
  CHECK(lengths[0] == Approx(unslowed));
  CHECK(lengths[1] == Approx(1.5 * unslowed));
  CHECK(lengths[2] == Approx(1.2 * unslowed));
  // In a steady period each class computes its own times, and waits for the rest.
  const double compute = unslowed + outcome.result.metrics.forward_s;
  const double factors[] = {1, 1.5, 1.2};
  std::size_t row = 0;
  for (const auto& [y, length] : backward)
    CHECK(waiting[y] == Approx(outcome.result.metrics.iteration_s - factors[row++] * compute).margin(1e-11));
  CHECK(waiting[backward.begin()->first] == Approx(beyond_computing(outcome)));
  // Exposed on the one communication row: what lies below the unslowed worker's waiting.
  double below = 0;
  for (const Rectangle& block : shapes<Rectangle>(drawing, "collective"))
    for (const Rectangle& wait : shapes<Rectangle>(drawing, "waiting"))
      if (wait.box.y == backward.begin()->first)
        below += std::max(0.0, std::min(block.box.right(), wait.box.right()) - std::max(block.box.x, wait.box.x));
  CHECK(below > 0);
  CHECK(width_of(shapes<Rectangle>(drawing, "exposed")) == Approx(below));
}

TEST_CASE("with jitter every worker differs: those that end last are drawn") {
  Random random(8, 0);
  Scenario scenario = scenario_of(random_profile(random, 6), "wfbp", 30, 50e-6, 1e-9);
  scenario.stragglers.jitter = Jitter{};
  scenario.stragglers.jitter->sigma = 0.1;
  const Outcome outcome = run(scenario);
  const Drawing drawing = timeline_picture({outcome});
  require_legible(drawing);
  std::set<double> rows;
  for (const Rectangle& one : shapes<Rectangle>(drawing, "backward")) rows.insert(one.box.y);
  CHECK(rows.size() == 8);
}

TEST_CASE("thin bars are drawn together, and nothing is lost") {
  Random random(9, 0);
  Profile profile = random_profile(random, 3000);
  const Outcome outcome = run(scenario_of(profile, "wfbp", 8, 1e-6, 1e-10));
  const Drawing drawing = timeline_picture({outcome});
  const double scale = pixels_per_second(drawing, outcome);
  CHECK(shapes<Rectangle>(drawing, "backward").size() < 1000);
  CHECK(width_of(shapes<Rectangle>(drawing, "backward")) / scale == Approx(outcome.result.metrics.backward_s));
  CHECK(width_of(shapes<Rectangle>(drawing, "waiting")) / scale == Approx(beyond_computing(outcome)).margin(1e-11));
  CHECK(to_svg(drawing).size() < 1'000'000);
}

TEST_CASE("one worker does not communicate") {
  Random random(10, 0);
  const Outcome outcome = run(scenario_of(random_profile(random, 5), "wfbp", 1, 50e-6, 1e-9));
  const Drawing drawing = timeline_picture({outcome});
  CHECK(shapes<Rectangle>(drawing, "collective").empty());
  CHECK(shapes<Rectangle>(drawing, "waiting").empty());
  require_legible(drawing);
}

namespace {

// Two groups of four workers, two micro-batches, an update; gathers, reductions and all-reduces in lanes of their own.
Scenario sharded(const std::string& strategy, std::uint64_t seed, std::size_t layers = 12) {
  Random random(seed, 2);
  Scenario scenario = scenario_of(random_profile(random, layers), strategy, 8, 50e-6, 1e-9);
  scenario.profile.own().update = Time(400'000'000);
  scenario.options.strategy.sharding.accumulate = 2;
  scenario.options.strategy.sharding.shard_group = 4;
  scenario.options.strategy.fsdp.separate_lanes = true;
  return scenario;
}

double top_of(const std::vector<Rectangle>& boxes) {
  double top = 1e9;
  for (const Rectangle& one : boxes) top = std::min(top, one.box.y);
  return top;
}

bool has_legend(const Drawing& drawing, const std::string& name) {
  return std::ranges::count(texts(drawing, "legend"), name) > 0;
}

}  // namespace

TEST_CASE("if workers wait for each other without bytes in flight, that is not exposed communication") {
  Random random(10, 0);
  Scenario scenario = scenario_of(random_profile(random, 5), "wfbp", 4, 0, 0);
  scenario.stragglers.slow = {{1, 1.5}};
  const Drawing drawing = timeline_picture({run(scenario)});
  CHECK(has_legend(drawing, "computation waits"));
  CHECK(!has_legend(drawing, "exposed communication"));
  scenario.cluster.network.alpha = 1e-3;
  CHECK(has_legend(timeline_picture({run(scenario)}), "exposed communication"));
}

TEST_CASE("a plan with lanes has a row for each, in its order") {
  Scenario scenario = sharded("fsdp2", 1);
  scenario.options.strategy.fsdp.copy = 10e9;
  const Outcome outcome = run(scenario);
  const Plan& plan = outcome.result.plan;
  const std::size_t units = plan.blocks.size(), layers = scenario.profile->layers.size();
  REQUIRE(units > 2);
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());

  REQUIRE(rows.network.size() == 3);
  const std::string names[] = {"gather", "reduce", "replicate"};
  const Activity activities[] = {Activity::AllGather, Activity::ReduceScatter, Activity::AllReduce};
  // In each micro-batch all units are gathered twice, but the last once; all are reduced.
  const std::size_t transfers[] = {2 * (2 * units - 1), 2 * units, 2 * units};
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    CHECK(rows.network[lane].name == names[lane]);
    CHECK(rows.network[lane].lane == lane);
    CHECK(rows.network[lane].bars.size() == transfers[lane]);
    for (const Bar& bar : rows.network[lane].bars) CHECK(bar.activity == activities[lane]);
  }

  REQUIRE(rows.streams.size() == 1);
  std::map<std::pair<Activity, std::uint32_t>, std::size_t> bars;  // by micro-batch
  for (const Bar& bar : rows.streams[0].bars) ++bars[{bar.activity, bar.micro_batch}];
  for (const std::uint32_t batch : {0U, 1U}) {
    CHECK(bars[{Activity::Forward, batch}] == layers);
    CHECK(bars[{Activity::Backward, batch}] == layers);
    CHECK(bars[{Activity::CopyOut, batch}] == 3 * units - 1);  // out for each gather, in for each reduction
  }
  CHECK(bars[{Activity::Update, 0}] == 1);
  CHECK(rows.streams[0].bars.back().activity == Activity::Update);

  // Each reduction is made by a copy; each gather is awaited by one, and so are reductions, by later ones.
  CHECK(rows.made.size() == 2 * units);
  for (const Arrow& made : rows.made) {
    const Bar& maker = rows.streams[made.before.row].bars[made.before.bar];
    CHECK(maker.activity == Activity::CopyOut);
    CHECK(maker.end <= rows.network[made.after.row].bars[made.after.bar].start);
  }
  for (const Arrow& gate : rows.gates)
    CHECK(rows.network[gate.before.row].bars[gate.before.bar].end <=
          rows.streams[gate.after.row].bars[gate.after.bar].start);

  const Drawing drawing = timeline_picture({outcome});
  require_legible(drawing);
  const double scale = pixels_per_second(drawing, outcome);
  const Metrics& metrics = outcome.result.metrics;
  CHECK(metrics.copy_s > 0);
  CHECK(width_of(shapes<Rectangle>(drawing, "forward")) / scale == Approx(2 * metrics.forward_s));
  CHECK(width_of(shapes<Rectangle>(drawing, "backward")) / scale == Approx(2 * metrics.backward_s));
  CHECK(width_of(shapes<Rectangle>(drawing, "copy")) / scale == Approx(metrics.copy_s));
  CHECK(width_of(shapes<Rectangle>(drawing, "update")) / scale == Approx(metrics.update_s));
  CHECK(width_of(shapes<Rectangle>(drawing, "waiting")) / scale == Approx(metrics.exposed_comm_s - metrics.copy_s));
  CHECK(top_of(shapes<Rectangle>(drawing, "copy")) == top_of(shapes<Rectangle>(drawing, "backward")));
  CHECK(top_of(shapes<Rectangle>(drawing, "copy")) < top_of(shapes<Rectangle>(drawing, "all-gather")));
  CHECK(top_of(shapes<Rectangle>(drawing, "all-gather")) < top_of(shapes<Rectangle>(drawing, "reduce-scatter")));
  CHECK(top_of(shapes<Rectangle>(drawing, "reduce-scatter")) < top_of(shapes<Rectangle>(drawing, "all-reduce")));
  CHECK(texts(drawing, "row") == std::vector<std::string>{"all 8 workers", "gather", "reduce", "replicate", "memory"});
  for (const char* name : {"update", "copy", "all-reduce"}) CHECK(has_legend(drawing, name));
  CHECK_FALSE(has_legend(drawing, "collective"));
}

TEST_CASE("copies that take no time have no bars, but their arrows stay") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome outcome = run(sharded("fsdp2", seed));
    const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
    for (const Bar& bar : rows.streams[0].bars) CHECK(bar.activity != Activity::CopyOut);
    CHECK(rows.made.size() == 2 * outcome.result.plan.blocks.size());
    for (const Arrow& made : rows.made) {
      const Bar& maker = rows.streams[made.before.row].bars[made.before.bar];
      CHECK(maker.activity == Activity::Backward);
      CHECK(maker.end <= rows.network[made.after.row].bars[made.after.bar].start);
    }
    for (const Arrow& gate : rows.gates)
      CHECK(rows.network[gate.before.row].bars[gate.before.bar].end <=
            rows.streams[gate.after.row].bars[gate.after.bar].start);
    const Drawing drawing = timeline_picture({outcome});
    CHECK_FALSE(has_legend(drawing, "copy"));
  }
}

TEST_CASE("sharded timelines are as long as the metrics say, too, and can be read") {
  for (const Strategy& strategy : strategies()) {
    const bool makes_blocks = !strategy.shards() && strategy.name != "dear";
    if (!makes_blocks) continue;
    for (const std::int64_t zero : {0, 1, 2})
      for (const std::int64_t accumulate : {1, 2, 9})
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          INFO(strategy.name << " --zero " << zero << " --accumulate " << accumulate << ", seed " << seed);
          Scenario scenario = sharded(std::string(strategy.name), seed, 6);
          scenario.options.strategy.sharding = {accumulate, zero, zero > 0 ? 4 : 0};
          scenario.stragglers.slow = {{2, 1.3}};
          const Outcome outcome = run(scenario);
          const Metrics& metrics = outcome.result.metrics;
          const Drawing drawing = timeline_picture({outcome});
          require_legible(drawing);
          const double scale = pixels_per_second(drawing, outcome);
          const auto batches = static_cast<double>(accumulate);
          CHECK(width_of(shapes<Rectangle>(drawing, "forward")) / scale == Approx(2.3 * batches * metrics.forward_s));
          CHECK(width_of(shapes<Rectangle>(drawing, "backward")) / scale == Approx(2.3 * batches * metrics.backward_s));
          CHECK(width_of(shapes<Rectangle>(drawing, "update")) / scale == Approx(2.3 * metrics.update_s));
          CHECK(texts(drawing, "peak").size() == (zero > 0 ? 1 : 0));
        }
  }
}

TEST_CASE("if every group is one worker, nothing is drawn for its collectives") {
  Scenario scenario = sharded("fsdp2", 3);
  scenario.options.strategy.sharding.shard_group = 8;  // no other worker to replicate with
  const Outcome outcome = run(scenario);
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
  REQUIRE(rows.network.size() == 2);
  CHECK(rows.network[1].name == "reduce");
  std::size_t bars = 0;
  for (const TimelineRow& row : rows.network) bars += row.bars.size();
  CHECK(static_cast<std::int64_t>(bars) == outcome.result.metrics.collectives);
}

TEST_CASE("memory over time is drawn for plans that shard, and for traces with activations") {
  CHECK(shapes<Path>(timeline_picture({outcome_of("wfbp", 5)}), "memory").empty());
  for (const bool shards : {false, true}) {
    Scenario scenario = sharded(shards ? "fsdp2" : "wfbp", 5);
    scenario.options.strategy.sharding.shard_group = 0;
    if (!shards)
      for (Layer& layer : scenario.profile.own().layers) layer.activation_bytes = 3'000'000;
    const Outcome outcome = run(scenario);
    const Drawing drawing = timeline_picture({outcome});
    require_legible(drawing);
    const double scale = pixels_per_second(drawing, outcome);
    REQUIRE(shapes<Path>(drawing, "memory").size() == 1);
    const std::vector<Position> area = shapes<Path>(drawing, "memory")[0].points;
    const double bottom = area.back().y, peak = shapes<Path>(drawing, "peak")[0].points[0].y;
    double highest = bottom, pixels = 0;
    for (std::size_t i = 0; i + 2 < area.size(); ++i) {  // the last two are at the bottom
      highest = std::min(highest, area[i].y);
      if (i > 0) pixels += (area[i].x - area[i - 1].x) * (bottom - area[i].y);
    }
    CHECK(highest == Approx(peak));
    // The area is the integral; what is thinner than a pixel is drawn as its highest.
    const MemoryUse& memory = outcome.result.memory;
    double integral = 0;
    for (std::size_t i = 0; i < memory.course.size(); ++i) {
      const double end =
          i + 1 < memory.course.size() ? to_seconds(memory.course[i + 1].at) : outcome.result.metrics.iteration_s;
      integral += memory.course[i].bytes * (end - to_seconds(memory.course[i].at));
    }
    CHECK(pixels / scale * memory.peak / (bottom - peak) == Approx(integral).epsilon(0.02));
    CHECK(area[area.size() - 3].x == Approx(area[0].x + scale * outcome.result.metrics.iteration_s));
    const std::vector<std::string> says = texts(drawing, "peak");
    REQUIRE(says.size() == 1);
    CHECK(std::stod(says[0].substr(5)) * 1e6 == Approx(memory.peak).epsilon(1e-3));
    CHECK(says[0].substr(says[0].size() - 3) == " MB");
  }
}

TEST_CASE("several outcomes share one time axis") {
  const Outcome slow = outcome_of("sync-easgd", 3), fast = outcome_of("best", 3);
  const Drawing drawing = timeline_picture({slow, fast});
  require_legible(drawing);
  std::vector<double> lengths;
  for (const Path& one : shapes<Path>(drawing, "iteration")) lengths.push_back(one.points[1].x - one.points[0].x);
  REQUIRE(lengths.size() == 2);
  CHECK(lengths[0] / lengths[1] == Approx(slow.result.metrics.iteration_s / fast.result.metrics.iteration_s));
}

TEST_CASE("bars of a comparison have the values and the order of the table") {
  const Comparison comparison{.outcomes = {outcome_of("wfbp", 4), outcome_of("sync-easgd", 4)},
                              .references = std::vector<ScalingReference>(2),
                              .rule = {.tie = 0}};
  const std::vector<Outcome>& outcomes = comparison.outcomes;
  REQUIRE(outcomes[1].result.metrics.iteration_s < outcomes[0].result.metrics.iteration_s);
  const RowChart chart = compare_chart(comparison);
  require_legible(draw(chart));
  REQUIRE(chart.rows.size() == 2);
  CHECK((chart.rows[0].name == "sync-easgd" && chart.rows[1].name == "wfbp"));
  const double first = outcomes[1].result.metrics.iteration_s, second = outcomes[0].result.metrics.iteration_s;
  CHECK(chart.rows[0].end.starts_with(format_duration(first)));
  CHECK(chart.rows[1].end.starts_with(format_duration(second)));
  const bool in_ms = chart.x.name.find("(ms)") != std::string::npos;
  const double unit = in_ms ? 1e-3 : chart.x.name.find("(us)") != std::string::npos ? 1e-6 : 1;
  for (std::size_t bar = 0; bar < 2; ++bar) {
    double sum = 0;
    for (const RowPart& part : chart.rows[bar].parts) sum += part.value;
    CHECK(sum * unit == Approx(outcomes[1 - bar].result.metrics.iteration_s));
  }
  REQUIRE(chart.mark);
  CHECK(chart.mark->value * unit == Approx(*outcomes[1].result.metrics.lower_bound_s));
}

TEST_CASE("a bar that is faster than the winner but short of memory says how much") {
  Comparison comparison{.outcomes = {outcome_of("wfbp", 4), outcome_of("sync-easgd", 4)},
                        .references = std::vector<ScalingReference>(2),
                        .rule = {.tie = 0, .headroom = 0.1}};
  for (Outcome& one : comparison.outcomes) one.scenario.options.memory.limit = 1000;
  comparison.outcomes[0].result.metrics.iteration_s = 0.2;
  comparison.outcomes[0].result.memory.peak = 500;
  comparison.outcomes[1].result.metrics.iteration_s = 0.19;  // 5 % less, but only 5 % of the memory is free
  comparison.outcomes[1].result.memory.peak = 950;
  const RowChart chart = compare_chart(comparison);
  CHECK(chart.rows[0].end.ends_with(", wins"));
  CHECK(chart.rows[1].end.ends_with(" *, 5.0 % shorter"));
  CHECK(chart.note.starts_with("*: leaves less than 10.0 % of the memory free"));
}

TEST_CASE("layers that take no time are in the order of the passes") {
  Profile profile;
  profile.name = "p";
  for (const auto& [name, ms] : {std::pair("a", 1), {"b", 0}, {"c", 0}, {"d", 1}})
    profile.layers.push_back({name, to_time(ms * 1e-3), to_time(2e-3 * ms)});
  profile.tensors.push_back({"t", 1000, 4000, 3});
  const Outcome outcome = run(scenario_of(profile, "wfbp", 8, 50e-6, 1e-9));
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
  std::string names;
  for (const Bar& bar : rows.streams[0].bars) names += bar.name;
  CHECK(names == "dcbaabcd");
}

TEST_CASE("codecs on a separate stream have rows of their own") {
  Random random(1, 1);
  Scenario scenario = scenario_of(random_profile(random, 12), "wfbp", 8, 50e-6, 1e-9);
  scenario.codec = CodecCosts{"signsgd", &find_codec("signsgd", {}), "", "estimated", "", {1e-4}, {2e-5}};
  scenario.options.codec.stream = CodecStream::Side;
  const Outcome outcome = run(scenario);
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
  REQUIRE(rows.streams.size() == 2);
  CHECK(rows.streams[1].name == "codec of " + rows.streams[0].name);
}

TEST_CASE("arrows are drawn up to a number that can still be read") {
  const auto arrows = [](LayerId layers) {
    Profile profile;
    profile.name = "p";
    for (LayerId layer = 0; layer < layers; ++layer) {
      profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
      profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
    }
    return shapes<Path>(timeline_picture({run(scenario_of(profile, "wfbp", 8, 50e-6, 1e-9))}), "arrow").size();
  };
  // Arrows to each block from what makes it ready, and from it to what waits: two for each layer, 48 at most.
  CHECK(arrows(24) > 0);
  CHECK(arrows(25) == 0);
}

TEST_CASE("an arrow's head is at its end") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  // 2.8 ms each, of layers that are ready every 2 ms: the arrows of those that stand in line are slanted.
  const Drawing drawing = timeline_picture({run(scenario_of(profile, "wfbp", 8, 200e-6, 1e-9))});
  int heads = 0;
  for (std::size_t i = 0; i + 1 < drawing.shapes.size(); ++i) {
    const auto *arrow = std::get_if<Path>(&drawing.shapes[i]), *head = std::get_if<Path>(&drawing.shapes[i + 1]);
    if (!arrow || arrow->meaning.kind != "arrow") continue;
    ++heads;
    REQUIRE(head);
    REQUIRE(head->points.size() == 3);
    const Position from = arrow->points[arrow->points.size() - 2], to = arrow->points.back();
    CHECK(head->points[0].x == to.x);
    CHECK(head->points[0].y == to.y);
    // As long as wide or so, both behind the tip and each on its side: their middle lies on the arrow's line.
    const Position &left = head->points[1], &right = head->points[2];
    CHECK(std::hypot(left.x - to.x, left.y - to.y) == Approx(std::hypot(right.x - to.x, right.y - to.y)));
    CHECK(std::hypot(left.x - to.x, left.y - to.y) < 8);
    const Position middle{(left.x + right.x) / 2, (left.y + right.y) / 2};
    CHECK((middle.x - to.x) * (to.y - from.y) == Approx((middle.y - to.y) * (to.x - from.x)).margin(1e-6));
  }
  CHECK(heads == 4);  // three blocks become ready, and the next forward pass waits for the last
}

TEST_CASE("a pass says above its bars how long it is") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  const Drawing drawing = timeline_picture({run(scenario_of(profile, "wfbp", 8, 50e-6, 1e-9))});
  CHECK(texts(drawing, "phase") == std::vector<std::string>{"backward 6 ms", "forward 3 ms"});
}

TEST_CASE("text over a line has a white background") {
  const Drawing drawing = timeline_picture({outcome_of("wfbp", 5)});
  for (const std::string kind : {"iteration", "bound"}) {
    INFO(kind);
    int found = 0;
    for (const Shape& shape : drawing.shapes) {
      const auto* text = std::get_if<Text>(&shape);
      if (!text || text->kind != kind) continue;
      ++found;
      CHECK(std::any_of(drawing.shapes.begin(), drawing.shapes.end(), [&](const Shape& other) {
        const auto* white = std::get_if<Rectangle>(&other);
        return white && white->look.fill == colour(0xFFFFFF) &&
               white->box.x + white->box.width / 2 == Approx(text->at.x) &&
               white->box.width > text_width(text->text, text->size);
      }));
    }
    CHECK(found == 1);
  }
}

TEST_CASE("however many layers there are, memory is drawn with a few points a pixel") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 3000; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-6), to_time(2e-6)});
    profile.layers.back().activation_bytes = 1000 + 7 * (layer % 13);
  }
  profile.tensors.push_back({"t", 1000, 4000, 0});
  const auto areas = shapes<Path>(timeline_picture({run(scenario_of(profile, "wfbp", 8, 50e-6, 1e-9))}), "memory");
  REQUIRE(areas.size() == 1);
  const std::vector<Position>& area = areas[0].points;
  // The most within each pixel and what is left at its end, two corners each.
  CHECK(static_cast<double>(area.size()) <= 4 * (area[area.size() - 3].x - area[0].x) + 8);
}

namespace {

// Four layers of 1 ms forward and 2 ms backward on two ranks; a send takes 1 ms, and there are no replicas to reduce
// with.
Scenario two_ranks(const std::string& schedule) {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 4; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  Scenario scenario = scenario_of(profile, "ddp", 2, 1e-3, 0);
  scenario.options.parallel.pp = 2;
  scenario.options.parallel.schedule = schedule;
  scenario.options.parallel.p2p_bytes = 1;
  scenario.options.strategy.sharding.accumulate = 2;
  return scenario;
}

Scenario pipeline(const std::string& strategy, const std::string& schedule, std::uint64_t seed) {
  Random random(seed, 3);
  Profile profile = random_profile(random, 12);
  while (profile.layers.size() < 8) profile.layers.push_back(profile.layers.front());
  for (Layer& layer : profile.layers) {
    layer.forward += Time(50'000'000);  // a bar each
    layer.activation_bytes = 1'000'000;
  }
  profile.update = Time(400'000'000);
  Scenario scenario = scenario_of(profile, strategy, 16, 50e-6, 1e-9);
  scenario.options.parallel.pp = 4;
  scenario.options.parallel.schedule = schedule;
  scenario.options.parallel.p2p_bytes = 10'000;
  scenario.options.strategy.sharding.accumulate = 8;
  return scenario;
}

std::string passes_in(const TimelineRow& row) {
  std::string text;
  for (const Bar& bar : row.bars)
    text += bar.name + " " + std::to_string(bar.start.count() / 1'000'000'000) + "-" +
            std::to_string(bar.end.count() / 1'000'000'000) + " ";
  return text;
}

}  // namespace

TEST_CASE("a pipeline's passes are where its schedule puts them, and its sends lead from rank to rank") {
  const Outcome outcome = run(two_ranks("1f1b"));
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
  // By hand, in ms: without an optimizer the update takes no time; two layers forward take 2, backward 4, a send 1.
  // Rank 0 runs ahead by one micro-batch.
  REQUIRE(rows.passes.size() == 2);
  CHECK(passes_in(rows.passes[0]) == "update 0-0 0F0 0-2 0F1 2-4 0B0 10-14 0B1 16-20 ");
  CHECK(passes_in(rows.passes[1]) == "update 0-0 1F0 3-5 1B0 5-9 1F1 9-11 1B1 11-15 ");
  REQUIRE(rows.network.size() == 2);
  CHECK((rows.network[0].from == 0 && rows.network[0].to == 1));
  CHECK((rows.network[1].from == 1 && rows.network[1].to == 0));

  const Drawing drawing = timeline_picture({outcome});
  require_legible(drawing);
  const double scale = pixels_per_second(drawing, outcome) * 1e-3,
               left = shapes<Rectangle>(drawing, "forward")[0].box.x;
  // Down behind 0F0 and 0F1, up behind 1B0 and 1B1, each from one row's edge to the other's.
  const auto sends = shapes<Path>(drawing, "send");
  const double starts[] = {2, 4, 9, 15};
  const double upper = shapes<Rectangle>(drawing, "forward")[0].box.bottom(),
               lower = shapes<Rectangle>(drawing, "forward")[2].box.y;
  REQUIRE(sends.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sends[i].points[0].x == Approx(left + scale * starts[i]));
    CHECK(sends[i].points[1].x == Approx(left + scale * (starts[i] + 1)));
    CHECK(sends[i].points[0].y == Approx(i < 2 ? upper : lower));
    CHECK(sends[i].points[1].y == Approx(i < 2 ? lower : upper));
  }
  CHECK(texts(drawing, "micro-batch") == std::vector<std::string>{"0", "1", "0", "1", "0", "0", "1", "1"});
  CHECK(texts(drawing, "row") == std::vector<std::string>{"rank 0", "rank 1"});
  CHECK(shapes<Rectangle>(drawing, "next").size() == 2);
  // Rank 0 waits from 4 to 10 and from 14 to 16, rank 1 up to 3 and from 15 on.
  CHECK(width_of(shapes<Rectangle>(drawing, "waiting")) == Approx(scale * (6 + 2 + 3 + 5)));
}

TEST_CASE("both parts of a split backward pass have looks of their own") {
  const Outcome outcome = run(two_ranks("zb-h1"));
  const Drawing drawing = timeline_picture({outcome});
  const double scale = pixels_per_second(drawing, outcome) * 1e-3;
  CHECK(shapes<Rectangle>(drawing, "backward").empty());
  for (const char* kind : {"input gradient", "weight gradient"}) {
    // Four passes each; half of a backward pass makes the weights' gradients.
    CHECK(shapes<Rectangle>(drawing, kind).size() == 4);
    CHECK(width_of(shapes<Rectangle>(drawing, kind)) == Approx(scale * 8));
    CHECK(has_legend(drawing, kind));
  }
  CHECK_FALSE(shapes<Rectangle>(drawing, "input gradient")[0].look.fill ==
              shapes<Rectangle>(drawing, "weight gradient")[0].look.fill);
}

TEST_CASE("bars of pipelines are as long as their iterations, with their bubbles") {
  Comparison comparison{.references = std::vector<ScalingReference>(2), .rule = {.tie = 0}};
  for (const char* schedule : {"1f1b", "zb-h1"}) comparison.outcomes.push_back(run(pipeline("ddp", schedule, 3)));
  const RowChart chart = compare_chart(comparison);
  const double unit = chart.x.name.find("(ms)") != std::string::npos ? 1e-3 : 1e-6;
  for (const ChartRow& row : chart.rows) {
    double sum = 0;
    for (const RowPart& part : row.parts) {
      sum += part.value;
      if (part.name == "bubble") CHECK(part.value > 0);
    }
    const auto& outcomes = comparison.outcomes;
    const auto is = [&](const Outcome& one) { return sum * unit == Approx(one.result.metrics.iteration_s); };
    CHECK(std::any_of(outcomes.begin(), outcomes.end(), is));
  }
}

TEST_CASE("a pipeline's picture is as long as the metrics say, for every schedule, and can be read") {
  for (const char* schedule : {"gpipe", "1f1b", "looped-bfs", "interleaved", "zb-h1", "zbv", "dualpipe-v"})
    for (const char* strategy : {"ddp", "megatron", "fsdp2", "us-byte"})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        INFO(schedule << ", " << strategy << ", seed " << seed);
        const Outcome outcome = run(pipeline(strategy, schedule, seed));
        const Metrics& metrics = outcome.result.metrics;
        const ParallelResult& parallel = *outcome.result.parallel;
        const Drawing drawing = timeline_picture({outcome});
        require_legible(drawing);
        const double scale = pixels_per_second(drawing, outcome);
        double backward = 0, idle = 0, updates = 0;
        for (const char* kind : {"backward", "input gradient", "weight gradient"})
          backward += width_of(shapes<Rectangle>(drawing, kind));
        for (const StageResult& stage : parallel.stages) {
          idle += stage.bubble_s + parallel.exposed_dp_s + parallel.exposed_p2p_s;
          updates += stage.update_s;
        }
        CHECK(width_of(shapes<Rectangle>(drawing, "forward")) / scale == Approx(8 * metrics.forward_s));
        CHECK(backward / scale == Approx(8 * metrics.backward_s));
        CHECK(width_of(shapes<Rectangle>(drawing, "update")) / scale == Approx(updates));
        CHECK(width_of(shapes<Rectangle>(drawing, "waiting")) / scale == Approx(idle).margin(1e-9));
        // Chunks of a rank are separate, those with fewer layers before them higher.
        std::set<double> tops;
        for (const Rectangle& one : shapes<Rectangle>(drawing, "forward")) tops.insert(one.box.y);
        const std::size_t chunks = parallel.stages[0].chunks.size();
        CHECK(tops.size() == 4 * chunks);
        // Memory: the rank that needs most as an area, the others as lines.
        CHECK(shapes<Path>(drawing, "memory").size() == 1);
        CHECK(shapes<Path>(drawing, "memory of others").size() == 3);
        const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
        for (std::size_t rank = 0; rank < 4; ++rank) {
          double peak = 0;
          for (const MemoryPoint& point : rows.memory[rank].points) peak = std::max(peak, point.bytes);
          CHECK(peak == parallel.stages[rank].memory.peak);
        }
      }
}

TEST_CASE("a pipeline's reductions are exposed if neither computing nor sends hide them") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Outcome outcome = run(pipeline("ddp", "1f1b", seed));
    const Drawing drawing = timeline_picture({outcome});
    // All ranks update simultaneously, when the last reduction has ended: exposed communication lies between the last
    // pass and that instant.
    double from = 1e9, to = 0;
    for (const Rectangle& one : shapes<Rectangle>(drawing, "exposed")) {
      from = std::min(from, one.box.x);
      to = std::max(to, one.box.right());
    }
    const double scale = pixels_per_second(drawing, outcome), exposed = outcome.result.parallel->exposed_dp_s;
    CHECK(std::max(0.0, to - from) / scale == Approx(exposed).margin(1e-9));
  }
}

TEST_CASE("eight ranks with 32 micro-batches have a number on each pass") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 16; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  Scenario scenario = scenario_of(profile, "ddp", 16, 10e-6, 1e-9);
  scenario.options.parallel.pp = 8;
  scenario.options.parallel.p2p_bytes = 1000;
  scenario.options.strategy.sharding.accumulate = 32;
  const Drawing drawing = timeline_picture({run(scenario)});
  require_legible(drawing);
  CHECK(drawing.width <= 2000);
  CHECK(texts(drawing, "micro-batch").size() == 2 * 8 * 32);
  CHECK(shapes<Path>(drawing, "send").size() == 2 * 7 * 32);
  // Two chunks per rank, and separate input and weight gradients: six passes of a micro-batch on a rank. The two
  // gradient passes of a micro-batch may be one bar if one directly follows the other.
  scenario.options.parallel.schedule = "zbv";
  scenario.options.parallel.chunks = 2;
  const Outcome outcome = run(scenario);
  const Drawing apart = timeline_picture({outcome});
  require_legible(apart);
  CHECK(apart.width <= 3000);
  std::size_t passes = 0;
  for (const TimelineRow& row : timeline_rows(outcome, outcome.result.episodes.back()).passes)
    for (const Bar& bar : row.bars) passes += bar.activity != Activity::Update ? 1 : 0;
  CHECK(passes >= 4 * 8 * 32);
  CHECK(texts(apart, "micro-batch").size() == passes);
}

TEST_CASE("a pipeline with too many micro-batches for their numbers says so") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 2; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  Scenario scenario = scenario_of(profile, "ddp", 4, 10e-6, 1e-9);
  scenario.options.parallel.pp = 2;
  scenario.options.parallel.p2p_bytes = 1000;
  const auto notes = [&](std::int64_t micro_batches) {
    scenario.options.strategy.sharding.accumulate = micro_batches;
    const std::vector<std::string> all = texts(timeline_picture({run(scenario)}), "");
    return std::ranges::count_if(all, [](const std::string& one) { return one.find("--micro-batches") != one.npos; });
  };
  // A forward pass is 1 ms long. Of 3000 pixels it has 30 if the iteration takes 99 ms, 2 if it takes 1.54 s.
  CHECK(notes(32) == 0);
  CHECK(notes(512) == 1);
}

namespace {

// Four layers of 1 ms forward and 2 ms backward, every other one of experts, which exchanges tokens in each pass among
// two workers. With tp the others sum among its workers.
Scenario mixture(std::int64_t tp, std::int64_t pp = 1) {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 4; ++layer) {
    Layer one{std::to_string(layer), to_time(1e-3), to_time(2e-3)};
    one.output_bytes = 0;
    one.expert = layer % 2 == 1;
    using Among = LayerCollective::Among;
    for (const bool backward : {false, true}) {
      if (one.expert) one.collectives.push_back({CollectiveOp::AllToAll, Among::Expert, 1000, backward});
      if (!one.expert && tp > 1) one.collectives.push_back({CollectiveOp::AllReduce, Among::Tensor, 500, backward});
    }
    profile.layers.push_back(std::move(one));
    profile.tensors.push_back({std::to_string(layer), 1000, 4000, layer});
  }
  if (tp > 1) profile.degrees = ProfileDegrees{.tp = tp};
  Scenario scenario = scenario_of(profile, "ddp", 4 * tp * pp, 1e-3, 0);
  scenario.options.parallel.ep = scenario.options.strategy.sharding.experts = 2;
  scenario.options.parallel.tp = tp;
  scenario.options.parallel.pp = pp;
  scenario.options.strategy.sharding.accumulate = 2;
  return scenario;
}

// The time that the row's bars of an activity take, and their bytes.
std::pair<double, Bytes> sum_of(const TimelineRow& row, Activity activity) {
  Time time{0};
  Bytes bytes = 0;
  for (const Bar& bar : row.bars)
    if (bar.activity == activity) time += bar.end - bar.start, bytes += bar.bytes;
  return {to_seconds(time), bytes};
}

}  // namespace

TEST_CASE("collectives inside layers are parts of the passes, and are drawn below them") {
  for (const std::int64_t tp : {1, 2})
    for (const double slowdown : {1.0, 1.5}) {
      INFO("tp " << tp << ", slowed " << slowdown);
      Scenario scenario = mixture(tp);
      if (slowdown > 1) scenario.stragglers.slow = {{0, slowdown}};
      const Outcome outcome = run(scenario);
      const ParallelResult& parallel = *outcome.result.parallel;
      REQUIRE(parallel.exposed_ep_s > 0);
      const Drawing drawing = timeline_picture({outcome});
      require_legible(drawing);
      const double scale = pixels_per_second(drawing, outcome);
      const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
      double slow = 0;  // how many times as long the classes take together
      for (const WorkerClass& one : outcome.result.classes) slow += one.slowdown;
      const double others = parallel.layer_comm_s - parallel.exposed_ep_s;
      CHECK((others > 0) == (tp > 1));
      CHECK(width_of(shapes<Rectangle>(drawing, "token exchange")) / scale == Approx(slow * parallel.exposed_ep_s));
      CHECK(width_of(shapes<Rectangle>(drawing, "tp or cp collective")) / scale == Approx(slow * others));
      CHECK(has_legend(drawing, "token exchange"));
      CHECK(has_legend(drawing, "tp or cp collective") == (tp > 1));
      for (std::size_t c = 0; c < rows.streams.size(); ++c) {
        const double own = outcome.result.classes[c].slowdown;
        // Two micro-batches, two expert layers, forward and backward; 1000 B each.
        const auto [exchange_s, bytes] = sum_of(rows.streams[c], Activity::Exchange);
        CHECK(exchange_s == Approx(own * parallel.exposed_ep_s));
        CHECK(bytes == 8000);
        CHECK(sum_of(rows.streams[c], Activity::Forward).first == Approx(own * 2 * outcome.result.metrics.forward_s));
        CHECK(sum_of(rows.streams[c], Activity::Backward).first == Approx(own * 2 * outcome.result.metrics.backward_s));
        for (std::size_t i = 1; i < rows.streams[c].bars.size(); ++i)
          CHECK(rows.streams[c].bars[i - 1].end <= rows.streams[c].bars[i].start);
      }
    }
}

TEST_CASE("a pipeline's passes contain the collectives inside their layers") {
  const Outcome outcome = run(mixture(2, 2));
  const ParallelResult& parallel = *outcome.result.parallel;
  const Drawing drawing = timeline_picture({outcome});
  require_legible(drawing);
  const double scale = pixels_per_second(drawing, outcome);
  double exchange = 0, passes = 0;
  for (const StageResult& stage : parallel.stages) {
    exchange += stage.exchange_s;
    passes += stage.compute_s + stage.layer_comm_s;
  }
  REQUIRE(exchange > 0);
  CHECK(width_of(shapes<Rectangle>(drawing, "token exchange")) / scale == Approx(exchange));
  CHECK((width_of(shapes<Rectangle>(drawing, "forward")) + width_of(shapes<Rectangle>(drawing, "backward"))) / scale ==
        Approx(passes));
}

TEST_CASE("the passes of a pair last until their last exchange of tokens has ended") {
  Scenario scenario = mixture(1, 2);
  scenario.options.set("accumulate", "4", {"", ""});
  scenario.options.set("schedule", "dualpipe-v", {"", ""});
  scenario.options.set("ep_overlap", "true", {"", ""});
  const Outcome outcome = run(scenario);
  const TimelineRows rows = timeline_rows(outcome, outcome.result.episodes.back());
  std::size_t exchanges = 0;
  for (const TimelineRow& lane : rows.network) {
    if (!lane.name.starts_with("ep ")) continue;
    for (const Bar& exchange : lane.bars) {
      ++exchanges;
      CHECK(std::any_of(rows.passes[lane.from].bars.begin(), rows.passes[lane.from].bars.end(), [&](const Bar& pass) {
        const std::string name =
            to_string(Action{pass.activity, static_cast<std::uint32_t>(pass.item), pass.micro_batch}) + " of ";
        return pass.in_pair && exchange.name.starts_with(name) && pass.start <= exchange.start &&
               exchange.end <= pass.end;
      }));
    }
  }
  REQUIRE(exchanges > 0);
}

TEST_CASE("short collectives are drawn together, and no length is lost") {
  Scenario scenario = mixture(1);
  for (Layer& layer : scenario.profile.own().layers) layer.forward = layer.backward = to_time(2);
  const Outcome outcome = run(scenario);
  const Drawing drawing = timeline_picture({outcome});
  const std::vector<Rectangle> strip = shapes<Rectangle>(drawing, "token exchange");
  CHECK(strip.size() < 8);
  CHECK(width_of(strip) / pixels_per_second(drawing, outcome) == Approx(outcome.result.parallel->exposed_ep_s));
}
