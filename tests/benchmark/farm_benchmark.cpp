// Measures the cost of a sweep without its simulations (docs/dev/performance.md, "Many machines"). Lines, for
// 100,000 rows:
//   check             reading, resolving and checking the rows, which each process does before the first
//   share_out/N       finding the rows of N shares
//   serve/N           rank 0: handing out rows, taking answers and writing the file, with N ranks that answer
//   immediately
#include <deque>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "sim/base/farm/bytes.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace {

using namespace allreplay;
namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("allreplay_farm_benchmark." + std::to_string(getpid()))) {
    fs::create_directories(path_);
    std::ofstream(path_ / "s.json") << R"({"profiles": ["resnet50_k80_b16"], "clusters": ["k80-10gbe"], "strategies":
      [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": 100000}}]})";
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator()(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Ranks that have the same answer to every row, as soon as they are asked.
class Instant : public Transport {
 public:
  Instant(int workers, std::string answer) : size_(workers + 1), answer_(std::move(answer)) {
    for (int rank = 1; rank < size_; ++rank) messages_.emplace_back(rank, "r");
  }
  int rank() const override { return 0; }
  int size() const override { return size_; }
  void send(int to, std::string_view message) override {
    if (message[0] == 'd') return messages_.emplace_back(to, "b"), void();
    Packer answers;
    for (Unpacker jobs(message.substr(1)); !jobs.done(); jobs.take_text())
      answers.add(jobs.take<std::size_t>()).add_text(answer_);
    messages_.emplace_back(to, "r" + answers.bytes());
  }
  std::pair<int, std::string> receive() override {
    auto next = std::move(messages_.front());
    messages_.pop_front();
    return next;
  }
  bool waiting() override { return !messages_.empty(); }

 private:
  int size_;
  std::string answer_;
  std::deque<std::pair<int, std::string>> messages_;
};

void check(benchmark::State& state) {
  const Folder folder;
  for (auto _ : state) {
    benchmark::DoNotOptimize(SweepQuestions(read_sweep({}, folder("s.json"))).check());
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(check)->Unit(benchmark::kMillisecond);

void share_out_rows(benchmark::State& state) {
  std::vector<std::uint64_t> costs;
  for (std::uint64_t i = 0; i < 100'000; ++i) costs.push_back(1 + i * i % 997);
  for (auto _ : state) benchmark::DoNotOptimize(share_out(static_cast<std::size_t>(state.range(0)), costs));
}
BENCHMARK(share_out_rows)->Name("share_out")->Arg(4)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void serve(benchmark::State& state) {
  const Folder folder;
  const SweepQuestions sweep = read_sweep({}, folder("s.json"));
  const SweepRows rows = sweep.check();
  const std::string answer = answer_rows(sweep)(row_work(0, rows.all.inputs[0]));
  for (auto _ : state) {
    state.PauseTiming();
    SweepRows mine = sweep.check();
    Farm farm(std::make_unique<Instant>(static_cast<int>(state.range(0)), answer));
    fs::remove(folder("out.csv"));
    state.ResumeTiming();
    benchmark::DoNotOptimize(
        run_rows(sweep, std::move(mine), {.out = folder("out.csv"), .progress = false, .farm = &farm}));
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(serve)->Arg(4)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
