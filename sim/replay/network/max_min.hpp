// Max-min fair sharing, computed from scratch.
//
// Link l has a capacity C_l. Flow f has a rate x_f, the unknown, and uses x_f·u_fl of link l (u = 1 for a message; less
// for a collective that loads some links less than others). Rates are feasible if Σ_f x_f·u_fl <= C_l on every link,
// and max-min fair if no flow can gain without a loss of one that is slower or equal.
//
// Such rates exist, are unique, and can be recognised: every flow has a bottleneck, a link that it uses, that is full,
// and on which no other flow is faster. Progressive filling finds them: all rates grow together; when a link is full,
// its flows have found their bottleneck and stop; the others go on. The link that fills next has the least
// (C_l − use by settled flows) / (Σ of u_fl over the others). This least value never falls from step to step, so a
// stale value of a link is a lower bound, and need not be kept up to date.
//
// fair_links.hpp keeps such rates while flows come and go; this file computes them once, for any u.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

/// The part of a link that a flow uses at rate 1.
struct LinkUse {
  LinkId link = 0;
  double amount = 0;
};

struct SharedFlow {
  std::span<const LinkUse> uses;                             ///< each link at most once, amounts > 0
  double count = 1;                                          ///< the number of equal flows; the rate is that of one
  double fastest = std::numeric_limits<double>::infinity();  ///< an upper bound of its rate
};

/// Computes rates on the same links again and again, without new memory.
class MaxMin {
 public:
  /// `capacities`: by LinkId.
  explicit MaxMin(std::vector<double> capacities);

  /// The max-min fair rates, until the next call. A flow without links is infinitely fast.
  std::span<const double> rates(std::span<const SharedFlow> flows);

 private:
  struct LinkState {
    double left = 0;         // the capacity that settled flows leave
    double growing = 0;      // Σ count·u of the flows that are not settled
    double most = 0;         // an upper bound of its use: each flow at its fastest
    std::uint32_t open = 0;  // the number of flows that are not settled
    std::uint32_t last = 0;  // of its flows in on_links_; 0: none
  };
  struct OnLink {
    std::uint32_t flow, before;  // the flow before this one on the same link, as in `last`
  };

  void put_on_links(std::span<const SharedFlow> flows);
  void find_levels();
  LinkId first_to_fill() const;
  void set_level(LinkId link, double level);
  void settle_flows_on(LinkId link, double level, std::span<const SharedFlow> flows);

  std::vector<double> capacities_;
  std::vector<LinkState> links_;
  std::vector<OnLink> on_links_;
  // A binary tree of lower bounds of the levels at which links are full: a node has the lesser one of its two children,
  // 2i and 2i + 1; the last `leaves_` nodes are the links. Unlike a heap's, its loops have no branches to guess.
  std::size_t leaves_;
  std::vector<double> level_;
  std::vector<std::uint32_t> together_;  // the flows that settle on one link
  std::vector<double> rates_;
  std::size_t open_ = 0;  // the number of flows that are not settled
};

}  // namespace allreplay
