#include "sim/base/farm/batch.hpp"

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
  if (!by_farm()) return run_in_threads(jobs, questions.count, questions.here);
  std::vector<FarmJob> work;
  for (std::size_t i = 0; i < questions.count; ++i) work.push_back(questions.asked(i));
  farm->run(work, questions.take);
}

}  // namespace allreplay
