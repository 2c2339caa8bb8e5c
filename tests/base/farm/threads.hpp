// A farm without MPI, whose ranks are threads of one process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/base/farm/farm.hpp"

class Mailboxes {
 public:
  explicit Mailboxes(int ranks) : boxes_(static_cast<std::size_t>(ranks)) {}

  int size() const { return static_cast<int>(boxes_.size()); }

  void put(int to, int from, std::string_view message) {
    const std::lock_guard lock(mutex_);
    boxes_[static_cast<std::size_t>(to)].emplace_back(from, message);
    ++messages_;
    arrived_.notify_all();
  }

  std::pair<int, std::string> take(int rank) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[static_cast<std::size_t>(rank)];
    arrived_.wait(lock, [&] { return !box.empty(); });
    auto message = std::move(box.front());
    box.pop_front();
    return message;
  }

  bool any(int rank) {
    const std::lock_guard lock(mutex_);
    return !boxes_[static_cast<std::size_t>(rank)].empty();
  }

  int messages() const { return messages_; }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::deque<std::pair<int, std::string>>> boxes_;
  int messages_ = 0;
};

class ThreadTransport : public allreplay::Transport {
 public:
  ThreadTransport(Mailboxes& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return boxes_.size(); }
  void send(int to, std::string_view message) override { boxes_.put(to, rank_, message); }
  std::pair<int, std::string> receive() override { return boxes_.take(rank_); }
  bool waiting() override { return boxes_.any(rank_); }

 private:
  Mailboxes& boxes_;
  int rank_;
};

// Runs `lead` on rank 0 and `prepare` on the others. Returns the number of messages.
inline int with_ranks(int ranks, const std::function<allreplay::Farm::Answer(int rank)>& prepare,
                      const std::function<void(allreplay::Farm&)>& lead) {
  Mailboxes boxes(ranks);
  std::vector<std::thread> others;
  for (int rank = 1; rank < ranks; ++rank)
    others.emplace_back([&boxes, &prepare, rank] {
      allreplay::Farm(std::make_unique<ThreadTransport>(boxes, rank)).work([&] { return prepare(rank); });
    });
  const auto join = [&] {
    for (std::thread& other : others) other.join();
  };
  try {
    allreplay::Farm farm(std::make_unique<ThreadTransport>(boxes, 0));
    lead(farm);
  } catch (...) {
    join();
    throw;
  }
  join();
  return boxes.messages();
}
