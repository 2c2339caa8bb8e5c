// The strategies of the MG-WFBP paper (Shi et al.), and the exact optimum of its problem.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

BucketSchedule schedule_s_sgd(const PlanRequest& request);          ///< Eq. 3: each tensor, after the backward pass
BucketSchedule schedule_wfbp(const PlanRequest& request);           ///< Eq. 6-8: each tensor, when it is ready
BucketSchedule schedule_sync_easgd(const PlanRequest& request);     ///< Eq. 9: all tensors in one collective
BucketSchedule schedule_mg_wfbp(const PlanRequest& request);        ///< Algorithm 1 as printed; O(L)
BucketSchedule schedule_optimal_merge(const PlanRequest& request);  ///< the best of all 2^(L−1) merges; O(L²)

}  // namespace allreplay
