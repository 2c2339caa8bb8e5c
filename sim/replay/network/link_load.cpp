#include "sim/replay/network/link_load.hpp"

#include <algorithm>

#include "sim/replay/network/round_traffic.hpp"

namespace allreplay {

namespace {

// Calls `visit(from, to, pieces, links)` for every message of a distinct round; `pieces` includes the repetitions.
template <class Visit>
void for_each_message(const Rounds& rounds, const Topology& topology, const Visit& visit) {
  std::vector<Send> sends;
  std::vector<LinkShare> links;
  for (const Round& round : rounds.rounds)
    for (Rank rank = 0; rank < rounds.ranks; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      for (const Send& send : sends) {
        links.clear();
        topology.shares(rank, send.to, send.stream, 0, links);
        visit(rank, send.to, static_cast<double>(send.count * round.repeat), links);
      }
    }
}

}  // namespace

std::vector<double> link_loads(const Rounds& rounds, const Topology& topology) {
  std::vector<double> loads(topology.links().size(), 0);
  TrafficCounter counter(rounds, topology);
  for (const Round& round : rounds.rounds) {
    const RoundTraffic& traffic = counter.count(round);
    for (LinkId link = 0; link < loads.size(); ++link)
      loads[link] += traffic.loads[link] * static_cast<double>(round.repeat);
  }
  for (double& load : loads) load *= rounds.piece_share;
  return loads;
}

std::vector<LinkUsers> link_users(const Rounds& rounds, const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<LinkUsers> users(links.size());
  for_each_message(rounds, topology, [&](Rank from, Rank to, double pieces, const std::vector<LinkShare>& used) {
    for (std::size_t i = 0; i < links.size(); ++i)
      for (const auto& [link, share] : used)
        if (link == links[i]) users[i][{from, to}] += pieces * share * rounds.piece_share;
  });
  return users;
}

}  // namespace allreplay
