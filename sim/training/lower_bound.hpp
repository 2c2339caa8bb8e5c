// How fast an iteration could be at best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/network/fabric.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/training/unroll.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// The terms of the bound for any lossless plan on this collective (docs/models.md):
/// t_iter >= max(K·(t_f + t_b) + U − c₀ + max(c₀, T(bytes of layer l)), T(all bytes)), with l the first layer that has
/// tensors and c₀ the forward and backward time of the layers before it. The gradients of layer l come last and are
/// needed first; only c₀ hides them. Where the state is shared out, or a framework says all that is sent, it is the
/// plan's own, and the bound is max(computing, what its bytes take): l is the input, and nothing is hidden.
struct LowerBound {
  LowerBound() = default;
  /// `least` is T: the least time for that many bytes, cut into any blocks.
  LowerBound(const Profile& profile, const std::function<Time(Bytes)>& least);

  /// Whether the task is among what hides the gradients of layer l.
  bool hides(const Label& label, const ShardingConfig& sharding) const;
  /// What one worker's compute allows, from all that it computes and its c₀.
  Time computing(Time all_computing, Time before) const;
  /// The bound itself.
  Time of(const Profile& slowest, const ShardingConfig& sharding = {}) const;

  LayerId first = 0;    ///< l
  Time first_layer{0};  ///< T(bytes of layer l)
  Time all{0};          ///< T(all bytes)
};

/// The bound for plans like this one; `per_rank_start`: where workers start transfers apart, and much may be on its way
/// before the last is ready. REQUIRES: the fabric can carry it.
LowerBound bound_of(const Profile& profile, const Plan& plan, const Fabric& fabric, bool per_rank_start = false);

/// What a plan's transfers among a group, or all, take at the best speed, on the network that takes longest.
Time sending(const Plan& plan, const Fabric& fabric, std::optional<std::uint32_t> group);

/// Whether compute tasks and nothing else: no codec's.
bool is_work(const Label& label);

}  // namespace allreplay
