// A second, naive implementation of the fidelity `fluid` from docs/network.md: every message of every round loads each
// link of its route, all speeds are recomputed at every instant, the whole future is simulated again at every start,
// and the longest path is found message by message, in time.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"
#include "sim/replay/engine/server.hpp"

namespace allreplay {

class NaiveFluid final : public Server {
 public:
  /// A task's `call_id` is an index of `collectives`.
  NaiveFluid(const std::vector<Rounds>& collectives, const Topology& topology, double alpha, double gamma) {
    for (const Rounds& rounds : collectives) {
      Collective& collective = collectives_.emplace_back();
      collective.slots = rounds.ranks * rounds.streams;
      for (const Round& round : rounds.rounds)
        for (std::int64_t turn = 0; turn < round.repeat; ++turn)
          collective.rounds.push_back(cost_of(rounds, round, turn, topology, alpha, gamma));
    }
  }

  /// Returns the time in ps of a collective without contention and reductions.
  double alone(std::size_t collective, double bytes) const { return alone(collectives_[collective], bytes); }

  void start(TaskId id, const Task& task, Time now) override {
    const double at = static_cast<double>(now.count());
    ahead_.reset();
    run(state_, at);
    Running running{id, collectives_[task.call_id].rounds, task.bytes};
    if (task.bytes <= 0)
      running.round = running.costs->size();
    else
      set_pace(running, collectives_[task.call_id]);
    begin_round(running, at);
    state_.running.push_back(running);
  }

  Time next_completion() const override {
    if (!ahead_) run(ahead_.emplace(state_), forever);
    double end = forever;
    for (const Running& running : ahead_->running)
      if (running.ended()) end = std::min(end, running.at);
    return end == forever ? never : Time(static_cast<std::int64_t>(end));
  }

  void complete(Time now, std::vector<TaskId>& done) override {
    if (now != next_completion()) return;
    state_ = *ahead_;
    ahead_.reset();
    std::erase_if(state_.running, [&](const Running& running) {
      if (!running.ended() || running.at > static_cast<double>(now.count())) return false;
      done.push_back(running.id);
      return true;
    });
  }

  Load load() const override { return {static_cast<std::int64_t>(state_.running.size()), 0}; }
  std::int64_t events() const override { return state_.rounds; }

 private:
  static constexpr double forever = std::numeric_limits<double>::infinity();

  // Times in ps, or in ps per byte of the block.
  struct RoundCost {
    double start_up = 0;
    std::vector<double> links;  // busy time of each
    double busiest = 0;         // the longest of these
    double reduction = 0;
    struct Message {
      std::uint32_t from, into, channel;  // slots
      double start_up;
      std::vector<LinkId> path;
    };
    std::vector<Message> messages;
    bool uniform = true;  // all have the same start-up and equal links
    bool all_pairs = false;
  };
  struct Collective {
    std::uint32_t slots = 0;
    std::vector<RoundCost> rounds;
  };
  enum class Doing : std::uint8_t { StartUp, Move, Reduce };
  struct Running {
    Running(TaskId task, const std::vector<RoundCost>& rounds, double size) : id(task), costs(&rounds), bytes(size) {}
    TaskId id;
    const std::vector<RoundCost>* costs;
    double bytes;
    std::size_t round = 0;
    Doing doing = Doing::StartUp;
    double at = 0;                    // StartUp, Reduce: its end
    double left = 0;                  // Move: remaining time at full speed
    double speed = 0;                 // Move: fraction of full speed
    double start_ups = 1, moves = 1;  // factors of the times of start-up and move

    const RoundCost& cost() const { return (*costs)[round]; }
    bool ended() const { return round == costs->size(); }
  };
  struct State {
    double now = 0;
    std::int64_t rounds = 0;
    std::vector<Running> running;
  };

  static RoundCost cost_of(const Rounds& rounds, const Round& round, std::int64_t turn, const Topology& topology,
                           double alpha, double gamma) {
    RoundCost cost;
    cost.links.assign(topology.links().size(), 0);
    std::vector<double> reduced(rounds.ranks, 0);
    double latency = 0;
    std::set<std::pair<Rank, Rank>> pairs;
    std::set<Rank> senders, receivers;
    std::set<double> start_ups, bandwidths;
    for (Rank from = 0; from < rounds.ranks; ++from) {
      std::vector<Send> sends;
      round.sends(from, turn, sends);
      for (const Send& send : sends) {
        const double share = static_cast<double>(send.count) * rounds.piece_share;
        std::vector<LinkId> path;
        topology.route(from, send.to, path);
        double on_the_way = 0;
        for (const LinkId link : path) {
          on_the_way += topology.links()[link].latency;
          cost.links[link] += share / topology.links()[link].bandwidth * 1e12;
          bandwidths.insert(topology.links()[link].bandwidth);
        }
        cost.messages.push_back({from * rounds.streams + send.stream, send.to * rounds.streams + send.into,
                                 send.channel, (alpha + on_the_way) * 1e12, path});
        start_ups.insert(on_the_way);
        senders.insert(from);
        receivers.insert(send.to);
        pairs.insert({from, send.to});
        latency = std::max(latency, on_the_way);
        if (send.reduce && rounds.reduction_costs) reduced[send.to] += share;
      }
    }
    cost.busiest = *std::max_element(cost.links.begin(), cost.links.end());
    cost.start_up = (alpha + latency) * 1e12;
    cost.uniform = start_ups.size() == 1 && bandwidths.size() == 1;
    std::size_t possible = 0;
    for (const Rank from : senders) possible += receivers.size() - receivers.count(from);
    cost.all_pairs = pairs.size() == cost.messages.size() && pairs.size() == possible &&
                     pairs.size() > std::max(senders.size(), receivers.size());
    cost.reduction = gamma * *std::max_element(reduced.begin(), reduced.end()) * 1e12;
    return cost;
  }

  // Computes the times of every slot, round by round.
  static double longest_path(const Collective& collective, double bytes) {
    std::vector<double> ready(collective.slots, 0), out = ready, in = ready;
    std::map<std::uint32_t, double> channels;
    for (const RoundCost& round : collective.rounds) {
      const double longest = *std::max_element(round.links.begin(), round.links.end()) * bytes;
      double longest_start_up = 0, least_start_up = forever, least_move = forever;
      std::vector<double> ends;
      std::set<std::uint32_t> active;
      bool on_channels = false;
      for (const RoundCost::Message& message : round.messages) {
        double move = 0;
        for (const LinkId link : message.path) move = std::max(move, round.links[link] * bytes);
        if (round.uniform) move = longest;
        const bool channel = message.channel != no_channel;
        const double begin =
            channel ? std::max(ready[message.from], channels[message.channel]) + message.start_up
                    : std::max({ready[message.from] + message.start_up, out[message.from], in[message.into]});
        ends.push_back(begin + move);
        on_channels |= channel;
        active.insert({message.from, message.into});
        longest_start_up = std::max(longest_start_up, message.start_up);
        least_start_up = std::min(least_start_up, message.start_up);
        least_move = std::min(least_move, move);
      }
      if (round.all_pairs) {
        const double last = *std::max_element(ready.begin(), ready.end()) + longest_start_up + longest;
        ready.assign(ready.size(), last);
        out.assign(out.size(), 0);
        in.assign(in.size(), 0);
        continue;
      }
      for (std::uint32_t slot = 0; slot < collective.slots && !on_channels; ++slot)
        if (active.count(slot) == 0) ready[slot] += least_start_up + least_move;
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const RoundCost::Message& message = round.messages[i];
        for (double* time : {&ready[message.into], &out[message.from], &in[message.into]})
          *time = std::max(*time, ends[i]);
        if (message.channel != no_channel) channels[message.channel] = ends[i];
      }
    }
    return *std::max_element(ready.begin(), ready.end());
  }

  static double alone(const Collective& collective, double bytes) {
    std::vector<double> busy(collective.rounds.front().links.size(), 0);
    for (const RoundCost& round : collective.rounds)
      for (std::size_t link = 0; link < busy.size(); ++link) busy[link] += round.links[link] * bytes;
    return std::max(longest_path(collective, bytes), *std::max_element(busy.begin(), busy.end()));
  }

  static void set_pace(Running& running, const Collective& collective) {
    double start_ups = 0, moves = 0;
    for (const RoundCost& round : collective.rounds) {
      start_ups += round.start_up;
      moves += round.busiest * running.bytes;
    }
    const double time = alone(collective, running.bytes);
    if (time >= (start_ups + moves) * (1 - 1e-12)) return;
    if (moves > 0) running.moves = std::min(1.0, time / moves);
    if (start_ups > 0) running.start_ups = std::max(0.0, time - moves) / start_ups;
  }

  static void begin_round(Running& running, double at) {
    running.doing = Doing::StartUp;
    running.at = running.ended() ? at : at + running.cost().start_up * running.start_ups;
  }

  // Runs to `until`, or until a collective ends.
  static void run(State& state, double until) {
    for (;;) {
      share_links(state.running);
      double next = forever;
      for (const Running& running : state.running) {
        if (running.ended()) return;
        next = std::min(next, end_of_doing(running, state.now));
      }
      if (next > until || next == forever) break;
      go_on(state, std::max(state.now, next));
    }
    if (until != forever) go_on(state, std::max(state.now, until));
  }

  static double end_of_doing(const Running& running, double now) {
    return running.doing == Doing::Move ? now + running.left / running.speed : running.at;
  }

  static void go_on(State& state, double to) {
    for (Running& running : state.running) {
      const bool over = end_of_doing(running, state.now) <= to;
      if (running.doing == Doing::Move && !over) running.left -= (to - state.now) * running.speed;
      if (!over) continue;
      switch (running.doing) {
        case Doing::StartUp:
          ++state.rounds;
          running.doing = Doing::Move;
          running.left = running.cost().busiest * running.bytes * running.moves;
          break;
        case Doing::Move:
          running.doing = Doing::Reduce;
          running.at = std::round(to + running.cost().reduction * running.bytes);
          break;
        case Doing::Reduce:
          ++running.round;
          begin_round(running, running.at);
      }
    }
    state.now = to;
  }

  // Raises all speeds together until a link is full; speeds of its users are final, the others rise on.
  static void share_links(std::vector<Running>& all) {
    std::vector<Running*> growing;
    for (Running& running : all)
      if (!running.ended() && running.doing == Doing::Move) growing.push_back(&running);
    if (growing.empty()) return;
    const std::size_t links = growing.front()->cost().links.size();
    std::vector<double> used(links, 0);  // fraction of each link used by those with final speeds
    const auto use = [](const Running& running, std::size_t link) {
      return running.cost().links[link] / running.cost().busiest;
    };
    while (!growing.empty()) {
      std::vector<double> full_at(links, forever);
      for (std::size_t link = 0; link < links; ++link) {
        double uses = 0;
        for (const Running* running : growing) uses += use(*running, link);
        if (uses > 0) full_at[link] = (1 - used[link]) / uses;
      }
      const std::size_t full = std::min_element(full_at.begin(), full_at.end()) - full_at.begin();
      std::vector<Running*> others;
      for (Running* running : growing) {
        if (use(*running, full) == 0) {
          others.push_back(running);
          continue;
        }
        running->speed = full_at[full];
        for (std::size_t link = 0; link < links; ++link) used[link] += running->speed * use(*running, link);
      }
      growing = others;
    }
  }

  std::vector<Collective> collectives_;
  State state_;
  mutable std::optional<State> ahead_;  // at the next end, if nothing starts before
};

}  // namespace allreplay
