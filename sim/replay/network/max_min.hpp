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
// stale value of a link is a lower bound, and a heap of them need not be kept up to date.
//
// fair_links.hpp keeps such rates while flows come and go; this file computes them once, for any u.
#pragma once

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

/// The max-min fair rates of `flows` on links of these capacities, by LinkId. A flow without links is infinitely fast.
std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const SharedFlow> flows);

}  // namespace allreplay
