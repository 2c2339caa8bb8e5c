#include "sim/base/farm/batch.hpp"

#include <mutex>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

namespace allreplay {

void run_in_threads(int jobs, std::size_t count, const std::function<void(std::size_t i)>& answer) {
  namespace tbb = oneapi::tbb;
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs));
  tbb::task_arena arena(jobs);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, answer, tbb::simple_partitioner()); });
}

void Batch::run(const Questions& questions) const {
  std::mutex mutex;
  const auto count_one = [&] {
    if (!advance) return;
    const std::lock_guard lock(mutex);
    advance();
  };
  const auto here = [&](std::size_t i) {
    questions.here(i);
    count_one();
  };
  const auto take = [&](std::size_t i, const std::string& answer) {
    questions.take(i, answer);
    count_one();
  };
  if (!by_farm()) return run_in_threads(jobs, questions.count, here);
  std::vector<FarmJob> work;
  for (std::size_t i = 0; i < questions.count; ++i) work.push_back(questions.asked(i));
  farm->run(work, take);
}

}  // namespace allreplay
