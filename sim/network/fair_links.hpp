// Max-min fair rates (max_min.hpp says what they are) while flows come and go.
//
// A change at some links concerns, at first, the flows there. Their rates are found with all others held fixed; then
// the certificate is checked around them: has every flow that shares a link with them still a bottleneck, a full link
// on which nobody is faster? A flow that has none, or that is faster than somebody whose bottleneck it crosses, joins
// them, and the rates are found again. When nobody joins, every flow has its bottleneck, so the rates are the max-min
// fair ones: there are no others. What is far from a change is never looked at.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace allreplay {

class FairLinks {
 public:
  using FlowId = std::uint32_t;  ///< chosen by the caller; small numbers, to be used again only after settle()

  /// Capacities are bandwidths, in bytes per picosecond.
  explicit FairLinks(std::span<const Link> links);

  /// `crowds`: where a flow stands for many that are alike, how many of these are on each link of the route; none: one.
  /// REQUIRES: `route` names no link twice, is not empty, and outlives the flow, as `crowds` does.
  void add(FlowId flow, std::span<const LinkId> route, std::span<const std::uint32_t> crowds = {});
  void remove(FlowId flow);

  /// The link's bandwidth is another, in bytes per picosecond.
  void set_capacity(LinkId link, double capacity);
  /// The flow's route stands elsewhere from now on. REQUIRES: it is the same route.
  void move(FlowId flow, std::span<const LinkId> route) { flows_[flow].route = route.data(); }

  /// After the adds and removes of an instant: brings all rates up to date, and appends the flows that have a new one.
  void settle(std::vector<FlowId>& changed);

  double rate(FlowId flow) const { return flows_[flow].rate; }
  double capacity(LinkId link) const { return capacity_[link]; }
  std::span<const LinkId> route(FlowId flow) const { return route(flows_[flow]); }

  /// Whether what it carries fills the link, but for rounding; `visit` is told each flow on it.
  template <class Visit>
  bool full(LinkId link, const Visit& visit) const {
    double sum = 0;
    for (const OnLink& one : on(link)) {
      visit(one.flow);
      sum += flows_[one.flow].rate * one.crowd;
    }
    return sum >= capacity_[link] * (1 - tolerance);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  // A link fuller than 1 − this is full, and rates closer than this are equal: well above what rounding does.
  static constexpr double tolerance = 1e-9;

  struct Flow {
    const LinkId* route = nullptr;
    const std::uint32_t* crowds = nullptr;
    std::uint32_t hops = 0;        // 0: not here, or removed
    std::uint32_t member_of = 0;   // the attempt for which it is free to change
    std::uint32_t settled_in = 0;  // the attempt in which its rate was found
    LinkId bottleneck = none;
    double rate = 0;    // bytes per ps
    double before = 0;  // the rate when this change began
  };
  struct OnLink {
    FlowId flow = 0;
    std::uint32_t crowd = 1;
  };
  // Most links carry one flow or none, and stay out of the vectors.
  struct Carried {
    std::uint32_t count = 0;  // of lists_[link] from 2 on; may include removed flows until settle()
    OnLink sole{};            // if count is 1
  };
  // A link in reach of the change.
  struct Reached {
    LinkId link;
    std::uint32_t flows = 0;    // that are free to change,
    std::uint32_t members = 0;  // and how many they stand for
    double left = 0;            // capacity less the rates of the others
    // While rates are found:
    double spare = 0;        // what is left for the members whose rate is not found yet,
    std::uint32_t open = 0;  // so many
    bool counted = false;    // whether members and what is left for them are known
    bool full = false;
    double level = -1;  // at which members settled here; negative: nobody did
    double most = -1;   // the fastest rate; negative: not asked for yet, neither is `full`

    double at() const { return std::max(0.0, spare) / open; }  // the level at which it fills, if others stay
  };
  struct Fills {
    double at;
    std::uint32_t place;  // in reached_
    auto operator<=>(const Fills&) const = default;
  };

  std::span<const LinkId> route(const Flow& flow) const { return {flow.route, flow.hops}; }
  static std::uint32_t crowd(const Flow& flow, std::size_t hop) { return flow.crowds ? flow.crowds[hop] : 1; }
  // What a flow has of a link of its route if no other is there.
  double room(const Flow& flow, std::size_t hop) const { return capacity_[flow.route[hop]] / crowd(flow, hop); }
  double room_at_bottleneck(const Flow& flow) const {
    return room(flow, std::find(flow.route, flow.route + flow.hops, flow.bottleneck) - flow.route);
  }
  std::span<const OnLink> on(LinkId link) const {
    const Carried& carried = carried_[link];
    return carried.count == 1 ? std::span(&carried.sole, 1) : std::span(lists_[link].data(), carried.count);
  }
  void touch(LinkId link) {
    if (touched_[link]) return;
    touched_[link] = true;
    dirty_.push_back(link);
  }
  bool alone(const Flow& flow) const;
  void forget_removed(LinkId link);
  void join(FlowId flow);
  void solve();
  bool share_one_route();
  void reach();
  void join_all_in_reach();
  void count(Reached& reached) const;
  void order_links();
  Fills next_to_fill();
  void find_rates();
  bool check();
  bool has_bottleneck(Flow& flow);
  void survey(Reached& reached) const;

  std::vector<double> capacity_;
  std::vector<Carried> carried_;
  std::vector<std::vector<OnLink>> lists_;
  std::vector<bool> touched_;
  std::vector<LinkId> dirty_;
  std::vector<FlowId> added_;
  std::vector<LinkId> other_capacity_;  // since settle()
  std::vector<Flow> flows_;

  // Of one change:
  std::uint32_t attempt_ = 0;
  std::uint32_t change_ = 0;
  std::vector<FlowId> members_;
  std::size_t asked_ = 0;  // members whose links are reached
  std::vector<Reached> reached_;
  std::vector<std::uint32_t> reached_in_;  // by link: the change…
  std::vector<std::uint32_t> reached_at_;  // …and the place in reached_
  std::vector<Fills> fills_;               // the last first
  std::vector<Fills> later_;               // a heap of those that fill later than it seemed
};

}  // namespace allreplay
