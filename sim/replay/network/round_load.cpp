#include "sim/replay/network/round_load.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "sim/replay/network/round_traffic.hpp"

namespace allreplay {

bool Shapes::Less::operator()(const Shape& a, const Shape& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const LinkUse& x, const LinkUse& y) {
    return x.link != y.link ? x.link < y.link : x.amount < y.amount;
  });
}

std::uint32_t Shapes::number(Shape shape) {
  return numbers_.emplace(std::move(shape), static_cast<std::uint32_t>(numbers_.size())).first->second;
}

namespace {

constexpr std::size_t most_to_compare = 4000;  // rows that are compared in pairs

// The uses of a link: {number of the shape, amount}, sorted.
using Row = std::span<const std::pair<std::uint32_t, double>>;

struct RowLess {
  bool operator()(Row a, Row b) const { return std::ranges::lexicographical_compare(a, b); }
};

struct Summary {
  Row row;
  double sum = 0;            // of the amounts
  std::uint64_t shapes = 0;  // a bit for each shape, by its number modulo 64
};

Summary summary(Row row) {
  Summary result{row};
  for (const auto& [shape, amount] : row) {
    result.sum += amount;
    result.shapes |= std::uint64_t{1} << shape % 64;
  }
  return result;
}

// True if every shape uses link `a` at least as much as link `b`.
bool covers(const Summary& a, const Summary& b) {
  if ((b.shapes & ~a.shapes) != 0) return false;
  auto from = a.row.begin();
  for (const auto& [shape, amount] : b.row) {
    while (from != a.row.end() && from->first < shape) ++from;
    if (from == a.row.end() || from->first != shape || from->second < amount) return false;
  }
  return true;
}

}  // namespace

void Shapes::fold() {
  std::vector<const Shape*> shapes(numbers_.size());
  LinkId links = 0;
  for (const auto& [shape, number] : numbers_) {
    shapes[number] = &shape;
    if (!shape.empty()) links = std::max(links, shape.back().link + 1);
  }
  // Lists the uses of all links, link by link.
  std::vector<std::size_t> ends(links + 1, 0);
  for (const Shape* shape : shapes)
    for (const LinkUse& use : *shape) ++ends[use.link + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::pair<std::uint32_t, double>> uses(ends.back());
  for (std::uint32_t number = 0; number < shapes.size(); ++number)
    for (const LinkUse& use : *shapes[number]) uses[ends[use.link]++] = {number, use.amount};
  if (keeps_whole_)
    for (const Shape* shape : shapes) whole_.push_back(*shape);
  numbers_.clear();
  std::set<Row, RowLess> different;
  for (LinkId link = 0; link < links; ++link) {
    const std::size_t first = link == 0 ? 0 : ends[link - 1];
    different.insert(Row(uses).subspan(first, ends[link] - first));
  }
  // Sorts the rows by decreasing use, so that a row can only be covered by an earlier one.
  std::vector<Summary> rows;
  rows.reserve(different.size());
  for (const Row row : different)
    if (!row.empty()) rows.push_back(summary(row));
  std::stable_sort(rows.begin(), rows.end(), [](const Summary& a, const Summary& b) { return a.sum > b.sum; });
  std::vector<Summary> kept;
  for (const Summary& row : rows) {
    const auto covered = [&](const Summary& other) { return covers(other, row); };
    if (kept.size() >= most_to_compare || std::none_of(kept.begin(), kept.end(), covered)) kept.push_back(row);
  }
  shapes_.assign(shapes.size(), {});
  links_ = static_cast<std::uint32_t>(kept.size());
  for (std::uint32_t link = 0; link < kept.size(); ++link)
    for (const auto& [shape, amount] : kept[link].row) shapes_[shape].push_back({link, amount});
}

namespace {

// Takes a link that is busy for so long into the maximum of its level.
void raise_level(LevelBusy& busiest, const Topology& topology, const Link& link, double busy) {
  const bool inside = topology.gpus_per_host() > 1 && std::min(link.from, link.to) < topology.hosts();
  double& level = inside ? busiest.inside : busiest.between;
  level = std::max(level, busy);
}

}  // namespace

RoundLoads::RoundLoads(const Rounds& from, const Topology& topology, Shapes& shapes, const LevelAlpha& alphas)
    : path(from.ranks * from.streams, from.channels) {
  const std::span<const Link> links = topology.links();
  std::vector<double> total(links.size(), 0), busy(links.size(), 0);
  TrafficCounter counter(from, topology, alphas);
  least_latency = from.rounds.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const Round& round : from.rounds) {
    const RoundTraffic& traffic = counter.count(round);
    RoundLoad sum{.repeat = round.repeat, .latency = traffic.most_latency};
    least_latency = std::min(least_latency, traffic.least_latency);
    Shape shape;
    LevelBusy of_round;
    bool alike = traffic.least_latency == traffic.most_latency;
    for (LinkId link = 0; link < links.size(); ++link) {
      busy[link] = traffic.loads[link] / links[link].bandwidth * from.piece_share;
      if (traffic.loads[link] == 0) continue;
      total[link] += traffic.loads[link] * static_cast<double>(round.repeat);
      shape.push_back({link, traffic.loads[link] / links[link].bandwidth});
      sum.busiest = std::max(sum.busiest, shape.back().amount);
      raise_level(of_round, topology, links[link], shape.back().amount);
      alike &= links[link].bandwidth == links[shape.front().link].bandwidth;
    }
    for (LinkUse& use : shape) use.amount /= sum.busiest;
    sum.shape = shapes.number(std::move(shape));
    sum.busiest *= from.piece_share;
    sum.reduced = static_cast<double>(traffic.most_reduced) * from.piece_share;
    PathRound hops{round.repeat, sum.latency, sum.busiest, traffic.wall, alike && traffic.everybody};
    if (!hops.wall && !(hops.even && path.in_step())) hops.hops = counter.hops(round, busy);
    for (Hop& hop : hops.hops)
      if (alike) hop.latency = sum.latency, hop.busy = sum.busiest;
    path.add(std::move(hops));
    rounds.push_back(sum);
    levels += of_round.times(static_cast<double>(round.repeat) * from.piece_share);
    length += round.repeat;
    messages += round.repeat * traffic.messages;
  }
  for (LinkId link = 0; link < links.size(); ++link)
    if (total[link] > 0) busiest = std::max(busiest, total[link] * from.piece_share / links[link].bandwidth);
}

LevelBusy busiest_links(const Rounds& rounds, const Topology& topology) {
  TrafficCounter counter(rounds, topology);
  LevelBusy sum;
  for (const Round& round : rounds.rounds) {
    const RoundTraffic& traffic = counter.count(round);
    LevelBusy busiest;
    for (LinkId link = 0; link < traffic.loads.size(); ++link)
      if (traffic.loads[link] > 0)
        raise_level(busiest, topology, topology.links()[link], traffic.loads[link] / topology.links()[link].bandwidth);
    sum += busiest.times(static_cast<double>(round.repeat) * rounds.piece_share);
  }
  return sum;
}

double RoundLoads::start_up(double alpha) const {
  double sum = 0;
  for (const RoundLoad& round : rounds) sum += static_cast<double>(round.repeat) * (alpha + round.latency);
  return sum;
}

double RoundLoads::per_byte(double gamma) const {
  double sum = 0;
  for (const RoundLoad& round : rounds)
    sum += static_cast<double>(round.repeat) * (round.busiest + gamma * round.reduced);
  return sum;
}

Pace RoundLoads::pace(double alpha, double bytes) const {
  const double a = start_up(alpha), b = per_byte(0) * bytes, saved = path.saving(alpha, bytes).of(bytes);
  if (saved <= 0) return {a + b};
  const double time = std::max(a + b - saved, busiest * bytes);
  return {time, a > 0 ? std::max(0.0, time - b) / a : 1, b > 0 ? std::min(1.0, time / b) : 1};
}

}  // namespace allreplay
