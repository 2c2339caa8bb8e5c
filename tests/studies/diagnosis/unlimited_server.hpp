// A server of the engine that runs any number of tasks simultaneously.
#pragma once

#include <map>
#include <vector>

#include "sim/replay/engine/server.hpp"

class UnlimitedServer final : public allreplay::Server {
 public:
  void start(allreplay::TaskId id, const allreplay::Task& task, allreplay::Time now) override {
    running_.emplace(allreplay::add(now, task.duration), id);
  }
  allreplay::Time next_completion() const override {
    return running_.empty() ? allreplay::never : running_.begin()->first;
  }
  void complete(allreplay::Time now, std::vector<allreplay::TaskId>& done) override {
    for (; !running_.empty() && running_.begin()->first == now; running_.erase(running_.begin()))
      done.push_back(running_.begin()->second);
  }

 private:
  std::multimap<allreplay::Time, allreplay::TaskId> running_;
};
