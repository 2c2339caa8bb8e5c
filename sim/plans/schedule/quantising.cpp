#include "sim/plans/schedule/quantising.hpp"

#include <algorithm>

namespace allreplay {

namespace {

constexpr std::int64_t usual_block = 8000;
constexpr std::uint8_t fp32 = 4;

WireType scales(std::int64_t block) { return {.scale_bytes = fp32, .block = static_cast<std::uint32_t>(block)}; }

}  // namespace

std::optional<WireType> scales_of_shard(std::int64_t elements) {
  if (elements % 8 != 0) return std::nullopt;
  const std::int64_t divided = elements / 8, least = (elements + usual_block - 1) / usual_block;
  std::int64_t count = 0;  // the smallest divisor of elements/8 that is not below `least`
  for (std::int64_t one = 1; one * one <= divided; ++one) {
    if (divided % one != 0) continue;
    for (const std::int64_t divisor : {one, divided / one})
      if (divisor >= least && (count == 0 || divisor < count)) count = divisor;
  }
  if (count == 0) return std::nullopt;
  return scales(elements / count);  // at most 8000 elements, so that DeepSpeed's further steps change nothing
}

std::optional<WireType> scales_of_gradient(const Tensor& tensor, std::int64_t workers) {
  if (tensor.shape.size() == 1 || tensor.elements % (2 * workers) != 0) return std::nullopt;
  if (tensor.shape.empty())
    return scales((tensor.elements + usual_block - 1) / usual_block >= workers ? usual_block
                                                                               : tensor.elements / workers);
  return scales(tensor.elements / std::max({tensor.shape[0], tensor.shape[1], workers}));
}

}  // namespace allreplay
