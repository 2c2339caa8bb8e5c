// Independent questions, answered side by side: by threads of this process, or by the other processes of a farm.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/farm/farm.hpp"

namespace allreplay {

/// Who answers. Answers do not depend on it.
struct Batch {
  int jobs = 1;          ///< threads of this process, where no farm has other processes
  Farm* farm = nullptr;  ///< null: none

  bool by_farm() const { return farm && farm->workers() > 0; }

  /// Questions 0 … count − 1.
  struct Questions {
    std::size_t count = 0;
    std::function<void(std::size_t i)> here;                             ///< answers one; in several threads at a time
    std::function<FarmJob(std::size_t i)> asked;                         ///< what another process is called with
    std::function<void(std::size_t i, const std::string& answer)> take;  ///< what it answers; in any order
  };

  /// Each of them, once. Throws what `here` and `take` do, and RankError.
  void run(const Questions& questions) const;
};

/// `answer` of 0 … count − 1, by so many threads at a time. Throws what it does.
void by_threads(int jobs, std::size_t count, const std::function<void(std::size_t i)>& answer);

}  // namespace allreplay
