#include "sim/replay/network/known_speeds.hpp"

#include <algorithm>
#include <cstring>

namespace allreplay {

const Meetings::Id* KnownSpeeds::recall(MovingRounds& moving) const {
  const std::uint32_t first = first_.find(hash_of(moving.hash), [&](std::uint32_t number) {
    const Four* four = &kept_[number];
    if (four->size != moving.size) return false;
    std::uint32_t difference = 0;
    for (std::size_t i = 0; i < moving.size; i += MovingRounds::lanes, ++four) {
      for (std::size_t lane = 0; lane < MovingRounds::lanes; ++lane)
        difference |= four->shape[lane] ^ moving.shape[i + lane];
      std::memcpy(&moving.speed[i], four->speed.data(), sizeof four->speed);
    }
    return difference == 0;
  });
  return first == NumberTable::none ? nullptr : &kept_[first].meeting;
}

KnownSpeeds::WithOneMore KnownSpeeds::recall(const MovingRounds& moving, std::uint32_t shape, std::size_t place) const {
  const std::uint32_t hash = hash_of(moving.hash + MovingRounds::hash_of(shape));
  const std::uint32_t first = first_.find(hash, [&](std::uint32_t number) {
    const WithOneMore with{&kept_[number], place};
    if (with.known->size != moving.size + 1) return false;
    std::uint32_t difference = with.its_shape() ^ shape;
    for (std::size_t i = 0; i < moving.size; ++i) difference |= with.shape_of(i) ^ moving.shape[i];
    return difference == 0;
  });
  return {first == NumberTable::none ? nullptr : &kept_[first], place};
}

void KnownSpeeds::keep(const MovingRounds& moving, Meetings::Id meeting) {
  if (MovingRounds::lanes * kept_.size() + moving.size > most_) forget();
  first_.add(hash_of(moving.hash), static_cast<std::uint32_t>(kept_.size()));
  for (std::size_t i = 0; i < moving.size; i += MovingRounds::lanes) {
    Four& four = kept_.emplace_back();
    std::copy_n(moving.speed.begin() + static_cast<std::ptrdiff_t>(i), MovingRounds::lanes, four.speed.begin());
    std::copy_n(moving.shape.begin() + static_cast<std::ptrdiff_t>(i), MovingRounds::lanes, four.shape.begin());
    four.size = static_cast<std::uint32_t>(moving.size);
    four.meeting = meeting;
  }
}

void KnownSpeeds::forget() {
  kept_.assign(1, {});  // since 0 is NumberTable::none
  first_ = {};
}

}  // namespace allreplay
