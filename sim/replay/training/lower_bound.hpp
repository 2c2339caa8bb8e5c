// Lower bounds on the time of an iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/network/fabric.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

struct Job;

/// The terms of the bound for any lossless plan on this collective (docs/models.md):
/// t_iter >= max(K·(t_f + t_b) + U − c₀ + max(c₀, T(bytes of layer l)), T(all bytes)), where l is the first layer that
/// has tensors and c₀ the forward and backward time of the layers before it. The gradients of layer l are ready last
/// and needed first; only c₀ hides their communication. With sharded state, or transfers that a framework determines,
/// the bound is max(computing, time of the plan's bytes), with l the input layer and nothing hidden.
struct LowerBound {
  LowerBound() = default;
  /// `least` is T: the shortest time for that many bytes, cut into any blocks.
  LowerBound(const Profile& profile, const std::function<Time(Bytes)>& least);

  /// True if the task can overlap the communication of layer l.
  bool hides(const Label& label, const ShardingConfig& sharding) const;
  /// Returns the first term of the maximum for a worker, from its total compute time and its c₀.
  Time computing(Time all_computing, Time before) const;
  Time of(const Profile& slowest, const ShardingConfig& sharding = {}) const;

  LayerId first = 0;    ///< l
  Time first_layer{0};  ///< T(bytes of layer l)
  Time all{0};          ///< T(all bytes)
};

/// Returns the bound for plans like this one. `per_rank_start`: workers start transfers separately, so that much may be
/// in flight before the last worker is ready. REQUIRES: the fabric offers the plan's calls.
LowerBound bound_of(const Profile& profile, const Plan& plan, const Fabric& fabric, bool per_rank_start = false);

/// Returns the time of a plan's transfers, or of the reductions and gathers of a pipeline's rank, at the best speed on
/// the busiest channel.
Time sending(const Plan& plan, const Fabric& fabric, std::optional<std::uint32_t> rank);

/// Returns the lower bound of a pipeline's iteration in seconds (docs/pipelines.md, "Lower bound"); none in a detailed
/// fidelity if ranks have several lanes.
std::optional<double> pipeline_bound(const Job& job, const Plan& plan, const Unrolled& unrolled);

/// True for compute tasks of workers, a codec's excluded.
bool is_work(const Label& label);

}  // namespace allreplay
