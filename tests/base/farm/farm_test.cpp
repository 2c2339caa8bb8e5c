#include <atomic>
#include <numeric>

#include "tests/base/farm/threads.hpp"
#include "tests/catch.hpp"

#include "sim/base/core/error.hpp"
#include "sim/base/farm/bytes.hpp"
#include "sim/base/farm/slurm.hpp"

using namespace allreplay;

namespace {

std::vector<FarmJob> numbered(std::size_t count, const std::function<std::uint64_t(std::size_t)>& cost) {
  std::vector<FarmJob> jobs;
  for (std::size_t i = 0; i < count; ++i) jobs.push_back({std::to_string(i), cost(i)});
  return jobs;
}

std::string squared(const std::string& work) { return std::to_string(std::stoll(work) * std::stoll(work)); }

}  // namespace

TEST_CASE("a farm does each job once, with any number of ranks, jobs and costs") {
  for (const int ranks : {2, 3, 5, 9})
    for (const std::size_t count : {0, 1, 2, 7, 100, 1000}) {
      INFO(ranks << " ranks, " << count << " jobs");
      std::vector<std::string> answers(count);
      std::vector<int> taken(count);
      with_ranks(
          ranks, [](int) { return Farm::Answer(squared); },
          [&](Farm& farm) {
            farm.run(numbered(count, [](std::size_t i) { return 1 + i * 7919 % 100; }),
                     [&](std::size_t job, const std::string& answer) {
                       answers[job] = answer;
                       ++taken[job];
                     });
          });
      CHECK(taken == std::vector<int>(count, 1));
      for (std::size_t i = 0; i < count; ++i) REQUIRE(answers[i] == std::to_string(i * i));
    }
}

TEST_CASE("a farm runs again and again, and one that has nothing to do ends") {
  int taken = 0;
  with_ranks(
      4, [](int) { return Farm::Answer(squared); },
      [&](Farm& farm) {
        for (int i = 0; i < 20; ++i)
          farm.run(numbered(5, [](std::size_t) { return 1; }), [&](std::size_t, const std::string&) { ++taken; });
      });
  CHECK(taken == 100);
  with_ranks(
      4, [](int) { return Farm::Answer(squared); }, [](Farm&) {});
}

TEST_CASE("the costly jobs come first, in chunks that shrink") {
  // One worker, 8 jobs of cost 1 to 8, 36 in all. Half of what is left goes out at a time, the first chunk up to 18:
  // 8 + 7 (and 6 would be 21), of 21 up to 10: 6 (and 5 would be 11), of 15 up to 7: 5, of 10 up to 5: 4, of 6 up to
  // 3: 3, of 3 up to 1: 2, and 1.
  std::vector<std::string> order;
  const int messages = with_ranks(
      2,
      [&](int) {
        return Farm::Answer([&](const std::string& work) {
          order.push_back(work);
          return "";
        });
      },
      [](Farm& farm) { farm.run(numbered(8, [](std::size_t i) { return i + 1; }), [](std::size_t, const auto&) {}); });
  CHECK(order == std::vector<std::string>{"7", "6", "5", "4", "3", "2", "1", "0"});
  // Ready; seven chunks and what comes back of each; leave and farewell.
  CHECK(messages >= 1 + 2 * 7 + 2);
  CHECK(messages <= 1 + 2 * 7 + 2 + 1);  // one more where the first job took long
  // Three of cost 1: each is more than half of the rest, so each is sent in a chunk of its own.
  CHECK(with_ranks(
            2, [](int) { return Farm::Answer(squared); },
            [](Farm& farm) {
              farm.run(numbered(3, [](std::size_t) { return 1; }), [](std::size_t, const std::string&) {});
            }) >= 1 + 2 * 3 + 2);
}

TEST_CASE("rank 0 reports a failure on another rank, and keeps the answers from before") {
  const auto prepare = [](int) {
    return Farm::Answer([](const std::string& work) {
      if (work == "0") throw InputError({"profile.csv", "line 3"}, "is wrong", "be right");
      return squared(work);
    });
  };
  std::vector<std::size_t> taken;
  const auto lead = [&](Farm& farm) {
    // FarmJob 0 costs least and comes last: in the last chunk of one worker, behind 1.
    farm.run(numbered(3, [](std::size_t i) { return i == 2 ? 100u : 1u; }),
             [&](std::size_t job, const std::string&) { taken.push_back(job); });
  };
  CHECK_THROWS_WITH(with_ranks(2, prepare, lead), "profile.csv: line 3: is wrong (be right)");
  CHECK(std::find(taken.begin(), taken.end(), 2) != taken.end());

  // Already in its preparation, of one rank among several.
  const auto badly_prepared = [](int rank) {
    if (rank == 3) throw InputError({"cluster.json", ""}, "no such file", "a file");
    return Farm::Answer(squared);
  };
  const auto long_lead = [](Farm& farm) {
    for (;;) farm.run(numbered(10, [](std::size_t) { return 1; }), [](std::size_t, const std::string&) {});
  };
  CHECK_THROWS_WITH(with_ranks(4, badly_prepared, long_lead), "cluster.json: no such file (a file)");
}

TEST_CASE("when rank 0 fails, the others leave") {
  std::atomic<int> done{0};
  const auto prepare = [&](int) {
    return Farm::Answer([&](const std::string& work) {
      ++done;
      return work;
    });
  };
  CHECK_THROWS_WITH(with_ranks(4, prepare, [](Farm&) { throw std::runtime_error("before"); }), "before");
  CHECK_THROWS_WITH(with_ranks(4, prepare,
                               [](Farm& farm) {
                                 farm.run(numbered(1000, [](std::size_t) { return 1; }),
                                          [](std::size_t, const std::string&) { throw std::runtime_error("full"); });
                               }),
                    "full");
  CHECK(done <= 1000);
}

TEST_CASE("messages are read back unchanged, and are refused when they are cut") {
  Packer packer;
  packer.add(7).add_text("a\0b").add(2.5).add_text("");
  Unpacker whole(packer.bytes());
  CHECK(whole.take<int>() == 7);
  CHECK(whole.take_text() == "a");
  CHECK(whole.take<double>() == 2.5);
  CHECK(whole.take_text().empty());
  CHECK(whole.done());
  for (std::size_t length = 0; length < packer.bytes().size(); ++length) {
    Unpacker cut(std::string_view(packer.bytes()).substr(0, length));
    CHECK_THROWS_WITH((cut.take<int>(), cut.take_text(), cut.take<double>(), cut.take_text()),
                      "a message between processes is cut");
  }
}

TEST_CASE("rank 0 reports silent ranks") {
  // Rank 1 answers its job once its silence has been reported. Then no rank is late.
  std::atomic<bool> told = false;
  std::vector<std::vector<int>> silences;
  with_ranks(
      2,
      [&](int) {
        return Farm::Answer([&](const std::string& work) {
          while (!told) std::this_thread::yield();
          return squared(work);
        });
      },
      [&](Farm& farm) {
        farm.patience = std::chrono::milliseconds(20);
        farm.silent = [&](const std::vector<int>& ranks) {
          silences.push_back(ranks);
          told = true;
        };
        farm.run({{"3"}}, [](std::size_t, const std::string& answer) { CHECK(answer == "9"); });
        farm.patience = std::chrono::minutes(10);
      });
  REQUIRE(!silences.empty());
  CHECK(silences.front() == std::vector<int>{1});
}
