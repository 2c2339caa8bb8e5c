#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tests/base/farm/threads.hpp"
#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"
#include "tests/replay/training/scenario.hpp"
#include "tests/untimed_rows.hpp"

#include "sim/base/core/file.hpp"
#include "sim/studies/experiment/sweep_file.hpp"
#include "sim/studies/experiment/tuning.hpp"

using namespace allreplay;
namespace fs = std::filesystem;

namespace {

class SharesFolder : public OwnFolder {
 public:
  SharesFolder() {
    write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n");
    write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
    write("s.json", R"({"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4, 8],
                        "strategies": ["wfbp", "s-sgd", "best", "us-byte"]})");
  }
  std::vector<std::string> rows(const std::string& name) const { return untimed_rows((*this)(name)); }
  void sweep(const std::string& out, Share share = {}, bool resume = false) const {
    run_sweep(read_sweep({}, (*this)("s.json")),
              {.out = (*this)(out), .resume = resume, .progress = false, .share = share});
  }
  std::vector<std::size_t> merge(const std::vector<std::string>& parts, const std::string& out = "all.csv") const {
    std::vector<std::string> files;
    for (const std::string& part : parts) files.push_back((*this)(part));
    return merge_sweep(read_sweep({}, (*this)("s.json")), files, (*this)(out), false).missing;
  }
};

std::vector<std::size_t> sums(const std::vector<std::vector<std::size_t>>& shares,
                              const std::vector<std::uint64_t>& costs) {
  std::vector<std::size_t> all;
  for (const auto& share : shares)
    all.push_back(std::accumulate(share.begin(), share.end(), std::size_t{0},
                                  [&](std::size_t sum, std::size_t row) { return sum + costs[row]; }));
  return all;
}

}  // namespace

TEST_CASE("shares hold every row once, in order, and differ by one row's cost at most") {
  const std::vector<std::uint64_t> costs{4, 9, 5, 1, 7, 4, 3};
  const auto three = share_out(3, costs);
  // 9 -> 0; 7 -> 1; 5 -> 2; 4 (row 0) -> 2, now 9; 4 (row 5) -> 1, now 11; 3 -> 0, the first of the 9s, now 12; 1 -> 2.
  CHECK(three == std::vector<std::vector<std::size_t>>{{1, 6}, {4, 5}, {0, 2, 3}});
  CHECK(sums(three, costs) == std::vector<std::size_t>{12, 11, 10});

  std::vector<std::uint64_t> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back(1 + i * i * 7919 % 997);
  for (const std::size_t count : {1, 2, 3, 7, 64, 999, 1000, 1500}) {
    const auto shares = share_out(count, many);
    std::vector<int> held(many.size());
    for (const auto& share : shares) {
      CHECK(std::is_sorted(share.begin(), share.end()));
      for (const std::size_t row : share) ++held[row];
    }
    CHECK(held == std::vector<int>(many.size(), 1));
    const auto loads = sums(shares, many);
    const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
    if (count <= many.size()) CHECK(*most - *least <= *std::max_element(many.begin(), many.end()));
  }
}

TEST_CASE("the parts of all shares are the whole, and a part is resumed on its own") {
  const SharesFolder folder;
  folder.sweep("one.csv");
  for (const std::size_t count : {1, 2, 3, 5, 20}) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back("part" + std::to_string(i) + ".csv");
      fs::remove(folder(parts.back()));
      folder.sweep(parts.back(), {i, count});
      const std::string before = Files().read_output(folder(parts.back()));
      folder.sweep(parts.back(), {i, count}, true);
      CHECK(Files().read_output(folder(parts.back())) == before);  // wall times and all: nothing is computed again
      fs::resize_file(folder(parts.back()), before.size() * 2 / 3);
      folder.sweep(parts.back(), {i, count}, true);
    }
    std::reverse(parts.begin(), parts.end());  // in whatever order they are named
    CHECK(folder.merge(parts).empty());
    CHECK(folder.rows("all.csv") == folder.rows("one.csv"));
  }
}

TEST_CASE("rows missing in parts are reported, left out, and filled in by resume") {
  const SharesFolder folder;
  folder.sweep("one.csv");
  for (std::size_t i = 0; i < 4; ++i) folder.sweep("part" + std::to_string(i) + ".csv", {i, 4});
  // Among the twelve rows `best` (rows 3, 7 and 11) costs 400 times as much as the others, `us-byte` 5 times, all as
  // much with many workers as with few: shares 0, 1 and 2 get a `best` each, share 3 all else.
  const auto missing = folder.merge({"part0.csv", "part2.csv", "part3.csv"});
  CHECK(missing == std::vector<std::size_t>{6});
  const std::vector<std::string> one = folder.rows("one.csv");
  std::vector<std::string> without = one;
  without.erase(without.begin() + 7);  // row 7, after the header and six rows
  CHECK(folder.rows("all.csv") == without);
  folder.sweep("all.csv", {}, true);
  CHECK(folder.rows("all.csv") == one);

  CHECK(folder.merge({"part1.csv"}, "hole.csv").size() == 11);
  CHECK(run_sweep(read_sweep({}, folder("s.json")), {.out = folder("hole.csv"), .resume = true, .progress = false})
            .simulated == 11);
  CHECK(folder.rows("hole.csv") == one);
}

TEST_CASE("parts that do not belong together are refused by name") {
  const SharesFolder folder;
  folder.sweep("a.csv", {0, 2});
  folder.sweep("b.csv", {1, 2});
  const auto refusal = [&](const std::vector<std::string>& parts) { return error_place([&] { folder.merge(parts); }); };
  CHECK(refusal({"a.csv", "a.csv"}) == folder("a.csv"));
  folder.sweep("c.csv", {0, 3});
  CHECK(refusal({"a.csv", "b.csv", "c.csv"}) == folder("c.csv"));
  CHECK(refusal({"nothing.csv"}) == folder("nothing.csv"));
  CHECK(!fs::exists(folder("all.csv")));

  const std::string text = Files().read_output(folder("a.csv"));
  std::string changed = text;
  changed[changed.rfind("0.")] = '7';
  folder.write("a.csv", changed);
  CHECK(refusal({"a.csv", "b.csv"}) == folder("a.csv"));
  folder.write("a.csv", text);
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,61\n");  // an edited input
  CHECK(refusal({"a.csv", "b.csv"}) == folder("a.csv"));
  CHECK(refusal({"a.csv"}) == folder("a.csv"));
  folder.write("s.json", R"({"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [3, 5, 7, 9, 11, 13],
                             "strategies": ["wfbp"]})");
  CHECK(refusal({"a.csv"}) == folder("a.csv") + ": line 2");
  CHECK(!fs::exists(folder("all.csv")));
}

TEST_CASE("shares and a farm give the rows of one process, for every shipped sweep") {
  const SharesFolder folder;
  for (const std::string& name : Files().list_data("configs")) {
    INFO(name);
    if (Json::read(Files(), Files().find_data("configs", name, "sweep")).find("jobs")) continue;  // tests/studies/jobs
    Sweep sweep = read_sweep({}, name);
    // Up to 6 rows, from all over the sweep.
    std::vector<std::size_t> some;
    const std::size_t step = 1 + sweep.requests.size() / 6;
    for (std::size_t i = 0; i < sweep.requests.size(); i += step) some.push_back(i);
    sweep.requests.keep(some);
    run_sweep(sweep, {.jobs = 2, .out = folder("one.csv"), .progress = false, .force = true});
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      parts.push_back(folder("part" + std::to_string(i) + ".csv"));
      run_sweep(sweep, {.jobs = 2, .out = parts.back(), .progress = false, .force = true, .share = {i, 3}});
    }
    CHECK(merge_sweep(sweep, parts, folder("merged.csv"), true).missing.empty());
    CHECK(folder.rows("merged.csv") == folder.rows("one.csv"));
    with_ranks(
        3, [&](int) { return answer_rows(sweep); },
        [&](Farm& farm) {
          const Swept swept =
              run_sweep(sweep, {.out = folder("farm.csv"), .progress = false, .force = true, .farm = &farm});
          CHECK(swept.simulated == sweep.requests.size());
        });
    CHECK(folder.rows("farm.csv") == folder.rows("one.csv"));
  }
}

TEST_CASE("a farm loses no row to a kill, whichever came first") {
  const SharesFolder folder;
  folder.sweep("one.csv");
  const Sweep sweep = read_sweep({}, folder("s.json"));
  // Rank 0 ends after the given number of rows, the costly ones first: they come after gaps, in the notes.
  for (std::size_t most = 1; most < 12; most += 3) {
    fs::remove(folder("farm.csv"));
    std::size_t done = 0;
    const auto lead = [&](Farm& farm) {
      SweepRun how{.out = folder("farm.csv"), .progress = false, .farm = &farm};
      run_sweep(sweep, how);
    };
    const auto prepare = [&](int) {
      return Farm::Answer([&, answer = answer_rows(sweep)](const std::string& work) {
        if (done++ == most) throw std::runtime_error("killed");
        return answer(work);
      });
    };
    CHECK_THROWS_WITH(with_ranks(2, prepare, lead), "killed");
    const Swept rest = run_sweep(sweep, {.out = folder("farm.csv"), .resume = true, .progress = false});
    CHECK(rest.simulated == 12 - most);
    CHECK(folder.rows("farm.csv") == folder.rows("one.csv"));
  }
}

TEST_CASE("a farm measures a tuning's trials, even with one worker; the result is as without it") {
  Profile profile;
  profile.name = "p";
  for (LayerId layer = 0; layer < 6; ++layer) {
    profile.layers.push_back({std::to_string(layer), to_time(1e-3), to_time(2e-3)});
    profile.tensors.push_back({std::to_string(layer), 1'000'000, 4'000'000, layer});
  }
  const Scenario scenario = scenario_of(profile, "ddp", 4, 100e-6, 1e-9);
  const TuneRequest request{default_ranges(scenario), 6, TuneMethod::Bayes, 1};
  const Tuning here = run_tuning(scenario, request, 1);
  Tuning there;
  std::size_t answered = 0;
  with_ranks(
      2,
      [&](int) -> Farm::Answer {
        return [&, answer = answer_trials(scenario, request.ranges)](const std::string& work) {
          ++answered;
          return answer(work);
        };
      },
      [&](Farm& farm) { there = run_tuning(scenario, request, 1, &farm); });
  CHECK(answered == there.trials.size());
  REQUIRE(there.trials.size() == here.trials.size());
  for (std::size_t i = 0; i < here.trials.size(); ++i) {
    CHECK(there.trials[i].values == here.trials[i].values);
    CHECK(there.trials[i].iteration_s == here.trials[i].iteration_s);
  }
}

TEST_CASE("a row in message costs as much as in fluid among a hundred workers, beyond by their square") {
  // 10 us a worker; a tenth of one for each pair.
  const auto cost = [](const char* fidelity, std::int64_t workers) {
    Profile profile;
    profile.layers = {{"l", Time(1000), Time(1000)}};
    profile.tensors = {{"t", 1000, 4000, 0}};
    Scenario scenario = scenario_of(profile, "wfbp", workers, 1e-6, 1e-9);
    scenario.cluster.network.topology = read_topology(
        Json::parse(R"({"kind": "star", "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}})", "topology"));
    scenario.fidelity = fidelity;
    return static_cast<double>(expected_cost(scenario));
  };
  CHECK(cost("message", 100) == cost("fluid", 100));
  CHECK(cost("message", 10'000) / cost("message", 1000) == Approx(100).epsilon(0.01));
  CHECK(cost("fluid", 10'000) / cost("fluid", 1000) == Approx(10).epsilon(0.01));
  CHECK(cost("message", 10) < cost("fluid", 10));
}

TEST_CASE("seeds cost as much as their replays, whose spread or jitter draws numbers for each worker") {
  const auto cost = [](bool jitter, bool spread, std::int64_t workers, std::size_t seeds) {
    Profile profile;
    profile.layers = {{"l", Time(1000), Time(1000)}};
    profile.tensors = {{"t", 1000, 4000, 0}};
    Scenario scenario = scenario_of(profile, "wfbp", workers, 1e-6, 1e-9);
    if (jitter) scenario.stragglers.jitter = Jitter{JitterKind::Normal, 0.05, 1};
    if (spread) scenario.stragglers.spread = Spread{JitterKind::Normal, 0.05, {}};
    for (std::size_t seed = 1; seed <= seeds; ++seed) scenario.seeds.push_back(seed);
    return static_cast<double>(expected_cost(scenario));
  };
  CHECK(cost(false, false, 1 << 20, 20) == cost(false, false, 1, 0));  // nothing is random: one replay
  CHECK(cost(false, true, 1 << 20, 0) == cost(false, true, 1, 0));     // without seeds, spread is the expected one
  CHECK(cost(false, true, 1 << 20, 20) == 20 * cost(false, true, 1 << 20, 1));
  CHECK(cost(false, true, 1 << 20, 20) == Approx(50e6).epsilon(0.2));  // 2.5 s each
  CHECK(cost(true, false, 100'000, 0) / cost(true, false, 10'000, 0) == Approx(10).epsilon(0.02));
}
