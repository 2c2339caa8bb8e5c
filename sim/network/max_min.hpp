// Max-min fair sharing, from scratch.
//
// Four quantities say it all. Link l has a capacity C_l. Flow f has a rate x_f, the unknown, and uses x_f·u_fl of link
// l (u = 1 for a message on its way; less for a collective that loads some links less than others). Rates are feasible
// when Σ_f x_f·u_fl <= C_l on every link, and max-min fair when no flow can gain without a slower or equal one losing.
//
// Such rates exist, are unique, and are recognised link by link: every flow has a bottleneck, a link that it uses, that
// is full, and on which no other flow is faster. Hence progressive filling: let all rates grow together; when a link is
// full, its flows have found their bottleneck and stay; let the others grow on. The link that fills next is the one
// with the least (C_l − what the settled flows use) / (Σ of u_fl over the others); that least never falls from step to
// step, so a stale value of a link is a lower bound, and a heap of them need not be kept up to date.
//
// fair_links.hpp keeps such rates while flows come and go; this file computes them once, for any u.
#pragma once

#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace allreplay {

/// What a flow uses of a link at rate 1.
struct LinkUse {
  LinkId link = 0;
  double amount = 0;
};

struct SharedFlow {
  std::span<const LinkUse> uses;  ///< each link at most once, amounts > 0
  double count = 1;               ///< so many equal flows; the rate is that of each
};

/// The max-min fair rates of `flows` on links of these capacities, by LinkId. A flow without links is infinitely fast.
std::vector<double> max_min_rates(std::span<const double> capacities, std::span<const SharedFlow> flows);

}  // namespace allreplay
