#include "sim/network/link_load.hpp"

#include <algorithm>

#include "sim/network/round_traffic.hpp"

namespace allreplay {

namespace {

// Calls `visit(from, to, pieces, route)` for every message of a distinct round, its repetitions in `pieces`.
template <class Visit>
void for_each_message(const Rounds& rounds, const Topology& topology, const Visit& visit) {
  std::vector<Send> sends;
  std::vector<LinkId> path;
  for (const Round& round : rounds.rounds)
    for (Rank rank = 0; rank < rounds.ranks; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      for (const Send& send : sends) {
        path.clear();
        topology.route(rank, send.to, path);
        visit(rank, send.to, static_cast<double>(send.count * round.repeat), path);
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
      loads[link] += traffic.loads[link] * static_cast<double>(round.repeat);  // whole pieces: exact in any order
  }
  for (double& load : loads) load *= rounds.piece_share;
  return loads;
}

std::vector<LinkUsers> link_users(const Rounds& rounds, const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<LinkUsers> users(links.size());
  for_each_message(rounds, topology, [&](Rank from, Rank to, double pieces, const std::vector<LinkId>& path) {
    for (std::size_t i = 0; i < links.size(); ++i)
      if (std::find(path.begin(), path.end(), links[i]) != path.end())
        users[i][{from, to}] += pieces * rounds.piece_share;
  });
  return users;
}

}  // namespace allreplay
