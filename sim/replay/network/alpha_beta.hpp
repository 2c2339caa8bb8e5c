// The servers of the fidelity `alpha-beta`: channels on which collectives take the time of their closed form.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "sim/plans/collective/comm_cost.hpp"
#include "sim/replay/engine/server.hpp"

namespace allreplay {

/// The sharing of the bandwidth among blocks that have started up.
enum class Sharing : std::uint8_t {
  Serial,  ///< the bytes of one block after another, in the order of admission
  Fair,    ///< equal shares
};

/// The cost of a call, and the channels that it occupies.
struct ChannelCost {
  CommCost cost;
  Channels channels = channel_inside;
};

/// By Task::call_id.
using ChannelCosts = std::vector<ChannelCost>;

/// A task of b bytes (Task::bytes) takes T(b) if no other is in flight. Its bytes move after those of all tasks
/// admitted before it that share a channel with it.
class SerialChannel final : public Server {
 public:
  /// `rates`: load() sets Load::rate.
  explicit SerialChannel(ChannelCosts costs, bool rates = false) : costs_(std::move(costs)), rates_(rates) {}
  explicit SerialChannel(const CommCost& cost) : SerialChannel(ChannelCosts{{cost}}) {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override;

 private:
  struct Transfer {
    Time end;
    TaskId id;
    Time moves_at;  // when its bytes begin to move
    double rate;    // of its bytes from then on, bytes per second
  };
  ChannelCosts costs_;
  bool rates_;
  std::array<Time, channel_count> free_{};  // by channel: when the last byte admitted so far has passed
  std::deque<Transfer> in_flight_;          // sorted by end
  Time now_{0};
};

/// Every task moves at 1/n of its full speed, n being the largest number of tasks on any of its channels.
class FairChannel final : public Server {
 public:
  explicit FairChannel(ChannelCosts costs) : costs_(std::move(costs)) {}
  explicit FairChannel(const CommCost& cost) : costs_{{cost}} {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override;

 private:
  // Processor sharing in virtual time. Tasks on the same channels share a virtual time, which advances at 1/n of real
  // time: a task of `work` w ends when virtual time has advanced by w, regardless of which tasks come and go meanwhile.
  struct Transfer {
    double at;  // in starting_: the end of its start-up, in ps; in sharing: its virtual end
    double work;
    TaskId id;
    Channels channels;
    double rate;  // at full speed, bytes per second
    bool operator>(const Transfer& other) const { return at != other.at ? at > other.at : id > other.id; }
  };
  using Heap = std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>>;
  struct Sharers {
    Heap sharing;
    double virtual_now = 0;
    double rate = 0;  // the sum of the tasks' rates at full speed
  };

  double slowdown(std::size_t channels) const;
  void count(Channels channels, int change);
  void advance(Time now);
  Time next_end(std::size_t channels) const;

  ChannelCosts costs_;
  Heap starting_;
  std::array<Sharers, all_channels + 1> by_channels_;  // by channels
  std::array<int, channel_count> on_channel_{};        // by channel: the number of tasks that share it
  Time real_now_{0};
};

}  // namespace allreplay
