#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <regex>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/import_text.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/formats/interchange/chakra/trace.hpp"
#include "sim/formats/interchange/exporters/exporter.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace {

// A realistic profile: times to the picosecond, names with blanks, commas and quotes, gradients of two bytes, and all
// optional values of a trace.
Profile awkward_profile(Random& random) {
  Profile profile = random_profile(random, 12);
  const bool half = random.below(3) == 0;
  profile.precision = half ? "bf16" : "fp32";
  profile.device = "a GPU";
  profile.framework = "PyTorch 2";
  profile.batch_size = 1 + static_cast<std::int64_t>(random.below(64));
  for (Layer& layer : profile.layers) {
    if (random.below(2) == 0) layer.name += " \"x\", (3; 3)_BWD";
    if (random.below(2) == 0) layer.forward += Time(static_cast<std::int64_t>(random.below(1'000'000)));
    if (random.below(2) == 0) layer.backward += Time(static_cast<std::int64_t>(random.below(1'000'000)));
  }
  for (Tensor& tensor : profile.tensors) {
    tensor.bytes = tensor.elements * (half ? 2 : 4);
    if (random.below(2) == 0) tensor.shape = {1, tensor.elements};
  }
  if (random.below(2) == 0) profile.tokens_per_sample = 1 + static_cast<std::int64_t>(random.below(8192));
  if (random.below(2) == 0) profile.flops_per_sample = 1e9 * (1 + static_cast<double>(random.below(1000)));
  if (random.below(2) == 0) profile.recompute = random.below(2) == 0 ? "full" : "selective";
  if (random.below(2) == 0) profile.update = Time(static_cast<std::int64_t>(random.below(1'000'000'000'000)));
  const bool groups = random.below(2) == 0, activations = random.below(2) == 0;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    if (groups && random.below(4) > 0) profile.layers[i].group = fmt::format("a \"group\", {}", i / 3);
    if (activations && random.below(4) > 0)
      profile.layers[i].activation_bytes = static_cast<Bytes>(random.below(1'000'000'000'000));
  }
  return profile;
}

// Random merges, in the order of the backward pass.
BucketSchedule random_draft(const Profile& profile, Random& random) {
  const auto list = gradients(profile);
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= list.size(); ++i)
    if (i == list.size() || random.below(2) == 0) ends.push_back(i);
  BucketSchedule plan = merge("some", list, ends);
  plan.barrier = random.below(2) == 0 ? Barrier::Iteration : Barrier::Layer;
  plan.order = static_cast<Order>(random.below(3));
  plan.split = random.below(4) == 0;
  plan.release = random.below(4) == 0 ? Release::Backward : Release::Layer;
  return plan;
}

ImportOptions lacking(const Profile& profile) {
  ImportOptions options;
  options.batch_size = profile.batch_size;
  options.precision = profile.precision;
  return options;
}

// A note names the keys that a table has no column for, and nothing else.
void check_left_out(const Exported& exported, const Profile& profile) {
  CHECK(std::any_of(exported.notes.begin(), exported.notes.end(), [](const std::string& note) {
          return note.find("activation_bytes") != note.npos;
        }) == profile.has_activations());
}

void check_layers(const Profile& back, const Profile& profile) {
  REQUIRE(back.layers.size() == profile.layers.size());
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    CHECK(back.layers[i].name == profile.layers[i].name);
    CHECK(back.layers[i].forward == profile.layers[i].forward);
    CHECK(back.layers[i].backward == profile.layers[i].backward);
  }
}

// Names of tensors are a table's own, and times and sizes the profile's.
void check_table(const Profile& table, const Profile& profile) {
  CHECK(table.update == profile.update);
  REQUIRE(table.tensors.size() == profile.tensors.size());
  for (std::size_t i = 0; i < profile.tensors.size(); ++i) {
    CHECK(table.tensors[i].layer == profile.tensors[i].layer);
    CHECK(table.tensors[i].bytes == profile.tensors[i].bytes);
    CHECK(shape_of(table.tensors[i]) == shape_of(profile.tensors[i]));
  }
  for (std::size_t i = 0; i < profile.layers.size(); ++i) CHECK(table.layers[i].group == profile.layers[i].group);
}

Exported written(const std::string& format, const ExportRequest& request) {
  return find_exporter(format, {"test", ""}).write(request);
}

}  // namespace

TEST_CASE("Chakra exports are read back completely, under any plan") {
  Random random(3, 0);
  for (int round = 0; round < 200; ++round) {
    const Profile profile = awkward_profile(random);
    const Plan plan = expand(random_draft(profile, random), profile);
    for (const std::string format : {"chakra", "chakra-json"}) {
      const Exported exported = written(format, {profile, round % 2 == 0 ? &plan : nullptr, 4});
      const Profile back = import_text(format, exported.text, {}).profile;  // no further option is needed
      check_layers(back, profile);
      for (std::size_t i = 0; i < profile.layers.size(); ++i) {
        CHECK(back.layers[i].group == profile.layers[i].group);
        CHECK(back.layers[i].activation_bytes == profile.layers[i].activation_bytes);
      }
      CHECK(back.update == profile.update);
      CHECK(back.tokens_per_sample == profile.tokens_per_sample);
      CHECK(back.flops_per_sample == profile.flops_per_sample);
      CHECK(back.recompute == profile.recompute);
      CHECK(back.framework == profile.framework);
      REQUIRE(back.tensors.size() == profile.tensors.size());
      for (std::size_t i = 0; i < profile.tensors.size(); ++i) {
        CHECK(back.tensors[i].name == profile.tensors[i].name);
        CHECK(back.tensors[i].elements == profile.tensors[i].elements);
        CHECK(back.tensors[i].bytes == profile.tensors[i].bytes);
        CHECK(back.tensors[i].layer == profile.tensors[i].layer);
      }
      CHECK(back.batch_size == profile.batch_size);
      CHECK(back.precision == profile.precision);
      CHECK(back.device == profile.device);
    }
  }
}

TEST_CASE("tables are read back unchanged") {
  Random random(4, 0);
  for (int round = 0; round < 200; ++round) {
    const Profile profile = awkward_profile(random);
    const Exported exported = written("csv", {profile});
    const Profile table = import_text("csv", exported.text, lacking(profile)).profile;
    check_left_out(exported, profile);
    check_layers(table, profile);
    check_table(table, profile);
  }
}

TEST_CASE("picoseconds are ignored if the time next to them was edited") {
  Profile profile;
  profile.precision = "fp32";
  profile.layers = {{"a", Time(2'400'000), to_time(3e-6)}};
  profile.tensors = {{"t", 10, 40, 0}};
  std::string text = written("chakra-json", {profile}).text;
  const auto forward = [&] { return import_text("chakra-json", text).profile.forward(); };
  CHECK(forward() == Time(2'400'000));
  const std::regex whole("\"runtime\": ?2\\b");
  REQUIRE(std::regex_search(text, whole));
  text = std::regex_replace(text, whole, "\"runtime\": 4");
  CHECK(forward() == to_time(4e-6));
}

TEST_CASE("negative activation sizes are refused") {
  Profile profile;
  profile.precision = "fp32";
  profile.layers = {{"a", to_time(2e-6), to_time(3e-6)}};
  profile.layers[0].activation_bytes = 12345;
  profile.tensors = {{"t", 10, 40, 0}};
  std::string text = written("chakra-json", {profile}).text;
  const std::size_t at = text.find("12345");
  REQUIRE(at != std::string::npos);
  CHECK(import_text("chakra-json", text).profile.layers[0].activation_bytes == 12345);
  text.insert(at, "-");
  CHECK_THROWS_AS(import_text("chakra-json", text), InputError);
}

namespace {

// When each node ends if collectives take as long as `cost` says and nothing but dependencies holds a node back.
std::int64_t makespan_us(const ChakraTrace& trace, const std::function<std::int64_t(std::int64_t)>& cost) {
  std::map<std::uint64_t, std::int64_t> end;
  std::int64_t last = 0;
  for (const ChakraNode& node : trace.nodes) {  // they wait for earlier ones of the file only
    std::int64_t start = 0;
    for (const std::uint64_t id : node.data_dependencies) {
      REQUIRE(end.contains(id));
      start = std::max(start, end[id]);
    }
    const auto bytes = attribute<std::int64_t>(node.attributes, "comm_size");
    end[node.id] = start + (bytes ? cost(*bytes) : static_cast<std::int64_t>(node.microseconds));
    last = std::max(last, end[node.id]);
  }
  return last;
}

}  // namespace

TEST_CASE("a Chakra export is an iteration: a simple replay of it takes the simulated time") {
  Random random(5, 0);
  for (int round = 0; round < 100; ++round) {
    // A ring of two: T(M) = 2·50 us + M·1 us.
    const Scenario scenario = scenario_of(random_profile(random, 10), "wfbp", 2, 50e-6, 1e-6);
    BucketSchedule schedule = random_draft(scenario.profile, random);
    schedule.split = false;
    if (schedule.order == Order::Priority) schedule.order = Order::FirstReady;
    const Plan plan = expand(std::move(schedule), scenario.profile);
    const ChakraTrace trace = decode_chakra(export_chakra({scenario.profile, &plan, 2}).text, "file");
    const double simulated = simulate(scenario, plan).metrics.iteration_s;
    CHECK(static_cast<double>(makespan_us(trace, [](std::int64_t bytes) { return 100 + bytes; })) * 1e-6 ==
          Approx(simulated).epsilon(1e-12));
  }
}

namespace {

// A worker's time according to a Chakra trace, with each collective as long as in isolation: the longest path.
double longest_path(const Json& json, const Scenario& scenario) {
  const Job on = job_of(scenario);
  const std::vector<NamedGroup> families = data_parallel_groups(scenario.options.strategy.sharding);
  std::map<std::int64_t, double> ends;
  double last = 0;
  for (const Json& node : json.at("workload_graph").items()) {
    double start = 0;
    for (const Json& one : node.at("data_deps").items()) {
      const std::int64_t before = one.integer(0, 1'000'000);
      REQUIRE(ends.contains(before));  // what a node waits for stands before it
      start = std::max(start, ends[before]);
    }
    double time = 0;
    if (node.find("comm_type")) {
      const std::int64_t type = node.at("comm_type").integer(0, 10);
      const CollectiveOp op = type == 2   ? CollectiveOp::AllGather
                              : type == 7 ? CollectiveOp::ReduceScatter
                                          : CollectiveOp::AllReduce;
      // Worker 0's: its shard group, and behind all of those the first of equal place.
      const Group shard = families[group_shard].group.of(scenario.workers);
      const std::string replicas = std::to_string(1 + shard.repeats);
      const bool replica = node.find("pg_name") && node.at("pg_name").text() == replicas;
      const Group group = families[replica                         ? group_replica
                                   : op == CollectiveOp::AllReduce ? group_all
                                                                   : group_shard]
                              .group.of(scenario.workers);
      Bytes bytes = node.at("comm_size").integer(0, 1'000'000'000'000);
      // comm_size is one worker's share; prices are of the whole
      if (op == CollectiveOp::AllGather) bytes *= group.ranks;
      time = group.ranks > 1 ? to_seconds(on.fabric->price({op, group})(bytes)) : 0;
    } else {
      time = 1e-12 * static_cast<double>(node.at("duration_ps").integer(0, 1'000'000'000'000'000));
    }
    const double end = ends[node.at("Id").integer(0, 1'000'000)] = start + time;
    last = std::max(last, end);
  }
  return last;
}

}  // namespace

TEST_CASE("which lane of a sharded step is listed first does not matter") {
  Random random(9, 0);
  for (const char* name : {"fsdp2", "fsdp1", "megatron", "wfbp"}) {
    INFO(name);
    Scenario scenario = scenario_of(random_profile(random, 8), name, 8, 10e-6, 1e-9);
    scenario.options.strategy.sharding.shard_group = 4;
    if (name == std::string_view("wfbp")) scenario.options.strategy.sharding.zero = 1;
    Plan plan = plan_of(scenario);
    const auto longest = [&] {
      const ChakraTrace trace = decode_chakra(written("chakra", {scenario.profile, &plan, 8}).text, "trace");
      return makespan_us(trace, [](std::int64_t bytes) { return 100 + bytes / 1000; });
    };
    const std::int64_t as_planned = longest();
    std::reverse(plan.lanes.begin(), plan.lanes.end());
    for (Transfer& one : plan.transfers) one.lane = static_cast<std::uint32_t>(plan.lanes.size()) - 1 - one.lane;
    CHECK(longest() == as_planned);
  }
}

TEST_CASE("with one lane at a time, the longest path through a sharded step's Chakra trace is the iteration") {
  Random random(6, 0);
  for (int round = 0; round < 40; ++round)
    for (const char* name : {"fsdp2", "fsdp1", "zero-1", "megatron", "wfbp"}) {
      Scenario scenario = scenario_of(random_profile(random, 8), name, 4, 10e-6, 1e-9);
      scenario.profile.own().update = to_time(static_cast<double>(random.below(1000)) * 1e-6);
      StrategyOptions& options = scenario.options.strategy;
      options.sharding.accumulate = static_cast<std::int64_t>(1 + random.below(3));
      options.zero.reduce_bucket = options.megatron.bucket_size = 200'000;
      options.fsdp.copy = 1e9;
      if (name == std::string_view("megatron")) options.megatron.distributed_optimizer = false;  // else a second lane
      INFO(name << " round " << round);
      const Result result = simulate(scenario);
      const Exported exported = written("chakra-json", {scenario.profile, &result.plan, scenario.workers});
      const double path = longest_path(Json::parse(exported.text, "trace"), scenario);
      REQUIRE(path == Approx(result.metrics.iteration_s).margin(1e-9));
    }
}

TEST_CASE("a sharded step's Chakra trace sends every byte, in the right groups") {
  Random random(7, 0);
  for (int round = 0; round < 20; ++round)
    for (const char* name : {"fsdp2", "fsdp1", "megatron", "wfbp", "zero-3"}) {
      Scenario scenario = scenario_of(random_profile(random, 8), name, 8, 10e-6, 1e-9);
      StrategyOptions& options = scenario.options.strategy;
      const bool groups = name != std::string_view("zero-3") && random.below(2) == 0;
      if (groups) options.sharding.shard_group = 4;
      if (name == std::string_view("wfbp")) options.sharding.zero = 1;
      const Plan plan = plan_of(scenario);
      const ChakraTrace trace = decode_chakra(written("chakra", {scenario.profile, &plan, 8}).text, "trace");
      Bytes scattered = 0, summed = 0;
      std::size_t collectives = 0;
      for (const ChakraNode& node : trace.nodes) {
        const auto type = attribute<std::int64_t>(node.attributes, "comm_type");
        if (!type) continue;
        ++collectives;
        const Bytes bytes = *attribute<std::int64_t>(node.attributes, "comm_size");
        const auto group = attribute<std::string>(node.attributes, "pg_name");
        CHECK(group.has_value() == groups);
        if (*type == static_cast<std::int64_t>(ChakraCollective::ReduceScatter)) scattered += bytes;
        if (*type == static_cast<std::int64_t>(ChakraCollective::AllReduce)) {
          CHECK(group == "3");  // behind the two shard groups of four
          summed += bytes;
        }
      }
      INFO(name);
      CHECK(collectives == plan.transfers.size());
      CHECK(scattered == scenario.profile->bytes());
      if (groups) CHECK(summed == scenario.profile->bytes() / 4);
      CHECK(attribute<std::int64_t>(trace.metadata, "shard_group") == (groups ? 4 : 8));
      CHECK(written("chakra", {scenario.profile, &plan, 8}).groups ==
            (groups
                 ? "{\"1\": [0, 1, 2, 3],\n \"2\": [4, 5, 6, 7],\n \"3\": [0, 4],\n \"4\": [1, 5],\n \"5\": [2, 6],\n "
                   "\"6\": [3, 7]}\n"
                 : ""));
    }
}

TEST_CASE("the lowest ids are the compute stream's, then transfers' as a queue by priority would start them") {
  Random random(8, 0);
  for (int round = 0; round < 20; ++round)
    for (const char* name : {"dear", "p3", "bytescheduler"}) {
      const Scenario scenario = scenario_of(random_profile(random, 8), name, 4, 10e-6, 1e-9);
      const Plan plan = plan_of(scenario);
      const ChakraTrace trace = decode_chakra(written("chakra", {scenario.profile, &plan, 4}).text, "trace");
      std::map<std::uint64_t, const ChakraNode*> collectives;  // by id
      for (const ChakraNode& node : trace.nodes)
        if (node.kind == static_cast<std::uint64_t>(ChakraKind::Collective))
          collectives[node.id] = &node;
        else
          CHECK(node.id < plan.program().size());
      REQUIRE(collectives.size() == plan.transfers.size());
      // By priority; reduce-scatters have the smaller ones. comm_priority, of which the largest goes first, falls by
      // one.
      std::vector<std::size_t> order(plan.transfers.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return plan.transfers[a].priority < plan.transfers[b].priority;
      });
      auto left = static_cast<std::int64_t>(order.size());
      auto next = order.begin();
      for (const auto& [id, node] : collectives) {
        CHECK(id >= plan.program().size());
        CHECK(attribute<std::int64_t>(node->attributes, "comm_priority") == left--);
        CHECK(node->name.find(describe(plan, plan.transfers[*next++].payload.block, scenario.profile)) !=
              std::string::npos);
      }
    }
}
