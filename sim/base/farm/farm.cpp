#include "sim/base/farm/farm.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/farm/bytes.hpp"

namespace allreplay {

namespace {

// The first byte of a message. To rank 0: answers, answers of an idle rank, error, farewell. From it: jobs, leave.
enum Kind : char { answers = 'a', ready = 'r', failed = 'f', farewell = 'b', chunk_of_jobs = 'c', leave = 'd' };

std::string message(Kind kind, std::string_view text = "") { return std::string(1, kind).append(text); }

// The time for which a worker collects answers before it sends them: longer loses more answers if the worker is killed,
// shorter keeps rank 0 busy.
constexpr std::chrono::milliseconds longest_wait{100};

}  // namespace

Farm::Farm(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

Farm::~Farm() {
  if (!leads()) return;
  for (int rank = 1; rank < transport_->size(); ++rank) transport_->send(rank, message(leave));
  idle_.clear();
  while (gone_.size() < workers()) try {
      receive([](std::size_t, const std::string&) {});
    } catch (const RankError&) {  // ignored: either an earlier error was reported, or the result is not needed
    }
}

std::vector<int> Farm::expected() const {
  std::vector<int> ranks;
  for (int rank = 1; rank < transport_->size(); ++rank)
    if (!gone_.contains(rank) && std::find(idle_.begin(), idle_.end(), rank) == idle_.end()) ranks.push_back(rank);
  return ranks;
}

// Takes one message. Returns true if its sender can do more jobs.
bool Farm::receive(const Take& take) {
  if (silent && !transport_->waiting_until(std::chrono::steady_clock::now() + patience)) silent(expected());
  const auto [rank, text] = transport_->receive();
  const std::string_view rest = std::string_view(text).substr(1);
  switch (static_cast<Kind>(text[0])) {
    case farewell:
      gone_.insert(rank);
      return false;
    case failed:
      throw RankError(std::string(rest));
    default:
      break;
  }
  for (Unpacker unpacker(rest); !unpacker.done();) {
    const auto job = unpacker.take<std::size_t>();
    take(job, unpacker.take_text());
  }
  if (text[0] != ready) return false;
  idle_.push_back(rank);
  return true;
}

void Farm::run(const std::vector<FarmJob>& jobs, const Take& take) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs[a].cost > jobs[b].cost; });
  std::uint64_t left = 0;
  for (const FarmJob& job : jobs) left += job.cost;
  std::size_t next = 0, taken = 0;
  const auto hand_out = [&](int rank) {
    const std::uint64_t fair = left / (2 * workers());
    Packer chunk;
    for (std::uint64_t cost = 0; next < order.size();) {
      const FarmJob& job = jobs[order[next]];
      if (cost > 0 && cost + job.cost > fair) break;
      chunk.add(order[next++]).add_text(job.work);
      cost += job.cost;
      left -= job.cost;
    }
    transport_->send(rank, message(chunk_of_jobs, chunk.bytes()));
  };
  const Take counted = [&](std::size_t job, const std::string& answer) {
    ++taken;
    take(job, answer);
  };
  while (taken < jobs.size()) {
    while (!idle_.empty() && next < order.size()) {
      const int rank = idle_.back();
      idle_.pop_back();
      hand_out(rank);
    }
    receive(counted);
  }
}

void Farm::do_chunk(const Answer& answer, const std::string& chunk) {
  using Clock = std::chrono::steady_clock;
  Packer done;
  auto sent = Clock::now();
  for (Unpacker jobs(chunk); !jobs.done() && !transport_->waiting();) {  // a waiting message is the order to leave
    const auto job = jobs.take<std::size_t>();
    try {
      const std::string text = answer(jobs.take_text());
      done.add(job).add_text(text);
    } catch (...) {
      transport_->send(0, message(answers, done.bytes()));  // so that finished jobs are not lost
      throw;
    }
    if (jobs.done() || Clock::now() - sent < longest_wait) continue;
    transport_->send(0, message(answers, done.bytes()));
    done = {};
    sent = Clock::now();
  }
  transport_->send(0, message(ready, done.bytes()));
}

void Farm::work(const std::function<Answer()>& prepare) {
  const auto received = [&] { return transport_->receive().second; };
  try {
    const Answer answer = prepare();
    transport_->send(0, message(ready));
    for (std::string text = received(); text[0] == chunk_of_jobs; text = received()) do_chunk(answer, text.substr(1));
  } catch (const std::exception& error) {
    transport_->send(0, message(failed, error.what()));
    while (received()[0] != leave) {
    }
  }
  transport_->send(0, message(farewell));
}

}  // namespace allreplay
