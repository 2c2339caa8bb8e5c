// The strategies of the MG-WFBP paper, and the exact optimum of its problem.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

Plan plan_s_sgd(const PlanRequest& request);          ///< Eq. 3: one by one after the backward pass
Plan plan_wfbp(const PlanRequest& request);           ///< Eq. 6-8: one by one as they become ready
Plan plan_sync_easgd(const PlanRequest& request);     ///< Eq. 9: all in one
Plan plan_mg_wfbp(const PlanRequest& request);        ///< Algorithm 1 as printed; O(L)
Plan plan_optimal_merge(const PlanRequest& request);  ///< the least end over all 2^(L−1) merges; O(L²)

}  // namespace allreplay
