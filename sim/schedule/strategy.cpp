#include "sim/schedule/strategy.hpp"

#include "sim/core/named.hpp"
#include "sim/schedule/dear.hpp"
#include "sim/schedule/frameworks.hpp"
#include "sim/schedule/mergecomp.hpp"
#include "sim/schedule/merging.hpp"
#include "sim/schedule/needs.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/schedule/partitioning.hpp"
#include "sim/schedule/us_byte.hpp"

namespace allreplay {

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> all{
      {"s-sgd", "every tensor alone, none before the backward pass ends (naive)", {}, offer_s_sgd, draft_s_sgd},
      {"wfbp", "every tensor alone, as soon as it is ready", {}, offer_wfbp, draft_wfbp},
      {"sync-easgd", "all tensors in one collective", {}, offer_sync_easgd, draft_sync_easgd},
      {"mg-wfbp", "tensors merged by MG-WFBP's Algorithm 1, as printed", {}, {}, draft_mg_wfbp},
      {"optimal-merge", "the best of all contiguous merges (dynamic programme)", {}, {}, draft_optimal_merge},
      {"ddp", "PyTorch DDP's buckets", {"bucket_cap", "first_bucket"}, offer_ddp, draft_ddp},
      {"horovod",
       "Horovod's fusion of what is ready at each cycle",
       {"threshold", "cycle"},
       offer_horovod,
       draft_horovod},
      {"bytescheduler",
       "partitions by layer, the input side first, several in flight",
       {"partition", "credit"},
       offer_bytescheduler,
       draft_bytescheduler,
       bytescheduler_partition},
      {"us-byte",
       "unequal blocks in two phases, US-Byte's Algorithms 1 and 2",
       {"partition", "first_phase", "second_phase"},
       offer_us_byte,
       draft_us_byte,
       bytescheduler_partition},
      {"p3",
       "small slices by layer, the input side first, one at a time",
       {"partition"},
       offer_p3,
       draft_p3,
       p3_partition},
      {"dear",
       "reduce-scatters in the backward pass, all-gathers in the next forward pass",
       {"threshold"},
       offer_dear,
       draft_dear,
       0,
       DecodeAt::Arrival,
       true},
      {"mergecomp",
       "groups of tensors that are compressed and sent together, MergeComp's Algorithm 2",
       {"groups", "stop", "grouping"},
       {},
       draft_mergecomp,
       0,
       DecodeAt::Encode},
      {"best",
       "the best plan that a search finds, starting from all other strategies",
       {"partition", "credit", "bucket_cap", "first_bucket", "threshold", "cycle"},
       {},
       nullptr},
  };
  return all;
}

const Strategy& find_strategy(std::string_view name, const Place& place) {
  return find_by_name(strategies(), name, place, "unknown strategy '{}'");
}

Draft make_draft(const Strategy& strategy, const PlanRequest& request) {
  Draft draft = strategy.draft(request);
  draft.split = draft.split && request.splits;
  return draft;
}

Plan make_plan(const Strategy& strategy, const PlanRequest& request) {
  Draft draft = make_draft(strategy, request);
  require_complete(draft, request.profile);
  return expand(std::move(draft), request.profile);
}

}  // namespace allreplay
