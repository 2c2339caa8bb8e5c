// Keeps max-min fair rates (defined in max_min.hpp) while flows come and go.
//
// A change at some links first concerns the flows on them, its members. Their rates are found with all others held
// fixed. Then every flow that shares a link with them is checked: does it still have a bottleneck, that is, a full link
// on which no flow is faster? A flow that has none, or that is faster than a flow whose bottleneck it crosses, becomes
// a member, and the rates are found again. When no flow joins, every flow has a bottleneck, so the rates are the
// max-min fair ones, which are unique. Flows far from a change are never looked at.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

class FairLinks {
 public:
  using FlowId = std::uint32_t;  ///< a small number chosen by the caller; may be reused after settle()

  /// Capacities are bandwidths, in bytes per picosecond.
  explicit FairLinks(std::span<const Link> links);

  /// `crowds`: if a flow represents many identical ones, their number on each link of the route; empty: one. REQUIRES:
  /// `route` has no link twice and is not empty; `route` and `crowds` outlive the flow.
  void add(FlowId flow, std::span<const LinkId> route, std::span<const std::uint32_t> crowds = {});
  void remove(FlowId flow);

  /// Changes a link's bandwidth, in bytes per picosecond.
  void set_capacity(LinkId link, double capacity);
  /// Replaces the memory that holds the flow's route. REQUIRES: it is the same route.
  void move(FlowId flow, std::span<const LinkId> route) { flows_[flow].route = route.data(); }

  /// Updates all rates after the changes of an instant, and appends the flows whose rate has changed.
  void settle(std::vector<FlowId>& changed);

  double rate(FlowId flow) const { return flows_[flow].rate; }
  double capacity(LinkId link) const { return capacity_[link]; }
  std::span<const LinkId> route(FlowId flow) const { return route(flows_[flow]); }

  /// True if the link is full, up to rounding. Calls `visit` for each flow on it.
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
  // A link that is used to at least 1 − tolerance is full, and rates closer than that are equal; far above rounding.
  static constexpr double tolerance = 1e-9;

  struct Flow {
    const LinkId* route = nullptr;
    const std::uint32_t* crowds = nullptr;
    std::uint32_t hops = 0;        // 0: absent or removed
    std::uint32_t member_of = 0;   // the latest change of which it is a member
    std::uint32_t settled_in = 0;  // the attempt in which its rate was found
    LinkId bottleneck = none;
    double rate = 0;    // bytes per ps
    double before = 0;  // the rate when this change began
  };
  struct OnLink {
    FlowId flow = 0;
    std::uint32_t crowd = 1;
  };
  // The flows of a link. Most links carry one flow or none, and so do not use lists_.
  struct Carried {
    std::uint32_t count = 0;  // from 2 on the size of lists_[link]; may include removed flows until settle()
    OnLink sole{};            // if count is 1
  };
  // A link on the route of a member of the change.
  struct Reached {
    LinkId link;
    std::uint32_t flows = 0;    // the members on it
    std::uint32_t members = 0;  // the number of flows that these represent
    double left = 0;            // capacity less the rates of the other flows
    // While rates are found:
    double spare = 0;        // the capacity left for the members whose rate is not found yet
    std::uint32_t open = 0;  // the number of these
    bool counted = false;    // `flows`, `members` and `left` are valid
    bool full = false;
    double level = -1;    // the rate at which members settled here; negative: none did
    double fastest = -1;  // the fastest rate; negative: `fastest` and `full` are not known yet

    double at() const { return std::max(0.0, spare) / open; }  // the rate of the open members that fills the link
  };
  struct Fills {
    double at;
    std::uint32_t place;  // index into reached_
    auto operator<=>(const Fills&) const = default;
  };

  std::span<const LinkId> route(const Flow& flow) const { return {flow.route, flow.hops}; }
  static std::uint32_t crowd(const Flow& flow, std::size_t hop) { return flow.crowds ? flow.crowds[hop] : 1; }
  // The rate of a flow on a link of its route without other flows.
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
  bool join_unfair();
  bool has_bottleneck(Flow& flow);
  void find_fastest(Reached& reached) const;

  std::vector<double> capacity_;
  std::vector<Carried> carried_;
  std::vector<std::vector<OnLink>> lists_;
  std::vector<bool> touched_;
  std::vector<LinkId> dirty_;
  std::vector<FlowId> added_;
  std::vector<LinkId> changed_capacity_;  // links whose capacity has changed since settle()
  std::vector<Flow> flows_;

  // The current change:
  std::uint32_t attempt_ = 0;
  std::uint32_t change_ = 0;
  std::vector<FlowId> members_;
  std::size_t expanded_ = 0;  // the number of members whose links are in reached_
  std::vector<Reached> reached_;
  std::vector<std::uint32_t> reached_in_;  // by link: the latest change that reached it
  std::vector<std::uint32_t> reached_at_;  // by link: its index in reached_ in that change
  std::vector<Fills> fills_;               // sorted, the last to fill first
  std::vector<Fills> later_;               // a heap of links that fill later than first computed
};

}  // namespace allreplay
