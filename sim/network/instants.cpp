#include "sim/network/instants.hpp"

#include <algorithm>

namespace allreplay {

std::uint32_t Instants::open(Time at) {
  if (heap_.empty()) order_ = 0;
  std::uint32_t bucket = 0;
  if (free_.empty()) {
    bucket = static_cast<std::uint32_t>(buckets_.size());
    buckets_.emplace_back();
  } else {
    bucket = free_.back();
    free_.pop_back();
  }
  const Instant instant{at, order_++, bucket};
  std::size_t place = heap_.size();
  heap_.push_back(instant);
  while (place > 0) {
    const std::size_t parent = (place - 1) / 4;
    if (!instant.before(heap_[parent])) break;
    heap_[place] = heap_[parent];
    place = parent;
  }
  heap_[place] = instant;
  return bucket;
}

void Instants::close() {
  const Instant gone = heap_.front();
  Memory& memory = remembered_[slot(gone.at)];
  if (memory.bucket == gone.bucket) memory = {never, 0};
  buckets_[gone.bucket].clear();
  free_.push_back(gone.bucket);

  const Instant last = heap_.back();
  heap_.pop_back();
  const std::size_t count = heap_.size();
  if (count == 0) return;
  std::size_t place = 0;
  for (;;) {
    const std::size_t first = 4 * place + 1;
    if (first >= count) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < std::min(first + 4, count); ++child)
      if (heap_[child].before(heap_[least])) least = child;
    if (!heap_[least].before(last)) break;
    heap_[place] = heap_[least];
    place = least;
  }
  heap_[place] = last;
}

}  // namespace allreplay
