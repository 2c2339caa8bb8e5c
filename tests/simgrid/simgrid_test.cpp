// The same messages on the same links in SimGrid (network model CM02, no cross-traffic) and in `message`.
//
// SimGrid gets our routes, and a communication per message, with the dependencies that rounds.hpp gives it. Two things
// are arranged so that both mean the same: CM02 favours routes of low latency, so only the links at the hosts have any
// (the same for all routes); and its TCP window, which bounds a rate by latency, is switched off. Its lazy updates are
// off, too: with them it ends double binary trees on the star 1.6e-6 earlier than without.
#include <cstdlib>
#include <map>
#include <simgrid/s4u.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/network/networks.hpp"

using namespace allreplay;

namespace {

// A network with latencies at its hosts only.
class EdgeLatency final : public Topology {
 public:
  explicit EdgeLatency(std::unique_ptr<Topology> network) : network_(std::move(network)) {
    hosts_ = network_->hosts();
    switches_ = network_->switches();
    links_.assign(network_->links().begin(), network_->links().end());
    for (Link& link : links_)
      if (link.from >= hosts_ && link.to >= hosts_) link.latency = 0;
  }
  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override { network_->route(from, to, path); }
  std::string name(NodeId node) const override { return network_->name(node); }

 private:
  std::unique_ptr<Topology> network_;
};

double run_simgrid(const Rounds& rounds, const Topology& topology, double bytes) {
  namespace sg = simgrid::s4u;
  int count = 7;
  const char* arguments[] = {"test",
                             "--cfg=network/model:CM02",
                             "--cfg=network/crosstraffic:0",
                             "--cfg=network/TCP-gamma:0",
                             "--cfg=network/optim:Full",
                             "--cfg=surf/precision:1e-12",
                             "--log=root.thres:critical",
                             nullptr};
  sg::Engine engine(&count, const_cast<char**>(arguments));
  auto* zone = sg::create_full_zone("zone");
  std::vector<sg::Host*> hosts;
  for (Rank rank = 0; rank < rounds.ranks; ++rank)
    hosts.push_back(zone->create_host("h" + std::to_string(rank), 1e9)->seal());
  std::vector<sg::Link*> links;
  for (const Link& link : topology.links())
    links.push_back(
        zone->create_link("l" + std::to_string(links.size()), link.bandwidth)->set_latency(link.latency)->seal());
  std::map<std::pair<Rank, Rank>, bool> routed;
  std::map<std::uint32_t, std::vector<sg::CommPtr>> into, latest;  // by slot: of all rounds before, of this one
  std::map<std::uint32_t, sg::CommPtr> channel;
  std::vector<sg::CommPtr> all;
  std::vector<Send> sends;
  for (const Round& round : rounds.rounds)
    for (Rank from = 0; from < rounds.ranks; ++from) {
      sends.clear();
      round.sends(from, 0, sends);
      for (const Send& send : sends) {
        if (!routed.emplace(std::pair(from, send.to), true).second) continue;
        std::vector<LinkId> path;
        topology.route(from, send.to, path);
        std::vector<sg::LinkInRoute> way;
        for (const LinkId link : path) way.emplace_back(links[link]);
        zone->add_route(hosts[from]->get_netpoint(), hosts[send.to]->get_netpoint(), nullptr, nullptr, way, false);
      }
    }
  zone->seal();
  for (const Round& round : rounds.rounds)
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
      std::map<std::uint32_t, std::vector<sg::CommPtr>> arriving;
      for (Rank from = 0; from < rounds.ranks; ++from) {
        sends.clear();
        round.sends(from, turn, sends);
        for (const Send& send : sends) {
          auto comm = sg::Comm::sendto_init(hosts[from], hosts[send.to]);
          comm->set_payload_size(
              static_cast<std::uint64_t>(bytes * static_cast<double>(send.count) * rounds.piece_share));
          for (const auto& before : into[from * rounds.streams + send.stream]) before->add_successor(comm);
          if (send.channel != no_channel) {
            if (channel.count(send.channel)) channel[send.channel]->add_successor(comm);
            channel[send.channel] = comm;
          }
          arriving[send.to * rounds.streams + send.into].push_back(comm);
          all.push_back(comm);
        }
      }
      for (auto& [slot, comms] : arriving)
        for (auto& comm : comms) into[slot].push_back(comm);
    }
  for (auto& comm : all) comm->vetoable_start();
  engine.run();
  return sg::Engine::get_clock();
}

// In a process of its own: there is one SimGrid per process.
double simgrid_time(const Rounds& rounds, const Topology& topology, double bytes) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const double time = run_simgrid(rounds, topology, bytes);
    const bool written = write(ends[1], &time, sizeof time) == sizeof time;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double time = -1;
  const bool got = read(ends[0], &time, sizeof time) == sizeof time;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(got);
  return time;
}

}  // namespace

TEST_CASE("SimGrid finds the same times") {
  const LinkSpec links = link(3e-6, 1.25e9);
  // Whole bytes per message, as SimGrid has them: M divides by N and by the chunks of both trees.
  const Bytes bytes = 1 << 25;
  std::vector<std::pair<std::string, std::unique_ptr<Topology>>> networks;
  networks.emplace_back("star", std::make_unique<EdgeLatency>(star(16, links)));
  networks.emplace_back("fat-tree", std::make_unique<EdgeLatency>(fat_tree(4, 16, links)));
  for (const auto& [name, topology] : networks)
    for (const char* collective :
         {"ring", "recursive-doubling", "halving-doubling", "binary-tree", "parameter-server", "double-binary-tree"}) {
      const NetworkSetup what = setup(collective, 16, Fidelity::Message);
      const double ours = to_seconds(lay_on(what, *topology)->alone(bytes));
      const double theirs = simgrid_time(what.algorithm->rounds(16, what.options, CollectiveOp::AllReduce, what.place),
                                         *topology, static_cast<double>(bytes));
      INFO(collective << " on " << name);
      CHECK(ours == Approx(theirs).epsilon(1e-8));
    }
}
