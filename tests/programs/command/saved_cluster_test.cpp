// A changed cluster that `topology --cluster-out` saved gives the results of the flags, to the bit.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "tests/catch.hpp"

#include "sim/base/core/error.hpp"
#include "sim/base/core/text.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

using namespace allreplay;

namespace {

using Words = std::vector<std::string>;

constexpr const char* saved = "saved.json";

Context context_with(const std::string& file) {
  Context context{{Files({ALLREPLAY_SOURCE_DIR})}, Console(true)};
  context.inputs.files.add(saved, file);
  context.inputs.files.add("tiny.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,100000,30,40\n");
  return context;
}

// Runs the words; returns the error, or "".
std::string error_of(const Words& words, Context& context) {
  try {
    run_words(words, context);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

// The file that these flags give; none if the cluster cannot have them.
std::optional<std::string> file_with(const Words& cluster, const Words& flags, const std::string& before = "") {
  Context context = context_with(before);
  Words words{"topology", fmt::format("--cluster-out={}", saved)};
  words.insert(words.end(), cluster.begin(), cluster.end());
  words.insert(words.end(), flags.begin(), flags.end());
  if (!error_of(words, context).empty()) return std::nullopt;
  return context.inputs.files.text(saved);
}

// The text without the times that the simulation took.
std::string untimed(const std::string& text) {
  std::string rest;
  for (const std::string_view line : split(text, "\n"))
    if (line.find("wall_s") == std::string_view::npos) rest += fmt::format("{}\n", line);
  return rest;
}

// The JSON of a run, or its error.
std::string run_with(Words flags, const std::string& file) {
  Context context = context_with(file);
  flags.insert(flags.begin(), {"run", "--profile=tiny.csv", "--strategy=ddp", "--json"});
  if (const std::string error = error_of(flags, context); !error.empty()) return error;
  return untimed(context.console.printed);
}

void require_equal(const Words& cluster, const Words& flags, std::map<std::string, int>& times) {
  const auto file = file_with(cluster, flags);
  if (!file) return;
  Words all = cluster;
  all.insert(all.end(), flags.begin(), flags.end());
  INFO(fmt::format("{} {}", cluster.front(), flags.front()));
  const std::string expected = run_with(all, "");
  const std::string found = run_with({fmt::format("--cluster={}", saved)}, *file);
  const auto runs = [](const std::string& printed) { return printed.find("iteration_s") != std::string::npos; };
  REQUIRE(runs(found) == runs(expected));
  if (!runs(expected)) return;  // such as too few workers for the cluster's collective
  REQUIRE(found == expected);
  ++times[flags.front().substr(0, flags.front().find('='))];
}

}  // namespace

TEST_CASE("every shipped cluster with every flag is saved as it is simulated") {
  const std::vector<Words> flags{{"--bandwidth=x0.5"},
                                 {"--bandwidth=25 Gbit/s", "--bandwidth=x3"},
                                 {"--latency=x2"},
                                 {"--inner-bandwidth=x2"},
                                 {"--inner-latency=x0.5"},
                                 {"--rails=1"},
                                 {"--rails=1", "--node=4", "--workers=16"},
                                 {"--oversubscription=2"},
                                 {"--placement=spread"},
                                 {"--routing=ecmp:flows=2,seed=3"},
                                 {"--protocol=simple"},
                                 {"--interference=1.3", "--spread=3%", "--bandwidth=x0.7"},
                                 {"--stragglers=0:1.5"},
                                 {"--workers=4"},
                                 {"--fidelity=message", "--workers=4"},
                                 {"--collective=recursive-doubling", "--workers=4"}};
  std::map<std::string, int> times;
  for (const std::string& name : Files({ALLREPLAY_SOURCE_DIR}).list_data("topologies"))
    for (Words one : flags) {
      const auto is_workers = [](const std::string& flag) { return flag.starts_with("--workers"); };
      if (std::none_of(one.begin(), one.end(), is_workers)) one.push_back("--workers=8");
      require_equal({fmt::format("--cluster={}", name)}, one, times);
    }
  for (const Words& one : flags) {
    const std::string flag = one.front().substr(0, one.front().find('='));
    INFO(flag);
    CHECK(times[flag] > 3);
  }
}

TEST_CASE("what was saved can be changed and saved again") {
  const Words preset{"--cluster=h100x8-8x400gbps"}, first{"--node=16", "--bandwidth=x2"},
      second{"--rails=16", "--bandwidth=x2"};
  const auto once = file_with(preset, first);
  REQUIRE(once);
  CHECK(!file_with(preset, second));  // 16 ports of 8 workers
  const auto twice = file_with({fmt::format("--cluster=again.json")}, second);
  CHECK(!twice);  // no such file
  Context context = context_with("");
  context.inputs.files.add("first.json", *once);
  run_words({"topology", "--cluster=first.json", second[0], second[1], fmt::format("--cluster-out={}", saved)},
            context);
  Context flags = context_with("");
  flags.inputs.files.add("first.json", *once);
  run_words({"collective", "--cluster=first.json", second[0], second[1], "--json"}, flags);
  Context file = context_with(context.inputs.files.text(saved));
  run_words({"collective", fmt::format("--cluster={}", saved), "--json"}, file);
  CHECK(untimed(file.console.printed) == untimed(flags.console.printed));
}

TEST_CASE("a cluster in words is saved with other flags, too") {
  std::map<std::string, int> times;
  const Words words{"--nodes=4", "--gpus=4", "--network=100Gbit/s", "--inner=200GB/s"};
  require_equal(words, {"--bandwidth=x2", "--rails=2"}, times);
  require_equal(words, {"--rails=2"}, times);
  require_equal(words, {"--workers=8", "--spread=1%"}, times);
  CHECK(times.size() == 3);
}

TEST_CASE("what is wrong in saved changes is said where it stands") {
  const auto error = [](const std::string& changes) {
    Context context = context_with(fmt::format(
        R"({{"name": "c", "workers": 4, "network": {{"alpha": "1 us", "beta": "1 ns/B"}}, "changes": {}}})", changes));
    return error_of({"run", "--profile=tiny.csv", "--strategy=ddp", fmt::format("--cluster={}", saved)}, context);
  };
  CHECK(error(R"([{"bandwidth": "fast"}])").starts_with("saved.json: /changes/0/bandwidth: "));
  CHECK(error(R"([{}, {"rails": 2}])").starts_with("saved.json: /changes/1/rails: "));
  CHECK(error(R"([{"batch": 2}])").starts_with("saved.json: /changes/0/batch: unknown key"));
  CHECK(error(R"([{"bandwidth": ["x2", true]}])").starts_with("saved.json: /changes/0/bandwidth/1: "));
  CHECK(error(R"([{"stragglers": "9:2"}])").starts_with("saved.json: /changes/0/stragglers: "));
  CHECK(error("{}").starts_with("saved.json: /changes: "));
}
