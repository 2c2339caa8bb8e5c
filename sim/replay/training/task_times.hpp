// The times of an unrolled plan's tasks, on each class of workers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/replay/training/unroll.hpp"

namespace allreplay {

class TaskTimes {
 public:
  /// As in unroll(). REQUIRES: all arguments outlive it.
  TaskTimes(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
            const std::optional<Compression>& compression, std::int64_t shards, const TokenExchanges* exchanges)
      : profile_(profile),
        plan_(plan),
        classes_(classes),
        compression_(compression),
        shards_(shards),
        exchanges_(exchanges) {}

  /// The time of a compute or codec task: without its class's slowdown, and with it.
  struct TaskTime {
    Time nominal, duration;
  };
  TaskTime time_of(const Label& label);

  /// Returns the time of a computation in a lane (Transfer::computes), on the slowest worker.
  Time lane_time(const Transfer& one) const;

 private:
  const Profile& profile_of(const Label& label) const;
  Time slowed_time(const Label& label, Time time, double slowdown, Time exchanged);
  Time nominal_time(const Label& label, const Profile& profile);
  Time weight_time(LayerId layer, const Profile& profile);
  Time update_time(const Label& label, const Profile& profile) const;
  double share_of_role(std::uint32_t role) const;
  Time copy_time(double bytes) const;
  Time quantise_time(double bytes) const;
  Time muon_time(const Block& block, const Profile& profile) const;
  Time outer_time(const Block& block, const Profile& profile) const;

  const Profile& profile_;
  const Plan& plan_;
  const std::vector<WorkerClass>& classes_;
  const std::optional<Compression>& compression_;
  std::int64_t shards_;
  const TokenExchanges* exchanges_;
  std::map<std::pair<const Profile*, double>, Profile> slowed_;  // by profile and slowdown
  std::map<const Profile*, std::vector<Time>> weights_;          // by layer, made when first needed
};

}  // namespace allreplay
