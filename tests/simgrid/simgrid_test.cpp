// The same messages on the same links in SimGrid (network model CM02, no cross-traffic) and in `message`.
//
// SimGrid gets our routes, and a communication per message, with the dependencies that message.hpp gives it. A start-up
// passes while a message waits for its stream, so that it is an execution of its own, on a host with cores for all;
// links have no latency left, since CM02 would favour routes of low latency. Its TCP window, which bounds a rate by
// latency, is switched off. Its lazy updates are off, too: with them it ends double binary trees on the star 1.6e-6
// earlier than without.
#include <cstdlib>
#include <map>
#include <set>
#include <simgrid/s4u.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/replay/network/networks.hpp"

using namespace allreplay;

namespace {

constexpr double speed = 1e9;  // flop/s of a core

double run_simgrid(const Rounds& rounds, const Topology& topology, double alpha, double bytes) {
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
    hosts.push_back(zone->create_host("h" + std::to_string(rank), speed)->set_core_count(100'000)->seal());
  std::vector<sg::Link*> links;
  for (const Link& link : topology.links())
    links.push_back(zone->create_link("l" + std::to_string(links.size()), link.bandwidth)->set_latency(0)->seal());
  std::map<std::pair<Rank, Rank>, bool> routed;
  std::map<std::uint32_t, std::vector<sg::CommPtr>> into, out;  // by slot: of all rounds before
  std::map<std::uint32_t, sg::CommPtr> channel;
  std::vector<sg::CommPtr> all;
  std::vector<sg::ExecPtr> start_ups;
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
      std::map<std::uint32_t, std::vector<sg::CommPtr>> arriving, leaving;
      for (Rank from = 0; from < rounds.ranks; ++from) {
        sends.clear();
        round.sends(from, turn, sends);
        for (const Send& send : sends) {
          const std::uint32_t slot = from * rounds.streams + send.stream,
                              receiver = send.to * rounds.streams + send.into;
          std::vector<LinkId> path;
          topology.route(from, send.to, path);
          double start_up = alpha;
          for (const LinkId link : path) start_up += topology.links()[link].latency;
          auto starts = sg::Exec::init()->set_flops_amount(start_up * speed)->set_host(hosts[from]);
          auto comm = sg::Comm::sendto_init(hosts[from], hosts[send.to]);
          comm->set_payload_size(
              static_cast<std::uint64_t>(bytes * static_cast<double>(send.count) * rounds.piece_share));
          starts->add_successor(comm);
          for (const auto& before : into[slot]) before->add_successor(starts);
          if (send.channel != no_channel) {
            if (channel.count(send.channel)) channel[send.channel]->add_successor(starts);
            channel[send.channel] = comm;
          } else {
            std::set<sg::CommPtr> earlier(out[slot].begin(), out[slot].end());
            earlier.insert(into[receiver].begin(), into[receiver].end());
            for (const auto& before : earlier) before->add_successor(comm);
          }
          arriving[receiver].push_back(comm);
          leaving[slot].push_back(comm);
          all.push_back(comm);
          start_ups.push_back(starts);
        }
      }
      for (auto& [slot, comms] : arriving) into[slot].insert(into[slot].end(), comms.begin(), comms.end());
      for (auto& [slot, comms] : leaving) out[slot].insert(out[slot].end(), comms.begin(), comms.end());
    }
  for (auto& starts : start_ups) starts->vetoable_start();
  for (auto& comm : all) comm->vetoable_start();
  engine.run();
  return sg::Engine::get_clock();
}

// In a process of its own: there is one SimGrid per process.
double simgrid_time(const Rounds& rounds, const Topology& topology, double alpha, double bytes) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const double time = run_simgrid(rounds, topology, alpha, bytes);
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
  networks.emplace_back("star", star(16, links));
  networks.emplace_back("fat-tree", fat_tree(4, 16, links));
  networks.emplace_back("leaf-spine", leaf_spine(4, 4, 2, 2, links));
  TopologySpec slow{.kind = TopologyKind::Star, .link = links};
  slow.changes = {{"h3", "s0", std::nullopt, 0.125e9, false, {}}};
  networks.emplace_back("star with a slow link", make_topology(slow, 16));
  for (const auto& [name, topology] : networks)
    for (const double alpha : {0.0, 45e-6})
      for (const char* collective : {"ring", "recursive-doubling", "halving-doubling", "binary-tree",
                                     "parameter-server", "double-binary-tree", "pat", "bml"}) {
        const NetworkSetup what = setup(collective, 16, Fidelity::Message, alpha);
        const auto fabric = lay_on(what, *topology);
        const double ours = to_seconds(fabric->alone(bytes));
        const double theirs =
            simgrid_time(fabric->rounds_laid(fabric->id_of(CollectiveOp::AllReduce), topology->group_size()), *topology,
                         alpha, static_cast<double>(bytes));
        INFO(collective << " on " << name << ", alpha " << alpha);
        CHECK(ours == Approx(theirs).epsilon(1e-8));
      }
}
