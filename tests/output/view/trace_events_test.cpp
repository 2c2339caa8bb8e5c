#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/base/core/json.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/studies/experiment/run.hpp"

using namespace allreplay;

TEST_CASE("a timeline has a process per class, no overlap on a thread, and an arrow to each collective") {
  Random random(41, 0);
  Scenario scenario = scenario_of(random_profile(random, 10), "wfbp", 4, 50e-6, 1e-9);
  scenario.stragglers.slow = {{1, 1.5}};
  const Outcome outcome = run(scenario);
  const Json json = Json::parse(trace_events(outcome), "timeline");
  std::set<std::string> processes;
  std::map<std::pair<double, double>, double> busy_until;  // by thread
  std::size_t collectives = 0, arrows_from = 0, arrows_to = 0;
  std::map<std::pair<double, double>, std::vector<std::pair<double, double>>> slices;
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text();
    const std::pair thread(event.at("pid").number(), event.at("tid").number());
    if (event.at("name").text() == "process_name") processes.insert(event.at("args").at("name").text());
    if (phase == "X") slices[thread].emplace_back(event.at("ts").number(), event.at("dur").number());
    if (phase == "X" && event.at("args").at("activity").text() == "collective") ++collectives;
    arrows_from += phase == "s" && event.at("name").text() == "ready";
    arrows_to += phase == "f" && event.at("name").text() == "ready";
  }
  CHECK(processes ==
        std::set<std::string>{"3 workers like worker 0", "worker 1 (slowed 1.5x)", "network: ring, 4 workers"});
  const std::size_t blocks = outcome.result.plan.blocks.size();
  CHECK(collectives == blocks);
  CHECK(arrows_from == blocks);
  CHECK(arrows_to == blocks);
  for (auto& [thread, list] : slices) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      REQUIRE(list[i].first >= list[i - 1].first + list[i - 1].second - 1e-5);
  }
}

TEST_CASE("a timeline is one iteration, even if several were simulated until they repeated") {
  Random random(47, 0);
  for (const bool jitter : {false, true}) {
    Scenario scenario = scenario_of(random_profile(random, 10), "wfbp", 4, 50e-6, 1e-9);
    scenario.stragglers.slow = {
        {1, 1.5}};  // with several micro-batches it falls behind more from iteration to iteration
    scenario.options.strategy.sharding.accumulate = 3;
    if (jitter) scenario.stragglers.jitter = Jitter{.sigma = 0.1};
    const Outcome outcome = run(scenario);
    REQUIRE(outcome.result.episodes.size() == 2);
    std::map<std::string, std::size_t> count;  // of slices, by activity
    for (const Json& event : Json::parse(trace_events(outcome), "timeline").at("traceEvents").items())
      if (event.at("ph").text() == "X") ++count[event.at("args").at("activity").text()];
    const std::size_t classes = outcome.result.classes.size();
    const auto layers = std::count_if(scenario.profile->layers.begin(), scenario.profile->layers.end(),
                                      [](const Layer& layer) { return layer.backward > Time(0); });
    CHECK(count["backward"] == classes * 3 * static_cast<std::size_t>(layers));
    CHECK(count["collective"] == outcome.result.plan.blocks.size());
  }
}

TEST_CASE("a sharded plan has a thread per lane, copies, the update, micro-batches, and memory as a counter") {
  Random random(42, 0);
  Scenario scenario = scenario_of(random_profile(random, 10), "fsdp2", 8, 50e-6, 1e-9);
  scenario.profile.own().update = Time(400'000'000);
  scenario.options.strategy.sharding = {.accumulate = 2, .shard_group = 4};
  scenario.options.strategy.fsdp.separate_lanes = true;
  scenario.options.strategy.fsdp.copy = 10e9;
  const Outcome outcome = run(scenario);
  const Json json = Json::parse(trace_events(outcome), "timeline");

  using Thread = std::pair<double, double>;
  std::map<Thread, std::string> threads;
  std::map<std::string, double> spent;                   // by activity, in microseconds
  std::map<std::string, std::set<std::string>> carried;  // what of each thread of the network
  std::map<Thread, std::vector<std::pair<double, double>>> slices;
  std::map<std::string, std::vector<double>> sent;  // bytes, of each thread of the network
  std::set<std::int64_t> batches;
  std::vector<std::pair<double, double>> memory;
  std::map<std::string, std::size_t> arrows;
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text(), name = event.at("name").text();
    const Thread thread(event.at("pid").number(), event.at("tid").number());
    if (name == "thread_name") threads[thread] = event.at("args").at("name").text();
    if (phase == "C" && name == "memory")
      memory.emplace_back(event.at("ts").number(), event.at("args").at("bytes").number());
    if (phase != "X") continue;
    const std::string activity = event.at("args").at("activity").text();
    spent[activity] += event.at("dur").number();
    slices[thread].emplace_back(event.at("ts").number(), event.at("ts").number() + event.at("dur").number());
    if (activity == "collective") carried[threads[thread]].insert(name.substr(0, name.find(' ')));
    if (activity == "collective") sent[threads[thread]].push_back(event.at("args").at("bytes").number());
    CHECK(event.at("args").find("micro_batch").has_value() == (activity != "update"));
    if (const auto batch = event.at("args").find("micro_batch"))
      batches.insert(static_cast<std::int64_t>(batch->number()));
  }
  const std::map<Thread, std::string> expected{
      {{0, 0}, "compute"}, {{1, 0}, "gather"}, {{1, 1}, "reduce"}, {{1, 2}, "replicate"}};
  CHECK(threads == expected);
  CHECK(carried["gather"] == std::set<std::string>{"ncclKernel_AllGather"});
  CHECK(carried["reduce"] == std::set<std::string>{"ncclKernel_ReduceScatter"});
  CHECK(carried["replicate"] == std::set<std::string>{"ncclKernel_AllReduce"});
  CHECK(batches == std::set<std::int64_t>{1, 2});
  // Between groups of four each worker sends its quarter of the reduced gradients.
  const auto sum = [](const std::vector<double>& list) { return std::accumulate(list.begin(), list.end(), 0.0); };
  REQUIRE(sent["replicate"].size() == sent["reduce"].size());
  CHECK(sum(sent["replicate"]) - sum(sent["reduce"]) / 4 >= 0);
  CHECK(sum(sent["replicate"]) - sum(sent["reduce"]) / 4 <= static_cast<double>(sent["reduce"].size()));

  const Metrics& metrics = outcome.result.metrics;
  CHECK(spent["copy"] == Approx(metrics.copy_s * 1e6));
  CHECK(spent["update"] == Approx(metrics.update_s * 1e6));
  CHECK(spent["forward"] == Approx(2 * metrics.forward_s * 1e6));

  // The counter is the course of the last episode.
  const std::vector<MemoryPoint>& course = outcome.result.memory.course;
  REQUIRE(memory.size() == course.size());
  for (std::size_t i = 0; i < course.size(); ++i) {
    CHECK(memory[i].first ==
          Approx(1e6 * (to_seconds(outcome.result.episodes.back().start) + to_seconds(course[i].at))));
    CHECK(memory[i].second == Approx(course[i].bytes).margin(0.51));
  }

  // Arrows begin within a slice; those into the passes end where one starts.
  for (const Json& event : json.at("traceEvents").items()) {
    const std::string phase = event.at("ph").text();
    if (phase != "s" && phase != "f") continue;
    const std::string name = event.at("name").text();
    const double at = event.at("ts").number();
    const auto& list = slices[{event.at("pid").number(), event.at("tid").number()}];
    CHECK(std::any_of(list.begin(), list.end(), [&](const auto& one) {
      return phase == "s" ? one.first <= at && at <= one.second : std::abs(one.first - at) < 1e-9;
    }));
    if (phase == "s") ++arrows[name];
  }
  const std::size_t units = outcome.result.plan.blocks.size();
  CHECK(arrows["ready"] == 2 * units);
  // Each gather leads into a copy, most reductions into a later one, all but those into the update or the next gather.
  CHECK(arrows["needed"] >= 2 * (2 * units - 1));
}

namespace {

// Times to the picosecond, as estimates have them; some layers take less than a nanosecond.
Scenario awkward_scenario(Random& random, std::string_view strategy) {
  Scenario scenario = scenario_of(random_profile(random, 8), strategy, 8, 20e-6, 0);
  scenario.cluster.network.beta.reset();
  scenario.cluster.network.topology = read_topology(
      Json::parse(R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "7.3 Gbit/s"}})", "topology"));
  const auto awkward = [&](Time time) { return time + Time(static_cast<std::int64_t>(random.below(1'000'000))); };
  for (Layer& layer : scenario.profile.own().layers) {
    layer.forward = awkward(layer.forward);
    layer.backward =
        random.below(4) == 0 ? Time(static_cast<std::int64_t>(random.below(2000))) : awkward(layer.backward);
  }
  scenario.profile.own().update = awkward(Time(0));
  return scenario;
}

struct Read {
  std::size_t slices = 0, lost = 0, overlaps = 0;
};

// As Perfetto reads: whole nanoseconds, cut; on a thread, a slice that starts within another and ends behind it is
// dropped. We have none that nest, either, but those of no length.
Read read_as_perfetto_does(const Json& json) {
  struct Slice {
    std::int64_t start, end;
  };
  std::map<std::pair<double, double>, std::vector<Slice>> threads;
  Read read;
  for (const Json& event : json.at("traceEvents").items()) {
    if (event.at("ph").text() != "X") continue;
    const auto start = static_cast<std::int64_t>(event.at("ts").number() * 1000),
               length = static_cast<std::int64_t>(event.at("dur").number() * 1000);
    threads[{event.at("pid").number(), event.at("tid").number()}].push_back({start, start + length});
    ++read.slices;
  }
  for (auto& [thread, slices] : threads) {
    std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
    std::vector<Slice> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back().end <= slice.start) open.pop_back();
      if (!open.empty() && slice.end > open.back().end) {
        ++read.lost;
        continue;
      }
      read.overlaps += !open.empty() && slice.end > slice.start;
      open.push_back(slice);
    }
  }
  return read;
}

}  // namespace

TEST_CASE("no slice of a timeline is lost by truncation to nanoseconds: every strategy, fidelity and step") {
  Random random(43, 0);
  std::size_t slices = 0;
  for (const Strategy& strategy : strategies())
    for (const char* fidelity : {"alpha-beta", "fluid", "message"})
      for (const std::int64_t accumulate : {1, 2}) {
        Scenario scenario = awkward_scenario(random, strategy.name);
        scenario.fidelity = fidelity;
        scenario.options.strategy.sharding.accumulate = accumulate;
        const bool groups = strategy.name == std::string_view("fsdp2") || strategy.name == std::string_view("megatron");
        if (groups && accumulate > 1) scenario.options.strategy.sharding.shard_group = 4;
        if (strategy.name == std::string_view("wfbp") && accumulate > 1) scenario.options.strategy.sharding.zero = 1;
        if (random.below(2) == 0) scenario.stragglers.slow = {{1, 1.234567}};
        INFO(strategy.name << " " << fidelity << " " << accumulate);
        const Outcome outcome = run(scenario);
        const Read read = read_as_perfetto_does(Json::parse(trace_events(outcome), "timeline"));
        CHECK(read.lost == 0);
        CHECK(read.overlaps == 0);
        slices += read.slices;
      }
  CHECK(slices > 4000);
}

TEST_CASE(
    "instants are written in whole nanoseconds, moved by less than five; an end that is a start stays equal to it") {
  Random random(44, 0);
  const Outcome outcome = run(awkward_scenario(random, "wfbp"));
  const std::string text = trace_events(outcome);
  const Json json = Json::parse(text, "timeline");
  std::set<std::int64_t> starts;  // of the bars on the compute stream, in picoseconds
  const Unrolled& unrolled = outcome.result.unrolled;
  const Episode& episode = outcome.result.episodes.back();
  for (std::size_t place = 0; place < unrolled.works(0); ++place)
    starts.insert((episode.start + episode.timeline.spans[unrolled.work(0, place)].start).count());
  for (const Json& event : json.at("traceEvents").items()) {
    if (event.at("ph").text() != "X") continue;
    for (const char* key : {"ts", "dur"}) {
      const double ns = event.at(key).number() * 1000;
      CHECK(std::abs(ns - std::round(ns)) < 1e-6);
    }
    if (event.at("pid").number() != 0) continue;
    const auto ps = std::llround(event.at("ts").number() * 1e6);
    const auto next = starts.lower_bound(ps);
    REQUIRE(next != starts.end());
    CHECK(*next - ps < 5000);
  }
  // No more than three digits behind the point.
  for (std::size_t at = text.find("\"ts\":"); at != std::string::npos; at = text.find("\"ts\":", at + 1)) {
    const std::size_t point = text.find('.', at), end = text.find_first_of(",}", at);
    REQUIRE(end - point == 4);
  }
}

namespace {

// The time that intervals cover, those that touch or overlap once.
double covered(std::vector<std::pair<double, double>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  double sum = 0, until = 0;
  for (const auto& [start, end] : intervals) {
    sum += std::max(0.0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return sum;
}

}  // namespace

TEST_CASE("HolisticTraceAnalysis finds computation, communication and their overlap") {
  // It takes a file for one rank, keeps events with a category and a duration, and of these the kernels: those with
  // args.stream. What is called nccl… communicates (older versions look for ncclKernel), Memcpy and Memset move memory,
  // all else computes. Starts are rounded up and ends down to whole microseconds.
  Random random(45, 0);
  for (const bool straggler : {false, true}) {
    Scenario scenario = scenario_of(random_profile(random, 10), "wfbp", 4, 50e-6, 1e-9);
    if (straggler) scenario.stragglers.slow = {{3, 1.5}};  // the second class, whose bars are not this rank's
    const Outcome outcome = run(scenario);
    const Json json = Json::parse(trace_events(outcome), "timeline");
    CHECK(json.at("distributedInfo").at("rank").number() == 0);
    std::vector<std::pair<double, double>> computing, communicating;
    std::set<double> correlations;
    for (const Json& event : json.at("traceEvents").items()) {
      if (!event.find("dur") || !event.find("cat")) continue;
      CHECK(event.at("cat").text() == "kernel");
      REQUIRE(event.at("args").at("stream").number() > 0);
      REQUIRE(correlations.insert(event.at("args").at("correlation").number()).second);
      const double start = event.at("ts").number(), end = start + event.at("dur").number();
      const bool communicates = event.at("name").text().starts_with("ncclKernel");
      (communicates ? communicating : computing).emplace_back(std::ceil(start), std::floor(end));
    }
    const Metrics& metrics = outcome.result.metrics;
    const auto rounding = 2 * static_cast<double>(computing.size() + communicating.size());
    CHECK(covered(computing) == Approx((metrics.forward_s + metrics.backward_s) * 1e6).margin(rounding));
    CHECK(covered(communicating) == Approx(metrics.comm_busy_s * 1e6).margin(rounding));
    std::vector<std::pair<double, double>> both = computing;
    both.insert(both.end(), communicating.begin(), communicating.end());
    const double overlap = covered(computing) + covered(communicating) - covered(both);
    CHECK(overlap <= covered(communicating));
    // Without stragglers all that is exposed is communication: while this worker waits, some block is in flight.
    if (!straggler) CHECK(overlap == Approx((metrics.comm_busy_s - metrics.exposed_comm_s) * 1e6).margin(2 * rounding));
  }
}

TEST_CASE("collectives inside layers are slices of their own, which readers recognise as communication") {
  Random random(47, 0);
  for (const std::int64_t pp : {1, 2}) {
    Profile profile = random_profile(random, 8);
    while (profile.layers.size() < 8) profile.layers.push_back(profile.layers.front());
    for (Layer& layer : profile.layers) {
      layer.forward += Time(50'000'000);
      layer.collectives = {{CollectiveOp::AllToAll, LayerCollective::Among::Expert, 3000, false},
                           {CollectiveOp::AllToAll, LayerCollective::Among::Expert, 3000, true},
                           {CollectiveOp::AllReduce, LayerCollective::Among::Tensor, 2000, false}};
    }
    profile.degrees = ProfileDegrees{.tp = 2};
    Scenario scenario = scenario_of(profile, "ddp", 8, 50e-6, 1e-9);
    scenario.options.parallel.tp = scenario.options.parallel.ep = 2;
    scenario.options.parallel.pp = pp;
    scenario.options.parallel.p2p_bytes = 1000;
    scenario.options.strategy.sharding.accumulate = 4;
    const Outcome outcome = run(scenario);
    double exchange_s = 0, other_s = 0, computes_s = 0;
    for (const StageResult& stage : outcome.result.parallel->stages) {
      exchange_s += pp > 1 ? stage.exchange_s : outcome.result.parallel->exposed_ep_s;
      other_s += stage.layer_comm_s;
      computes_s += stage.compute_s;
    }
    other_s -= exchange_s;
    REQUIRE(other_s > 0);
    std::map<std::string, double> lengths;  // by activity, on compute streams
    const Json json = Json::parse(trace_events(outcome), "timeline");
    for (const Json& event : json.at("traceEvents").items()) {
      if (event.at("ph").text() != "X" || event.at("pid").number() >= static_cast<double>(pp)) continue;
      if (event.at("args").find("chunk")) continue;  // a pass, around its layers
      const std::string activity = event.at("args").at("activity").text(), name = event.at("name").text();
      const bool inside = activity == "token exchange" || activity == "tp or cp collective";
      CHECK(name.starts_with("ncclKernel_") == inside);
      if (inside) CHECK(event.at("args").at("bytes").number() == (activity == "token exchange" ? 3000 : 2000));
      lengths[activity] += event.at("dur").number() * 1e-6;
    }
    CHECK(lengths["token exchange"] == Approx(exchange_s).epsilon(1e-3));
    CHECK(lengths["tp or cp collective"] == Approx(other_s).epsilon(1e-3));
    CHECK(lengths["forward"] + lengths["backward"] == Approx(computes_s).epsilon(1e-3));
  }
}

TEST_CASE("a pipeline has a process per rank, with passes around their layers, sends between, and memory") {
  Random random(46, 0);
  for (const char* schedule : {"1f1b", "interleaved", "zbv"}) {
    Profile profile = random_profile(random, 12);
    while (profile.layers.size() < 8) profile.layers.push_back(profile.layers.front());
    for (Layer& layer : profile.layers) {
      layer.forward += Time(1'000'000);  // a slice each
      layer.activation_bytes = 1'000'000;
    }
    Scenario scenario = scenario_of(profile, "ddp", 8, 50e-6, 1e-9);
    scenario.options.parallel.pp = 4;
    scenario.options.parallel.schedule = schedule;
    scenario.options.parallel.p2p_bytes = 1000;
    scenario.options.strategy.sharding.accumulate = 4;
    const Outcome outcome = run(scenario);
    const std::size_t chunks = outcome.result.parallel->stages[0].chunks.size();
    const Json json = Json::parse(trace_events(outcome), "timeline");
    struct Slice {
      double start, end, micro_batch;
      std::string activity;
    };
    std::map<double, std::vector<Slice>> passes, layers;  // by process
    std::map<double, std::string> processes;
    std::set<double> with_memory, awaiting;
    std::size_t forwards = 0, sends = 0;
    for (const Json& event : json.at("traceEvents").items()) {
      const std::string phase = event.at("ph").text(), name = event.at("name").text();
      const double process = event.at("pid").number();
      if (name == "process_name") processes[process] = event.at("args").at("name").text();
      if (phase == "C" && name == "memory") with_memory.insert(process);
      if (phase == "f" && name == "needed") awaiting.insert(process);
      if (phase != "X") continue;
      const Json& args = event.at("args");
      const std::string activity = args.at("activity").text();
      if (activity == "send") {
        ++sends;
        CHECK(args.at("from").number() != args.at("to").number());
      }
      if (process == 4) continue;  // the network
      const double start = event.at("ts").number();
      const Slice slice{start, start + event.at("dur").number(), args.at("micro_batch").number(), activity};
      if (args.find("chunk")) {
        CHECK_FALSE(event.find("cat"));  // readers of kernels would count it twice
        passes[process].push_back(slice);
        forwards += activity == "forward";
      } else {
        layers[process].push_back(slice);
      }
    }
    for (int rank = 0; rank < 4; ++rank) CHECK(processes[rank] == "rank " + std::to_string(rank));
    CHECK(with_memory == std::set<double>{0, 1, 2, 3});
    CHECK(awaiting == std::set<double>{0, 1, 2, 3});  // each rank waits for some send
    CHECK(forwards == 4 * chunks * 4);
    // To each cut between ranks, there and back; on a V its middle is on one rank.
    const std::size_t cuts = 4 * chunks - 1 - (schedule == std::string("zbv") ? 1 : 0);
    CHECK(sends == 2 * 4 * cuts);
    for (const auto& [process, all] : layers)
      for (const Slice& layer : all)
        CHECK(std::count_if(passes[process].begin(), passes[process].end(), [&](const Slice& pass) {
                return pass.start <= layer.start + 1e-9 && layer.end <= pass.end + 1e-9 &&
                       pass.micro_batch == layer.micro_batch && pass.activity == layer.activity;
              }) >= 1);
    CHECK(read_as_perfetto_does(json).lost == 0);
  }
}
