#include "sim/replay/network/instants.hpp"

namespace allreplay {

// Moves the events of the next instant into the first bucket, and the others of their bucket into those in between.
void Instants::deal() {
  const std::size_t from = lowest();
  now_ = next_;
  if (from == 0) return;
  const std::uint64_t bit = std::uint64_t{1} << from;
  used_ &= ~bit;
  if ((mixed_ & bit) == 0) {
    used_ |= 1;
    first_[0] = now_;
    return buckets_[0].swap(buckets_[from]);
  }
  mixed_ &= ~bit;
  for (const Timed& one : buckets_[from]) put(one.at, one.event);
  buckets_[from].clear();
}

}  // namespace allreplay
