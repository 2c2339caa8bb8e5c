// Python code that makes PyTorch send a plan's buckets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// Returns the number of elements of each bucket in the order of sending; none if PyTorch cannot send the plan. It can
/// if buckets are whole parameters, the model's last first, sent one at a time and before the next forward pass.
std::optional<std::vector<std::int64_t>> pytorch_buckets(const Plan& plan, const Profile& profile);

/// Returns Python code that reduces a model's gradients in these buckets. Its first line is a comment on its origin.
std::string pytorch_code(const Plan& plan, const std::vector<std::int64_t>& buckets);

}  // namespace allreplay
