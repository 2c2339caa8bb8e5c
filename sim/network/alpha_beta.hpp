// The alpha-beta channel: collectives priced by their closed form, sharing one network.
#pragma once

#include <array>
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

/// What one kind of collective costs, and which channels it occupies.
struct ChannelCost {
  CommCost cost;
  Channels channels = channel_inside;
};

/// By Task::call_id.
using ChannelCosts = std::vector<ChannelCost>;

/// A task of b bytes (Task::bytes) that is alone takes T(b). Its bytes move after those of every task admitted before
/// it that shares a channel with it.
class SerialChannel final : public Server {
 public:
  /// `rates`: somebody asks for Load::rate.
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
    Time flows;   // when its bytes begin to
    double rate;  // then, bytes per second
  };
  ChannelCosts costs_;
  bool rates_;
  std::array<Time, channel_count> free_{};  // by channel: when the last byte of those admitted has passed
  std::deque<Transfer> in_flight_;          // ends never decrease
  Time now_{0};
};

/// Every task moves at 1/n of its speed, n being the most tasks on any of its channels.
class FairChannel final : public Server {
 public:
  explicit FairChannel(ChannelCosts costs) : costs_(std::move(costs)) {}
  explicit FairChannel(const CommCost& cost) : costs_{{cost}} {}

  void start(TaskId id, const Task& task, Time now) override;
  Time next_completion() const override;
  void complete(Time now, std::vector<TaskId>& done) override;
  Load load() const override;

 private:
  // Processor sharing in virtual time. Tasks on the same channels move alike: their virtual time advances by 1/n of
  // real time, so that a task that needs w alone ends when it has gone on by w, whoever comes and goes meanwhile.
  struct Transfer {
    double at;  // starting: its start-up's end, in ps; sharing: its virtual end
    double work;
    TaskId id;
    Channels channels;
    double rate;  // alone, bytes per second
    bool operator>(const Transfer& other) const { return at != other.at ? at > other.at : id > other.id; }
  };
  using Heap = std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>>;
  struct Alike {
    Heap sharing;
    double virtual_now = 0;
    double rate = 0;  // of all that share, each alone
  };

  double slowdown(std::size_t channels) const;
  void advance(Time now);
  Time next_end(std::size_t channels) const;

  ChannelCosts costs_;
  Heap starting_;
  std::array<Alike, all_channels + 1> alike_;  // by channels
  Time real_now_{0};
};

}  // namespace allreplay
