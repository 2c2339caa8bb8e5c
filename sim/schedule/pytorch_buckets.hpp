// Buckets that PyTorch can be made to send, and the code that makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/plan.hpp"

namespace allreplay {

/// How many elements each bucket of the plan has, in the order in which they are sent: whole parameters, the last of
/// the model first, one all-reduce at a time, all of them before the next forward pass. Nothing for any other plan.
std::optional<std::vector<std::int64_t>> pytorch_buckets(const Plan& plan, const Profile& profile);

/// Python to paste: the plan's buckets, and what has a model reduce its gradients in them. Its first line is a comment
/// that says where it is from.
std::string pytorch_code(const Plan& plan, const std::vector<std::int64_t>& buckets);

}  // namespace allreplay
