#include "sim/replay/network/fair_links.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace allreplay {

namespace {

// Links whose flows would settle at rates closer than this settle at the same rate, so that rates that are equal by
// symmetry are identical. Rounding alone changes the rate on a link of n flows by up to n²·1e-16.
constexpr double one_level = 1e-10;
// A rate that changes by less is only rounded differently: it is kept, and with it the end of its flow.
constexpr double unmoved = 1e-12;

// After this many attempts, all flows on the reached links become members.
constexpr int patience = 4;

}  // namespace

FairLinks::FairLinks(std::span<const Link> links)
    : carried_(links.size()),
      lists_(links.size()),
      touched_(links.size(), false),
      reached_in_(links.size(), 0),
      reached_at_(links.size(), 0) {
  capacity_.reserve(links.size());
  for (const Link& link : links) capacity_.push_back(link.bandwidth * 1e-12);
}

void FairLinks::add(FlowId id, std::span<const LinkId> route, std::span<const std::uint32_t> crowds) {
  if (id >= flows_.size()) flows_.resize(std::max<std::size_t>(id + 1, 2 * flows_.size()));
  Flow& flow = flows_[id];
  flow.route = route.data();
  flow.crowds = crowds.empty() ? nullptr : crowds.data();
  flow.hops = static_cast<std::uint32_t>(route.size());
  flow.rate = 0;
  for (std::size_t hop = 0; hop < route.size(); ++hop) {
    const LinkId link = route[hop];
    const OnLink here{id, crowd(flow, hop)};
    Carried& carried = carried_[link];
    if (carried.count == 0) {
      carried.sole = here;
    } else {
      if (carried.count == 1) lists_[link].assign(1, carried.sole);
      lists_[link].push_back(here);
      touch(link);
    }
    ++carried.count;
  }
  added_.push_back(id);
}

void FairLinks::remove(FlowId id) {
  for (const LinkId link : route(flows_[id])) {
    if (carried_[link].count == 1)
      carried_[link].count = 0;
    else
      touch(link);
  }
  flows_[id].hops = 0;
}

void FairLinks::set_capacity(LinkId link, double capacity) {
  if (capacity_[link] == capacity) return;
  capacity_[link] = capacity;
  changed_capacity_.push_back(link);
}

bool FairLinks::alone(const Flow& flow) const {
  for (const LinkId link : route(flow))
    if (carried_[link].count != 1) return false;
  return true;
}

void FairLinks::forget_removed(LinkId link) {
  Carried& carried = carried_[link];
  if (carried.count < 2) return;
  std::erase_if(lists_[link], [&](const OnLink& one) { return flows_[one.flow].hops == 0; });
  carried.count = static_cast<std::uint32_t>(lists_[link].size());
  if (carried.count == 1) carried.sole = lists_[link].front();
}

void FairLinks::settle(std::vector<FlowId>& changed) {
  for (const LinkId link : dirty_) forget_removed(link);
  ++attempt_;
  change_ = attempt_;
  members_.clear();
  for (const FlowId id : added_) {
    Flow& flow = flows_[id];
    if (flow.hops == 0) continue;
    if (!alone(flow)) {
      join(id);
      continue;
    }
    std::size_t narrowest = 0;
    for (std::size_t hop = 1; hop < flow.hops; ++hop)
      if (room(flow, hop) < room(flow, narrowest)) narrowest = hop;
    flow.bottleneck = flow.route[narrowest];
    flow.rate = room(flow, narrowest);
    changed.push_back(id);
  }
  for (const LinkId link : dirty_) {
    touched_[link] = false;
    for (const auto& [id, crowd] : on(link))
      if (flows_[id].rate == 0 || !alone(flows_[id]) || flows_[id].rate < room_at_bottleneck(flows_[id])) join(id);
  }
  for (const LinkId link : changed_capacity_)
    for (const auto& [id, crowd] : on(link)) join(id);
  changed_capacity_.clear();
  dirty_.clear();
  added_.clear();
  if (members_.empty()) return;
  solve();
  for (const FlowId id : members_) {
    Flow& flow = flows_[id];
    if (std::abs(flow.rate - flow.before) <= unmoved * flow.before)
      flow.rate = flow.before;
    else
      changed.push_back(id);
  }
}

void FairLinks::join(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.member_of >= change_) return;
  flow.member_of = change_;
  flow.before = flow.rate;
  members_.push_back(id);
}

void FairLinks::solve() {
  if (share_one_route()) return;
  reached_.clear();
  expanded_ = 0;
  for (int tries = 0;; ++tries) {
    reach();
    if (tries == patience) join_all_in_reach();
    find_rates();
    if (join_unfair()) return;
  }
}

// Solves the case that all members have the same route, and no other flow uses its links. Returns false otherwise.
bool FairLinks::share_one_route() {
  if (flows_[members_[0]].crowds) return false;
  const std::span<const LinkId> way = route(flows_[members_[0]]);
  for (const LinkId link : way)
    if (carried_[link].count != members_.size()) return false;
  for (const FlowId id : members_)
    if (!std::ranges::equal(route(flows_[id]), way)) return false;
  const auto count = static_cast<double>(members_.size());
  LinkId bottleneck = way[0];
  for (const LinkId link : way)
    if (capacity_[link] / count < capacity_[bottleneck] / count) bottleneck = link;
  for (const FlowId id : members_) {
    flows_[id].rate = capacity_[bottleneck] / count;
    flows_[id].bottleneck = bottleneck;
  }
  return true;
}

// Adds the links of new members to reached_.
void FairLinks::reach() {
  for (; expanded_ < members_.size(); ++expanded_)
    for (const LinkId link : route(flows_[members_[expanded_]])) {
      if (reached_in_[link] != change_) {
        reached_in_[link] = change_;
        reached_at_[link] = static_cast<std::uint32_t>(reached_.size());
        reached_.push_back({link});
      }
      reached_[reached_at_[link]].counted = false;
    }
}

void FairLinks::join_all_in_reach() {
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    for (const OnLink& one : on(reached_[i].link)) join(one.flow);
    reach();
  }
}

void FairLinks::count(Reached& reached) const {
  reached.counted = true;
  reached.flows = reached.members = 0;
  reached.left = capacity_[reached.link];
  for (const auto& [id, crowd] : on(reached.link)) {
    if (flows_[id].member_of == change_) {
      ++reached.flows;
      reached.members += crowd;
    } else {
      reached.left -= flows_[id].rate * crowd;
    }
  }
}

// Sorts the reached links by the rate that fills them, before any rate is known. Of the links that a flow has to
// itself, only the first one that fills matters.
void FairLinks::order_links() {
  fills_.clear();
  later_.clear();
  for (std::uint32_t place = 0; place < reached_.size(); ++place) {
    Reached& reached = reached_[place];
    if (!reached.counted) count(reached);
    reached.open = reached.members;
    reached.spare = reached.left;
    reached.level = reached.fastest = -1;
    if (reached.members > 1) fills_.push_back({reached.at(), place});
  }
  for (const FlowId id : members_) {
    Fills first{std::numeric_limits<double>::infinity(), 0};
    for (const LinkId link : route(flows_[id])) {
      const std::uint32_t place = reached_at_[link];
      if (reached_[place].members == 1) first = std::min(first, Fills{reached_[place].at(), place});
    }
    if (first.at < std::numeric_limits<double>::infinity()) fills_.push_back(first);
  }
  std::sort(fills_.begin(), fills_.end(), std::greater<>());
}

FairLinks::Fills FairLinks::next_to_fill() {
  if (later_.empty() || (!fills_.empty() && fills_.back() < later_.front())) {
    const Fills next = fills_.back();
    fills_.pop_back();
    return next;
  }
  std::pop_heap(later_.begin(), later_.end(), std::greater<>());
  const Fills next = later_.back();
  later_.pop_back();
  return next;
}

// Finds the rates of the members by progressive filling, with all other rates held fixed.
void FairLinks::find_rates() {
  ++attempt_;
  order_links();
  double level = 0;
  for (std::size_t open = members_.size(); open > 0;) {
    const Fills next = next_to_fill();
    Reached& reached = reached_[next.place];
    if (reached.open == 0) continue;
    const double at = reached.at();
    if (at > next.at) {
      later_.push_back({at, next.place});
      std::push_heap(later_.begin(), later_.end(), std::greater<>());
      continue;
    }
    if (next.at > level * (1 + one_level)) level = next.at;
    reached.level = level;
    for (const OnLink& one : on(reached.link)) {
      Flow& flow = flows_[one.flow];
      if (flow.member_of != change_ || flow.settled_in == attempt_) continue;
      flow.settled_in = attempt_;
      flow.rate = level;
      flow.bottleneck = reached.link;
      for (std::size_t hop = 0; hop < flow.hops; ++hop) {
        Reached& crossed = reached_[reached_at_[flow.route[hop]]];
        crossed.spare -= level * crowd(flow, hop);
        crossed.open -= crowd(flow, hop);
      }
      --open;
    }
  }
}

void FairLinks::find_fastest(Reached& reached) const {
  double sum = 0;
  reached.fastest = 0;
  for (const auto& [id, crowd] : on(reached.link)) {
    sum += flows_[id].rate * crowd;
    reached.fastest = std::max(reached.fastest, flows_[id].rate);
  }
  reached.full = sum >= capacity_[reached.link] * (1 - tolerance);
}

// Returns true if all flows on the reached links have a bottleneck. Flows without one join.
bool FairLinks::join_unfair() {
  const std::size_t known = members_.size();
  for (const Reached& reached : reached_) {
    if (reached.flows == carried_[reached.link].count) continue;
    for (const auto& [id, crowd] : on(reached.link)) {
      Flow& flow = flows_[id];
      if (flow.member_of == change_) continue;
      const bool too_fast = reached.level >= 0 && flow.rate > reached.level * (1 + tolerance);
      if (too_fast || (flow.bottleneck == reached.link && !has_bottleneck(flow))) join(id);
    }
  }
  return members_.size() == known;
}

bool FairLinks::has_bottleneck(Flow& flow) {
  for (const LinkId link : route(flow)) {
    Reached beyond{link};
    Reached& there = reached_in_[link] == change_ ? reached_[reached_at_[link]] : beyond;
    if (there.fastest < 0) find_fastest(there);
    if (there.full && flow.rate >= there.fastest * (1 - tolerance)) {
      flow.bottleneck = link;
      return true;
    }
  }
  return false;
}

}  // namespace allreplay
