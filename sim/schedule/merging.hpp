// The strategies of the MG-WFBP paper, and the exact optimum of its problem.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

BucketSchedule schedule_s_sgd(const PlanRequest& request);          ///< Eq. 3: one by one after the backward pass
BucketSchedule schedule_wfbp(const PlanRequest& request);           ///< Eq. 6-8: one by one as they become ready
BucketSchedule schedule_sync_easgd(const PlanRequest& request);     ///< Eq. 9: all in one
BucketSchedule schedule_mg_wfbp(const PlanRequest& request);        ///< Algorithm 1 as printed; O(L)
BucketSchedule schedule_optimal_merge(const PlanRequest& request);  ///< the least end over all 2^(L−1) merges; O(L²)

}  // namespace allreplay
