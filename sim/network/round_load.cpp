#include "sim/network/round_load.hpp"

#include <algorithm>
#include <limits>

namespace allreplay {

bool Shapes::Less::operator()(const Shape& a, const Shape& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const LinkUse& x, const LinkUse& y) {
    return x.link != y.link ? x.link < y.link : x.amount < y.amount;
  });
}

std::uint32_t Shapes::number(Shape shape) {
  const auto [found, fresh] = numbers_.emplace(std::move(shape), static_cast<std::uint32_t>(shapes_.size()));
  if (fresh) shapes_.push_back(&found->first);
  return found->second;
}

RoundLoads::RoundLoads(const Rounds& from, const Topology& topology, Shapes& shapes) {
  const std::span<const Link> links = topology.links();
  std::vector<double> load(links.size(), 0), total(links.size(), 0);
  std::vector<std::int64_t> reduced(from.ranks, 0);
  std::vector<Send> sends;
  std::vector<LinkId> path;
  least_latency = from.rounds.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const Round& round : from.rounds) {
    RoundLoad sum{.repeat = round.repeat};
    std::int64_t count = 0;
    std::fill(load.begin(), load.end(), 0.0);
    std::fill(reduced.begin(), reduced.end(), 0);
    for (Rank rank = 0; rank < from.ranks; ++rank) {
      sends.clear();
      round.sends(rank, 0, sends);
      for (const Send& send : sends) {
        path.clear();
        topology.route(rank, send.to, path);
        double latency = 0;
        for (const LinkId link : path) {
          latency += links[link].latency;
          load[link] += static_cast<double>(send.count);  // whole pieces: exact in any order
        }
        sum.latency = std::max(sum.latency, latency);
        least_latency = std::min(least_latency, latency);
        if (send.reduce && from.reduction_costs) reduced[send.to] += send.count;
      }
      count += static_cast<std::int64_t>(sends.size());
    }
    Shape shape;
    for (LinkId link = 0; link < links.size(); ++link) {
      if (load[link] == 0) continue;
      total[link] += load[link] * static_cast<double>(round.repeat);
      shape.push_back({link, load[link] / links[link].bandwidth});
      sum.busiest = std::max(sum.busiest, shape.back().amount);
    }
    for (LinkUse& use : shape) use.amount /= sum.busiest;
    sum.shape = shapes.number(std::move(shape));
    sum.busiest *= from.piece_share;
    sum.reduced = static_cast<double>(*std::max_element(reduced.begin(), reduced.end())) * from.piece_share;
    rounds.push_back(sum);
    length += round.repeat;
    messages += round.repeat * count;
  }
  for (LinkId link = 0; link < links.size(); ++link)
    if (total[link] > 0) busiest = std::max(busiest, total[link] * from.piece_share / links[link].bandwidth);
}

double RoundLoads::start_up(double alpha) const {
  double sum = 0;
  for (const RoundLoad& round : rounds) sum += static_cast<double>(round.repeat) * (alpha + round.latency);
  return sum;
}

double RoundLoads::per_byte(double gamma) const {
  double sum = 0;
  for (const RoundLoad& round : rounds) sum += static_cast<double>(round.repeat) * (round.busiest + gamma * round.reduced);
  return sum;
}

}  // namespace allreplay
