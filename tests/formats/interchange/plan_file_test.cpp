// Plans as files: what is written is read back, in either form.
#include "sim/formats/interchange/plan_file.hpp"

#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/base/core/file.hpp"
#include "sim/plans/schedule/gradients.hpp"

using namespace allreplay;

namespace plan_file_test {

namespace {

struct File {
  std::string name =
      (std::filesystem::temp_directory_path() / ("plan_" + std::to_string(::getpid()) + ".json")).string();
  ~File() { std::filesystem::remove(name); }
  Plan read(const std::string& text, const Profile& profile) const {
    Files().write(name, text);
    return read_plan(Files(), name, profile);
  }
  std::string complaint(const std::string& text, const Profile& profile) const {
    const std::string all = error_place([&] { read(text, profile); });
    return all.starts_with(name + ": ") ? all.substr(name.size() + 2) : all == name ? "the file" : all;
  }
};

Profile two_layers() {
  Profile profile;
  for (const char* name : {"a", "b"}) profile.layers.push_back({name, Time(1), Time(2)});
  profile.tensors = {{"a.w", 10, 40, 0}, {"b.w", 5, 20, 1}};
  return profile;
}

const std::string both = R"({"slices": ["b.w"]}, {"slices": ["a.w"]})";

}  // namespace

TEST_CASE("a written plan is read back, with and without its short form") {
  Random random(81, 0);
  const File file;
  for (int round = 0; round < 100; ++round) {
    Profile profile = random_profile(random, 10);
    if (random.below(2) == 0) profile.update = Time(1000);
    const auto list = gradients(profile);
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i <= list.size(); ++i)
      if (i == list.size() || random.below(2) == 0) ends.push_back(i);
    BucketSchedule schedule = merge("some", list, ends);
    schedule.order = static_cast<Order>(random.below(3));
    schedule.barrier = static_cast<Barrier>(random.below(2));
    schedule.release = static_cast<Release>(random.below(2));
    schedule.split = random.below(2) == 0;
    if (random.below(3) == 0) schedule.tick = Time(static_cast<std::int64_t>(1 + random.below(1'000'000'000)));
    if (schedule.tick > Time(0)) schedule.blocks.back().tick = static_cast<std::uint32_t>(random.below(100));
    if (random.below(2) == 0) schedule.window = {.count = Window::unlimited, .bytes = 12345};
    Plan plan = expand(schedule, profile);
    if (random.below(2) == 0) plan.queueing.reset();
    const Plan back = file.read(write_plan(plan, profile), profile);
    CHECK(back.strategy == "some");
    CHECK(back.queueing.has_value() == plan.queueing.has_value());
    CHECK(back.transfers == plan.transfers);
    CHECK(back.lanes == plan.lanes);
    CHECK(back.program() == plan.program());
    CHECK(write_plan(back, profile) == write_plan(plan, profile));
  }
}

TEST_CASE("plans with quantising, averages and matrices are read back") {
  Profile profile;
  profile.precision = "fp16";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({fmt::format("h.{}", layer), Time(1), Time(2), fmt::format("h.{}", layer)});
    profile.tensors.push_back({fmt::format("t{}", layer), 32'000, 64'000, layer, {160, 200}, 1, Time(5)});
  }
  using Options = std::vector<std::pair<const char*, const char*>>;
  const File file;
  for (const auto& [strategy, options] :
       {std::pair("zero-3",
                  Options{{"qwz", "true"}, {"quantise", "1 GB/s"}, {"persistence", "0"}, {"accumulate", "2"}}),
        {"zero-3", {{"hpz", "2"}, {"qwz", "true"}, {"quantise", "1 GB/s"}, {"persistence", "0"}, {"max_reuse", "0"}}},
        {"zero-3", {{"qwz", "true"}, {"quantise", "1 GB/s"}, {"persistence", "0"}, {"max_reuse", "1000000"}}},
        {"diloco", {{"sync_every", "6"}, {"fragments", "3"}, {"delay", "1"}, {"quantize", "true"}}},
        {"megatron-fsdp", {{"shard_group", "2"}, {"outer", "optim"}}},
        {"fsdp2", {{"optimizer", "muon"}, {"muon", "owned"}}},
        {"fsdp2", {{"optimizer", "muon"}, {"muon", "all-to-all"}}}}) {
    Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-9);
    for (const auto& [name, value] : options) scenario.options.set(name, value, {});
    const Plan plan = plan_of(scenario);
    INFO(strategy << ' ' << options.back().first);
    Files().write(file.name, write_plan(plan, profile));
    const Plan back = read_plan(Files(), file.name, profile, 4);
    CHECK(write_plan(back, profile) == write_plan(plan, profile));
    CHECK(back.program() == plan.program());
    CHECK(std::set(back.gates.begin(), back.gates.end()) == std::set(plan.gates.begin(), plan.gates.end()));
  }
}

TEST_CASE("host steps are not written, and places of pairs do not count them") {
  Profile profile;
  for (LayerId layer = 0; layer < 8; ++layer) {
    profile.layers.push_back({.name = fmt::format("l{}", layer), .forward = Time(1), .backward = Time(2)});
    profile.layers.back().output_bytes = 0;
    profile.layers.back().expert = layer % 2 == 1;
    profile.tensors.push_back({fmt::format("t{}", layer), 10, 40, layer});
  }
  profile.update = Time(1);
  Scenario scenario = scenario_of(profile, "wfbp", 4, 1e-6, 1e-9);
  for (const auto& [name, value] :
       {std::pair("pp", "2"), {"accumulate", "4"}, {"schedule", "interleaved"}, {"ep_overlap", "true"}})
    scenario.options.set(name, value, {});
  scenario.options.parallel.ep = scenario.options.strategy.sharding.experts = 2;
  const Plan plan = plan_of(scenario), with_host = with_host_step(plan);
  REQUIRE(!plan.roles.front().pairs.empty());
  REQUIRE(with_host.roles.front().pairs != plan.roles.front().pairs);
  CHECK(write_plan(with_host, profile) == write_plan(plan, profile));
}

TEST_CASE("a plan's units of layers are read back, and are every layer in order") {
  Random random(83, 0);
  const File file;
  for (int round = 0; round < 20; ++round) {
    const Profile profile = random_profile(random, 10);
    const Plan plan = plan_of(scenario_of(profile, round % 2 == 0 ? "fsdp1" : "fsdp2", 4, 1e-5, 1e-9));
    const std::string text = write_plan(plan, profile);
    CHECK(file.read(text, profile).memory_policy == plan.memory_policy);
    if (plan.memory_policy.units.size() < 3) continue;
    const std::regex unit(R"(\{\s*"first"[^}]*\},?)");
    auto second = std::sregex_iterator(text.begin(), text.end(), unit);
    ++second;
    const std::string without = text.substr(0, static_cast<std::size_t>(second->position())) + second->suffix().str();
    CHECK(file.complaint(without, profile) == "/holding/units/1");
  }
}

TEST_CASE("layers and tensors of a plan are named, or numbered if several share a name") {
  Profile profile = two_layers();
  const auto words = [&](const std::string& part) {
    const auto list = gradients(profile);
    BucketSchedule schedule = merge("some", list, std::vector<std::size_t>{1, 2});
    Plan plan = expand(schedule, profile);
    plan.queueing.reset();
    const std::string text = write_plan(plan, profile);
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(words(R"("b.w")"));
  CHECK(words(R"("backward": "b")"));
  for (Layer& layer : profile.layers) layer.name = "same";
  CHECK(words(R"("backward": 1)"));
  CHECK_FALSE(words("same"));
}

TEST_CASE("a few hand-written lines are a plan") {
  const File file;
  const Plan plan = file.read(R"({"blocks": [)" + both + "]}", two_layers());
  CHECK(plan.strategy == std::filesystem::path(file.name).stem().string());
  CHECK(plan.transfers.size() == 2);
  CHECK(plan.blocks[0].bytes() == 20);
  CHECK(plan.queueing->barrier == Barrier::Iteration);
  // Two lanes: what version 1 could not say.
  const Plan lanes = file.read(R"({"strategy": "mine", "blocks": [)" + both + R"(],
    "lanes": [{"name": "one"}, {"name": "two", "order": "as-listed", "window": {"blocks": 2}}],
    "transfers": [{"op": "reduce-scatter", "block": 0, "lane": "one", "after": [{"backward": "b"}]},
                  {"op": "all-gather", "block": 0, "lane": "two", "after": [{"transfer": 0}], "before": [{"forward": "b"}]},
                  {"op": "all-reduce", "block": 1, "lane": "one", "after": [{"backward": "a"}], "before": [{"forward": "a"}]}]})",
                               two_layers());
  CHECK(lanes.lanes.size() == 2);
  CHECK(lanes.transfers[1].lane == 1);
  // A gate from the last transfer that is listed.
  const Plan last = file.read(R"({"strategy": "mine", "blocks": [)" + both + R"(],
    "transfers": [{"op": "all-gather", "block": 0, "after": [{"transfer": 2}], "before": [{"forward": "b"}]},
                  {"op": "all-reduce", "block": 1, "after": [{"backward": "a"}], "before": [{"forward": "a"}]},
                  {"op": "reduce-scatter", "block": 0, "after": [{"backward": "b"}]}]})",
                              two_layers());
  CHECK(last.transfers[2].op == CollectiveOp::ReduceScatter);
  CHECK_FALSE(lanes.queueing);
}

TEST_CASE("whole numbers of a plan are read exactly, up to documented limits") {
  const File file;
  const Profile profile = two_layers();
  const auto plan = [](const std::string& priority, const std::string& window) {
    return fmt::format(R"({{"order": "priority", "window": {}, "blocks": [
      {{"slices": ["b.w"], "priority": {}}}, {{"slices": ["a.w"]}}]}})",
                       window, priority);
  };
  const Plan last = file.read(plan("9223372036854775807", R"({"blocks": 9223372036854775807})"), profile);
  CHECK(last.blocks[0].priority == std::numeric_limits<std::int64_t>::max());
  CHECK(last.queueing->window.count == Window::unlimited);
  CHECK(file.read(plan("-9223372036854775808", R"({"bytes": 9007199254740993})"), profile).queueing->window.bytes ==
        9'007'199'254'740'993);
  CHECK(file.complaint(plan("9223372036854775808", R"({"blocks": 1})"), profile) == "/blocks/0/priority");
  for (const std::string count : {"0", "9223372036854775808", "1.5"})
    CHECK(file.complaint(plan("0", R"({"blocks": )" + count + "}"), profile) == "/window/blocks");
  CHECK(file.complaint(R"({"strategy": "held", "blocks": [)" + both + R"(], "holding": {"reduce_buffer": 1e15},
    "transfers": []})",
                       profile) == "/holding/reduce_buffer");
}

TEST_CASE("an impossible plan is refused in one line, with the place") {
  const File file;
  const Profile profile = two_layers();
  CHECK(file.complaint(R"({"blocks": [{"slices": ["a.w"]}]})", profile) == "the file");
  CHECK(file.complaint(R"({"blocks": [{"slices": ["a.v"]}]})", profile) == "/blocks/0/slices/0");
  CHECK(file.complaint(R"({"blocks": [{"slices": [{"tensor": "a.w", "offset": 40}]}]})", profile) ==
        "/blocks/0/slices/0/offset");
  CHECK(file.complaint(R"({"order": "random", "blocks": []})", profile) == "/order");
  CHECK(file.complaint(R"({"tick": "0 ms", "blocks": []})", profile) == "/tick");
  CHECK(file.complaint(R"({"lanes": [], "blocks": []})", profile) == "/lanes");
  CHECK(file.complaint(R"({"blocks": []})", profile) == "/blocks");
  for (const char* name : {R"(a\nb)", "=1+1", "@x"})
    CHECK(file.complaint(fmt::format(R"({{"strategy": "{}", "blocks": []}})", name), profile) == "/strategy");
  CHECK(file.complaint(R"({"strategy": "", "blocks": []})", profile) == "/strategy");
  CHECK(file.complaint(
            R"({"strategy": "stuck", "blocks": [)" + both + R"(], "lanes": [{"name": "one", "order": "as-listed"}],
    "transfers": [{"op": "all-gather", "block": 0, "after": [{"transfer": 1}], "before": [{"forward": "b"}]},
                  {"op": "reduce-scatter", "block": 0, "after": [{"backward": "b"}]},
                  {"op": "all-reduce", "block": 1, "after": [{"backward": "a"}], "before": [{"forward": "a"}]}]})",
            profile) == "the file");
  const std::string start = R"({"blocks": [)" + both + R"(], "transfers": [)";
  CHECK(file.complaint(start + R"({"op": "broadcast", "block": 0}]})", profile) == "/transfers/0/op");
  CHECK(file.complaint(start + R"({"op": "all-reduce", "block": 2}]})", profile) == "/transfers/0/block");
  CHECK(file.complaint(start + R"({"op": "all-reduce", "block": 0, "lane": "fast"}]})", profile) ==
        "/transfers/0/lane");
  CHECK(file.complaint(start + R"({"op": "all-reduce", "block": 0, "after": [{"backward": "c"}]}]})", profile) ==
        "/transfers/0/after/0/backward");
  CHECK(file.complaint(R"({"order": "priority", "blocks": [)" + both + R"(], "transfers": [
      {"op": "all-reduce", "block": 0, "after": [{"backward": "b"}], "before": [{"forward": "a"}]},
      {"op": "all-reduce", "block": 1, "after": [{"backward": "a"}], "before": [{"forward": "a"}]}]})",
                       profile) == "/transfers");
}

TEST_CASE("a plan that would fill the memory is refused before it does") {
  const File file;
  // Three layers: 2 · 3 · 1,333,333 passes are just below eight million.
  Profile profile = two_layers();
  profile.layers.push_back({"c", Time(1), Time(2)});
  CHECK(file.complaint(R"({"step": {"accumulate": 1333334}, "blocks": [)" + both + "]}", profile) ==
        "/step/accumulate");
  std::string lanes;
  for (int i = 0; i <= 1000; ++i) lanes += fmt::format(R"({}{{"name": "{}"}})", i > 0 ? "," : "", i);
  CHECK(file.complaint(R"({"blocks": [)" + both + R"(], "lanes": [)" + lanes + R"(], "transfers": []})", profile) ==
        "/lanes");
}

}  // namespace plan_file_test
