// Collectives of 100 MB in SimGrid and in `message`, timed one after the other (docs/dev/performance.md): an actor per
// rank, as SimGrid's users write them, on SimGrid's own star and Fat-Tree; CM02, no cross-traffic, all else as SimGrid
// has it. Every line is a process of its own: there is one SimGrid per process.
//   simgrid_benchmark [NAME…]      the lines whose names contain any of these (default: all)
#include <chrono>
#include <functional>
#include <simgrid/s4u.hpp>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "tests/replay/network/networks.hpp"

#include "sim/base/core/time.hpp"
#include "sim/replay/network/rounds_fabric.hpp"

using namespace allreplay;
namespace sg = simgrid::s4u;

namespace {

constexpr LinkSpec ten_gigabit{1e-6, 1.25e9};
constexpr Bytes all_bytes = 100'000'000;
constexpr int chunks = 16;  // of each tree

std::vector<sg::Host*> simgrid_star(int workers) {
  auto* zone = sg::create_star_zone("star");
  std::vector<sg::Host*> hosts;
  for (int rank = 0; rank < workers; ++rank) {
    auto* host = zone->create_host("h" + std::to_string(rank), 1e9)->seal();
    auto* link = zone->create_split_duplex_link("l" + std::to_string(rank), ten_gigabit.bandwidth)
                     ->set_latency(ten_gigabit.latency)
                     ->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{link, sg::LinkInRoute::Direction::UP}}, true);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

std::int64_t ports_for(std::int64_t workers) {
  std::int64_t ports = 4;
  while (ports * ports * ports / 4 < workers) ports += 2;
  return ports;
}

std::vector<sg::Host*> simgrid_fat_tree(int workers) {
  const auto k = static_cast<unsigned>(ports_for(workers));
  std::vector<sg::Host*> hosts;
  const auto make_host = [&](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    hosts.push_back(zone->create_host("h" + std::to_string(id), 1e9)->seal());
    return std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*>(
        hosts.back()->get_netpoint(), nullptr);
  };
  auto* zone = sg::create_fatTree_zone("fat-tree", nullptr, {3, {k / 2, k / 2, k}, {1, k / 2, k / 2}, {1, 1, 1}},
                                       sg::ClusterCallbacks(make_host), ten_gigabit.bandwidth, ten_gigabit.latency,
                                       sg::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();
  hosts.resize(static_cast<std::size_t>(workers));
  return hosts;
}

std::string payload = "x";  // only the duration matters, not the contents

sg::Mailbox* box(const std::string& kind, int from, int to) {
  return sg::Mailbox::by_name(fmt::format("{} {} {}", kind, from, to));
}

void ring_actors(const std::vector<sg::Host*>& hosts) {
  const int workers = static_cast<int>(hosts.size());
  for (int rank = 0; rank < workers; ++rank)
    sg::Actor::create("rank", hosts[static_cast<std::size_t>(rank)], [rank, workers] {
      auto* right = box("ring", rank, (rank + 1) % workers);
      auto* left = box("ring", (rank + workers - 1) % workers, rank);
      for (int round = 0; round < 2 * (workers - 1); ++round) {
        auto sent = right->put_async(&payload, static_cast<std::uint64_t>(all_bytes / workers));
        left->get<std::string>();
        sent->wait();
      }
    });
}

// Both trees, up and down by an actor each; the root turns every chunk round. One message at a time per edge and
// direction.
void tree_actors(const std::vector<sg::Host*>& hosts) {
  const int workers = static_cast<int>(hosts.size());
  constexpr auto bytes = static_cast<std::uint64_t>(all_bytes / 2 / chunks);
  for (int tree = 0; tree < 2; ++tree)
    for (int place = 0; place < workers; ++place) {
      const auto rank = [tree, workers](int at) { return tree == 0 ? at : workers - 1 - at; };
      std::vector<int> below;
      for (const int child : {2 * place + 1, 2 * place + 2})
        if (child < workers) below.push_back(rank(child));
      const int self = rank(place), above = place == 0 ? -1 : rank((place - 1) / 2);
      const std::string up = "up" + std::to_string(tree), down = "down" + std::to_string(tree);
      const auto send_down = [self, below, down](std::vector<sg::CommPtr>& sent) {
        for (auto& one : sent) one->wait();
        sent.clear();
        for (const int child : below) sent.push_back(box(down, self, child)->put_async(&payload, bytes));
      };
      auto* host = hosts[static_cast<std::size_t>(self)];
      sg::Actor::create("up", host, [=] {
        std::vector<sg::CommPtr> sent;
        for (int chunk = 0; chunk < chunks; ++chunk) {
          for (const int child : below) box(up, child, self)->get<std::string>();
          if (above < 0) {
            send_down(sent);
          } else {
            for (auto& one : sent) one->wait();
            sent = {box(up, self, above)->put_async(&payload, bytes)};
          }
        }
        for (auto& one : sent) one->wait();
      });
      if (above >= 0)
        sg::Actor::create("down", host, [=] {
          std::vector<sg::CommPtr> sent;
          for (int chunk = 0; chunk < chunks; ++chunk) {
            box(down, above, self)->get<std::string>();
            send_down(sent);
          }
          for (auto& one : sent) one->wait();
        });
    }
}

double simgrid_run(int workers, bool fat, bool trees) {
  int count = 5;
  const char* arguments[] = {"benchmark",
                             "--cfg=network/model:CM02",
                             "--cfg=network/crosstraffic:0",
                             "--cfg=network/TCP-gamma:0",
                             "--log=root.thres:critical",
                             nullptr};
  sg::Engine engine(&count, const_cast<char**>(arguments));
  const auto hosts = fat ? simgrid_fat_tree(workers) : simgrid_star(workers);
  trees ? tree_actors(hosts) : ring_actors(hosts);
  engine.run();
  return sg::Engine::get_clock();
}

double our_run(int workers, bool fat, bool trees) {
  const auto topology = fat ? fat_tree(ports_for(workers), workers, ten_gigabit) : star(workers, ten_gigabit);
  NetworkSetup what = setup(trees ? "double-binary-tree" : "ring", workers, Fidelity::Message, 0);
  what.reuse = false;
  return to_seconds(lay_on(what, *topology)->alone(all_bytes));
}

// In a process of its own: its wall-clock and processor time, its memory, and the simulated time.
void measure(const std::string& name, const std::function<double()>& run) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const auto start = std::chrono::steady_clock::now();
    const double found = run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    fmt::print("{:<36} {:8.3f} s  CPU {:8.3f} s  {:5.0f} MB  simulated {:.9f} s\n", name, took.count(), cpu,
               static_cast<double>(used.ru_maxrss) / 1024, found);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fmt::print("{:<40} ended with status {}\n", name, status);
}

}  // namespace

int main(int count, char** words) {
  struct Line {
    int workers;
    bool fat, trees;
  };
  for (const Line& line : {Line{512, false, false}, {2048, false, false}, {2048, true, false}, {1024, true, true}}) {
    const std::string name =
        fmt::format("{}/{}/{}", line.trees ? "double-trees" : "ring", line.fat ? "fat-tree" : "star", line.workers);
    bool wanted = count == 1;
    for (int word = 1; word < count; ++word) wanted |= name.find(words[word]) != std::string::npos;
    if (!wanted) continue;
    measure(name + " allreplay", [&] { return our_run(line.workers, line.fat, line.trees); });
    measure(name + " SimGrid", [&] { return simgrid_run(line.workers, line.fat, line.trees); });
  }
}
