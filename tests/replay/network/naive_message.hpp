// A second, naive implementation of the fidelity `message`: every message is an object with its dependencies, all rates
// are recomputed at every event, and nothing is rounded.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/network/max_min.hpp"

namespace allreplay {

// The messages that one without channel waits for: none, as in a fluid; those that its sending stream sent before;
// or also those that arrive at its receiving stream, as in the program.
enum class InOrder : std::uint8_t { Nothing, Out, OutAndIn };

class NaiveNetwork {
 public:
  NaiveNetwork(const Topology& topology, double alpha, double gamma)
      : topology_(topology), alpha_(alpha * 1e12), gamma_(gamma * 1e12) {}

  /// Starts a collective of `bytes` at `at` ps, which may differ by rank: before, a rank sends nothing, and messages to
  /// it wait. Collectives are numbered in the order of calls.
  void start(const Rounds& rounds, double bytes, double at, InOrder in_order = InOrder::OutAndIn) {
    start(rounds, bytes, std::vector<double>(rounds.ranks, at), in_order);
  }
  void start(const Rounds& rounds, double bytes, const std::vector<double>& at, InOrder in_order = InOrder::OutAndIn) {
    std::map<std::uint32_t, std::vector<std::size_t>> into;  // by slot: messages to it in earlier rounds
    std::map<std::uint32_t, std::size_t> last;               // by channel
    std::map<std::uint32_t, std::vector<std::size_t>> out;   // by slot: messages from it in earlier rounds
    const std::size_t collective = ends_.size();
    ends_.push_back(*std::max_element(at.begin(), at.end()));
    for (const Round& round : rounds.rounds)
      for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
        const std::size_t first = messages_.size();
        std::vector<std::uint32_t> senders, receivers;
        for (Rank from = 0; from < rounds.ranks; ++from) {
          std::vector<Send> sends;
          round.sends(from, turn, sends);
          for (const Send& send : sends) {
            Message message;
            message.collective = collective;
            message.earliest = at[from];
            message.received = at[send.to];
            senders.push_back(from * rounds.streams + send.stream);
            receivers.push_back(send.to * rounds.streams + send.into);
            message.waits_for = into[senders.back()];
            if (send.channel != no_channel && last.count(send.channel)) message.after = last[send.channel];
            if (send.channel != no_channel) last[send.channel] = messages_.size();
            if (send.channel == no_channel && in_order != InOrder::Nothing) message.behind = out[senders.back()];
            if (send.channel == no_channel && in_order == InOrder::OutAndIn) {
              const std::vector<std::size_t>& in = into[receivers.back()];
              message.behind.insert(message.behind.end(), in.begin(), in.end());
            }
            message.to = send.to;
            message.left = bytes * static_cast<double>(send.count) * rounds.piece_share;
            message.reduction = send.reduce && rounds.reduction_costs ? message.left * gamma_ : 0;
            std::vector<LinkId> path;
            topology_.route(from, send.to, path);
            message.delay = alpha_;
            for (const LinkId link : path) {
              message.uses.push_back({link, 1});
              message.delay += topology_.links()[link].latency * 1e12;
            }
            messages_.push_back(message);
          }
        }
        for (std::size_t i = 0; i < receivers.size(); ++i) {
          out[senders[i]].push_back(first + i);
          into[receivers[i]].push_back(first + i);
        }
      }
  }

  /// Returns when each collective ends, in ps.
  std::vector<double> run() {
    std::vector<double> capacities, reducer_free;
    for (const Link& link : topology_.links()) capacities.push_back(link.bandwidth * 1e-12);
    MaxMin links(capacities);
    reducer_free.assign(static_cast<std::size_t>(topology_.hosts()), 0);
    double now = 0;
    for (;;) {
      // Starts the messages that are ready; arrived messages are reduced in the order of arrival.
      for (Message& message : messages_)
        if (message.stage == Waiting && message.earliest <= now && ready(message)) {
          message.stage = Delayed;
          message.at = now + message.delay;
        }
      std::vector<SharedFlow> flows;
      std::vector<Message*> moving;
      for (Message& message : messages_)
        if (message.stage == Moving) {
          flows.push_back({message.uses});
          moving.push_back(&message);
        }
      const std::span<const double> rates = links.rates(flows);
      double next = std::numeric_limits<double>::infinity();
      for (const Message& message : messages_) {
        if (message.stage == Delayed || message.stage == Reducing) next = std::min(next, message.at);
        if (message.stage == Held) next = std::min(next, message.received);
        if (message.stage == Waiting && message.earliest > now) next = std::min(next, message.earliest);
      }
      for (std::size_t i = 0; i < moving.size(); ++i) next = std::min(next, now + moving[i]->left / rates[i]);
      if (next == std::numeric_limits<double>::infinity()) return ends_;
      count_meetings(moving, rates, capacities, next - now);
      for (std::size_t i = 0; i < moving.size(); ++i) {
        Message& message = *moving[i];
        const double end = now + message.left / rates[i];
        message.left -= rates[i] * (next - now);
        if (end > next + 1e-3) continue;  // a thousandth of a picosecond
        message.stage = Held;
        message.arrived = true;
        message.at = next;
      }
      now = next;
      std::vector<Message*> received;
      for (Message& message : messages_)
        if (message.stage == Held && message.received <= now) received.push_back(&message);
      std::stable_sort(received.begin(), received.end(),
                       [](const Message* a, const Message* b) { return a->at < b->at; });
      for (Message* message : received) {
        double& free = reducer_free[message->to];
        free = std::max(free, now);
        message->stage = Reducing;
        message->at = message->reduction > 0 ? free += message->reduction : now;
      }
      for (Message& message : messages_) {
        if (message.stage == Delayed && message.at <= now) message.stage = Begun;
        if (message.stage == Begun && arrived(message.behind)) message.stage = Moving;
        if (message.stage == Reducing && message.at <= now) {
          message.stage = Done;
          ends_[message.collective] = std::max(ends_[message.collective], now);
        }
      }
    }
  }

  /// For how long, in ps, bytes of two collectives were on a full link, by (link, one, other).
  const std::map<std::tuple<LinkId, std::size_t, std::size_t>, double>& met() const { return met_; }

 private:
  enum Stage { Waiting, Delayed, Begun, Moving, Held, Reducing, Done };
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);
  struct Message {
    std::size_t collective = 0;
    double earliest = 0, received = 0;   // when its sender and its receiver start
    std::vector<std::size_t> waits_for;  // until these are reduced
    std::vector<std::size_t> behind;     // until all bytes of these have arrived
    std::size_t after = nothing;
    Rank to = 0;
    double left = 0, reduction = 0, delay = 0, at = 0;
    std::vector<LinkUse> uses;
    bool arrived = false;
    Stage stage = Waiting;
  };

  void count_meetings(const std::vector<Message*>& moving, std::span<const double> rates,
                      const std::vector<double>& capacities, double lasts) {
    std::map<LinkId, double> used;
    std::map<LinkId, std::set<std::size_t>> users;
    for (std::size_t i = 0; i < moving.size(); ++i)
      for (const LinkUse& use : moving[i]->uses) {
        used[use.link] += rates[i];
        users[use.link].insert(moving[i]->collective);
      }
    for (const auto& [link, collectives] : users)
      for (const std::size_t one : collectives)
        for (const std::size_t other : collectives)
          if (one != other && used[link] > capacities[link] * (1 - 1e-9)) met_[{link, one, other}] += lasts;
  }

  bool arrived(const std::vector<std::size_t>& messages) const {
    return std::all_of(messages.begin(), messages.end(), [&](std::size_t one) { return messages_[one].arrived; });
  }

  bool ready(const Message& message) const {
    if (message.after != nothing && !messages_[message.after].arrived) return false;
    for (const std::size_t other : message.waits_for)
      if (messages_[other].stage != Done) return false;
    return true;
  }

  const Topology& topology_;
  double alpha_, gamma_;
  std::vector<Message> messages_;
  std::vector<double> ends_;
  std::map<std::tuple<LinkId, std::size_t, std::size_t>, double> met_;
};

}  // namespace allreplay
