#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/random.hpp"
#include "sim/base/core/text.hpp"
#include "sim/studies/jobs/seated_job.hpp"

namespace allreplay {

namespace {

// The pieces that jobs take: single seats or, with `whole_nodes`, machines. Numbered in the order of seats.
class SeatPool {
 public:
  explicit SeatPool(const Seating& seating)
      : seating_(seating),
        size_(seating.whole_nodes ? seating.network->gpus_per_host() : 1),
        taken_(static_cast<std::size_t>((seating.seats + size_ - 1) / size_), false) {
    const Topology& network = *seating.network;
    const std::int64_t gpus = network.gpus_per_host();
    for (std::int64_t machine = 0; machine * gpus < seating.seats; ++machine)
      machines_.emplace(network.name(network.machine_node(machine)), machine);
  }

  std::size_t pieces() const { return taken_.size(); }
  std::size_t needed(std::int64_t workers) const { return static_cast<std::size_t>((workers + size_ - 1) / size_); }
  bool taken(std::size_t piece) const { return taken_[piece]; }

  // Returns the pieces of a host.
  std::vector<std::size_t> pieces_of(const NamedHost& host) const {
    const auto machine = machines_.find(host.name);
    if (machine == machines_.end())
      throw InputError(host.place, fmt::format("there is no host '{}'", host.name),
                       fmt::format("from '{}' on, {} in total",
                                   seating_.network->name(seating_.network->machine_node(0)), machines_.size()));
    const std::int64_t each = seating_.network->gpus_per_host() / size_;
    std::vector<std::size_t> pieces;
    for (std::int64_t i = machine->second * each; i < (machine->second + 1) * each; ++i)
      if (static_cast<std::size_t>(i) < taken_.size()) pieces.push_back(static_cast<std::size_t>(i));
    return pieces;
  }

  // Takes as many pieces as the workers need, in this order; returns the seats by rank.
  std::vector<NodeId> take(std::span<const std::size_t> pieces, std::int64_t workers) {
    std::vector<NodeId> seats;
    for (const std::size_t piece : pieces.first(needed(workers))) {
      taken_[piece] = true;
      for (std::int64_t i = 0; i < size_ && std::ssize(seats) < workers; ++i)
        seats.push_back(static_cast<NodeId>(static_cast<std::int64_t>(piece) * size_ + i));
    }
    return seats;
  }

 private:
  const Seating& seating_;
  std::int64_t size_;
  std::vector<bool> taken_;
  std::map<std::string, std::int64_t> machines_;
};

// Returns the pieces of the listed hosts, in the order in which the job's ranks take them.
std::vector<std::size_t> listed(const SeatPool& pool, const JobEntry& job, const SeatChoice& choice) {
  std::vector<std::size_t> order;
  std::set<std::size_t> chosen;
  std::size_t wanted = pool.needed(job.workers);
  for (const NamedHost& host : choice.placement.hosts)
    for (const std::size_t piece : pool.pieces_of(host)) {
      if (wanted == 0) return order;
      if (pool.taken(piece) || !chosen.insert(piece).second)
        throw InputError(host.place, fmt::format("'{}' is already taken", host.name),
                         "each host for one job, and once");
      order.push_back(piece);
      --wanted;
    }
  return order;
}

std::vector<std::size_t> free_pieces(const Seating& seating, const SeatPool& pool, const SeatChoice& choice,
                                     std::uint64_t number) {
  std::vector<std::size_t> order(pool.pieces());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (choice.placement.kind == Placement::Kind::Spread) {
    if (seating.spread.empty())
      throw InputError(choice.placement.place, "spread cannot be combined with nodes, which are filled in order",
                       "packed, or a list of hosts");
    order.assign(seating.spread.begin(), seating.spread.end());
    std::erase_if(order, [&](std::size_t piece) { return piece >= pool.pieces(); });
  }
  std::erase_if(order, [&](std::size_t piece) { return pool.taken(piece); });
  if (choice.shuffled) {
    Random random(*choice.shuffled, number);
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

}  // namespace

std::vector<std::vector<NodeId>> seat_jobs(const Seating& seating, std::span<const JobEntry> jobs,
                                           std::span<const SeatChoice> choices) {
  SeatPool pool(seating);
  const std::string piece = seating.whole_nodes ? "node" : "seat";
  std::vector<std::vector<NodeId>> seats(jobs.size());
  for (const bool lists : {true, false})
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const SeatChoice& choice = choices[job];
      if ((choice.placement.kind == Placement::Kind::Listed) != lists) continue;
      const std::vector<std::size_t> pieces =
          lists ? listed(pool, jobs[job], choice) : free_pieces(seating, pool, choice, job);
      const std::size_t needed = pool.needed(jobs[job].workers);
      if (pieces.size() < needed && lists)
        throw InputError(choice.placement.place,
                         fmt::format("the list is too short: {} for {} workers", counted(std::ssize(pieces), piece),
                                     jobs[job].workers),
                         "hosts with " + counted(static_cast<std::int64_t>(needed), piece));
      if (pieces.size() < needed)
        throw InputError(jobs[job].place,
                         fmt::format("'{}' finds {} for {} workers", jobs[job].name,
                                     counted(std::ssize(pieces), "free " + piece), jobs[job].workers),
                         fmt::format("a cluster of more than {} workers, or smaller jobs", seating.seats));
      seats[job] = pool.take(pieces, jobs[job].workers);
    }
  return seats;
}

}  // namespace allreplay
