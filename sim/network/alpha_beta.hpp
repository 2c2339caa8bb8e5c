// The alpha-beta channel: collectives priced by their closed form, sharing one network.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"

namespace allreplay {

/// What blocks in flight together do with the bandwidth, once each has started up.
enum class Sharing : std::uint8_t {
  Serial,  ///< bytes go one block after another, in the order of admission
  Fair,    ///< all get equal shares
};

/// A task of b bytes (Task::bytes) that is alone takes T(b), by the cost of its stage (Task::service).
class SerialChannel final : public Server {
 public:
  explicit SerialChannel(StageCosts costs) : costs_(std::move(costs)) {}
  explicit SerialChannel(const CommCost& all_reduce) : costs_{all_reduce, all_reduce, all_reduce} {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override { return in_flight_.empty() ? never : in_flight_.front().end; }
  void complete(Time now, std::vector<TaskId>& done) override;

 private:
  struct Transfer {
    Time end;
    TaskId id;
  };
  StageCosts costs_;
  Time free_{0};                    // when the last byte of those admitted has passed
  std::deque<Transfer> in_flight_;  // ends never decrease
};

class FairChannel final : public Server {
 public:
  explicit FairChannel(StageCosts costs) : costs_(std::move(costs)) {}
  explicit FairChannel(const CommCost& all_reduce) : costs_{all_reduce, all_reduce, all_reduce} {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;

 private:
  // Processor sharing in virtual time: `virtual_now_` advances by 1/n of real time while n transfers share, so that
  // a transfer that needs w alone ends when the virtual time has gone on by w, whoever comes and goes meanwhile.
  struct Transfer {
    double at;  // starting: its start-up's end, in ps; sharing: its virtual end
    double work;
    TaskId id;
    bool operator>(const Transfer& other) const { return at != other.at ? at > other.at : id > other.id; }
  };
  using Heap = std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>>;

  void advance(Time now);
  Time next_end() const;

  StageCosts costs_;
  Heap starting_, sharing_;
  Time real_now_{0};
  double virtual_now_ = 0;
};

}  // namespace allreplay
