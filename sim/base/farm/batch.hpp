// Runs independent computations ("questions") in parallel: in threads of this process, or in the processes of a farm.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/base/farm/farm.hpp"

namespace allreplay {

/// Chooses where the questions are computed. The answers do not depend on it.
struct Batch {
  int jobs = 1;                        ///< threads of this process; used without a farm, or if the farm has no workers
  Farm* farm = nullptr;                ///< may be null
  std::function<void()> advance = {};  ///< called after each question, never concurrently; may be empty

  bool by_farm() const { return farm && farm->workers() > 0; }

  /// Questions 0 … count − 1.
  struct Questions {
    std::size_t count = 0;
    std::function<void(std::size_t i)> here;                             ///< computes one here; called by many threads
    std::function<FarmJob(std::size_t i)> asked;                         ///< makes the job for another process
    std::function<void(std::size_t i, const std::string& answer)> take;  ///< receives its answer; in any order
  };

  /// Answers each question once. Throws what `here` and `take` throw, and RankError.
  void run(const Questions& questions) const;
};

/// Calls `answer` for 0 … count − 1 in `jobs` threads. Throws what it throws.
void run_in_threads(int jobs, std::size_t count, const std::function<void(std::size_t i)>& answer);

}  // namespace allreplay
