// A task farm: rank 0 hands out jobs, the other ranks do them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/farm/transport.hpp"

namespace allreplay {

/// What one rank could not do: the line that its user would have read, told by rank 0.
class RankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FarmJob {
  std::string work;        ///< what Answer is called with
  std::uint64_t cost = 1;  ///< beside the other jobs
};

class Farm {
 public:
  using Answer = std::function<std::string(const std::string& work)>;
  using Take = std::function<void(std::size_t job, const std::string& answer)>;

  explicit Farm(std::unique_ptr<Transport> transport);
  ~Farm();  ///< of rank 0: lets the others go, once each has ended its job
  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;

  /// Of rank 0: told which ranks have work, or have to leave, where nobody says anything for `patience`; each time
  /// anew.
  std::function<void(const std::vector<int>& ranks)> silent;
  std::chrono::milliseconds patience{60'000};

  bool leads() const { return transport_->rank() == 0; }
  std::size_t workers() const { return static_cast<std::size_t>(transport_->size()) - 1; }

  /// Rank 0, which needs a worker: has the jobs done, the costly ones first, in chunks that shrink to the end. `take`
  /// gets each answer once it is here, in any order. Any number of times. Throws RankError.
  void run(const std::vector<FarmJob>& jobs, const Take& take);

  /// The others: `prepare` says how jobs are done; this does them until rank 0 lets go. What either throws is told to
  /// rank 0.
  void work(const std::function<Answer()>& prepare);

 private:
  bool receive(const Take& take);
  std::vector<int> expected() const;
  void do_chunk(const Answer& answer, const std::string& chunk);

  std::unique_ptr<Transport> transport_;
  std::vector<int> idle_;  // ranks that wait for a chunk
  std::set<int> gone_;     // ranks that have been let go
};

/// Between the ranks that mpirun started; of one rank where nothing did. Throws InputError where this build has no MPI,
/// or where another MPI than the build's has started it.
std::unique_ptr<Transport> mpi_transport();

}  // namespace allreplay
