// A task farm: rank 0 hands out jobs to the other ranks and collects their answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/farm/transport.hpp"

namespace allreplay {

/// An error on another rank, rethrown by rank 0 with the same message.
class RankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FarmJob {
  std::string work;        ///< the argument of Answer
  std::uint64_t cost = 1;  ///< relative to other jobs
};

class Farm {
 public:
  using Answer = std::function<std::string(const std::string& work)>;
  using Take = std::function<void(std::size_t job, const std::string& answer)>;

  explicit Farm(std::unique_ptr<Transport> transport);
  ~Farm();  ///< on rank 0: tells the other ranks to leave after their current job, and waits for them
  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;

  /// On rank 0: called whenever no message has arrived for `patience`, with the ranks that should have sent one.
  std::function<void(const std::vector<int>& ranks)> silent;
  std::chrono::milliseconds patience{60'000};

  bool leads() const { return transport_->rank() == 0; }
  std::size_t workers() const { return static_cast<std::size_t>(transport_->size()) - 1; }

  /// On rank 0: hands out the jobs, costly ones first, in chunks that get smaller towards the end. Calls `take` for
  /// each answer as it arrives. May be called repeatedly. REQUIRES: workers() > 0. Throws RankError.
  void run(const std::vector<FarmJob>& jobs, const Take& take);

  /// On the other ranks: does jobs with the function that `prepare` returns until rank 0 sends the message to leave.
  /// Reports exceptions.
  void work(const std::function<Answer()>& prepare);

 private:
  bool receive(const Take& take);
  std::vector<int> expected() const;
  void do_chunk(const Answer& answer, const std::string& chunk);

  std::unique_ptr<Transport> transport_;
  std::vector<int> idle_;  // ranks that wait for a chunk
  std::set<int> gone_;     // ranks that have left
};

/// Connects the ranks that mpirun started; a single rank without mpirun. Throws InputError if this build has no MPI, or
/// if mpirun belongs to another MPI than the build's.
std::unique_ptr<Transport> mpi_transport();

}  // namespace allreplay
