// How fast an iteration could be at best.
#pragma once

#include <functional>

#include "sim/workload/profile.hpp"

namespace allreplay {

/// The terms of the bound for any lossless plan on this collective (docs/models.md):
/// t_iter >= max(t_f + t_b − c₀ + max(c₀, T(bytes of layer l)), T(all bytes)), with l the first layer that has tensors
/// and c₀ the forward and backward time of the layers before it. The gradients of layer l come last and are needed
/// first; only c₀ hides them.
struct LowerBound {
  /// `least` is T: the least time for that many bytes, cut into any blocks.
  LowerBound(const Profile& profile, const std::function<Time(Bytes)>& least);

  /// What one worker's compute allows, from its t_f + t_b and its c₀.
  Time computing(Time all_layers, Time layers_before) const;
  /// The bound itself.
  Time of(const Profile& slowest) const;

  LayerId first;     ///< l
  Time first_layer;  ///< T(bytes of layer l)
  Time all;          ///< T(all bytes)
};

}  // namespace allreplay
