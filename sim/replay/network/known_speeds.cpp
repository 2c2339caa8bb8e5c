#include "sim/replay/network/known_speeds.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace allreplay {

const Meetings::Id* KnownSpeeds::recall(MovingRounds& moving) const {
  for (std::size_t at = tag(moving);; ++at) {
    const Place place = places_[at & (places_.size() - 1)];
    if (place.first == 0) return nullptr;
    const Four* four = &kept_[place.first];
    if (place.hash != tag(moving) || four->size != moving.size) continue;
    const Meetings::Id* meeting = &four->meeting;
    std::uint32_t difference = 0;
    for (std::size_t i = 0; i < moving.size; i += MovingRounds::lanes, ++four) {
      for (std::size_t lane = 0; lane < MovingRounds::lanes; ++lane)
        difference |= four->shape[lane] ^ moving.shape[i + lane];
      std::memcpy(&moving.speed[i], four->speed.data(), sizeof four->speed);
    }
    if (difference == 0) return meeting;
  }
}

KnownSpeeds::WithOneMore KnownSpeeds::recall(const MovingRounds& moving, std::uint32_t shape, std::size_t place) const {
  const auto hash = static_cast<std::uint32_t>((moving.hash + MovingRounds::hash_of(shape)) >> 32);
  for (std::size_t at = hash;; ++at) {
    const Place found = places_[at & (places_.size() - 1)];
    if (found.first == 0) return {};
    const WithOneMore with{&kept_[found.first], place};
    if (found.hash != hash || with.known->size != moving.size + 1) continue;
    std::uint32_t difference = with.its_shape() ^ shape;
    for (std::size_t i = 0; i < moving.size; ++i) difference |= with.shape_of(i) ^ moving.shape[i];
    if (difference == 0) return with;
  }
}

void KnownSpeeds::keep(const MovingRounds& moving, Meetings::Id meeting) {
  if (MovingRounds::lanes * kept_.size() + moving.size > most_) forget();
  const auto put = [&](const Place& place) {
    std::size_t at = place.hash;
    while (places_[at & (places_.size() - 1)].first != 0) ++at;
    places_[at & (places_.size() - 1)] = place;
  };
  if (2 * ++taken_ > places_.size())
    for (const Place& place : std::exchange(places_, std::vector<Place>(2 * places_.size())))
      if (place.first != 0) put(place);
  put({tag(moving), static_cast<std::uint32_t>(kept_.size())});
  for (std::size_t i = 0; i < moving.size; i += MovingRounds::lanes) {
    Four& four = kept_.emplace_back();
    std::copy_n(moving.speed.begin() + static_cast<std::ptrdiff_t>(i), MovingRounds::lanes, four.speed.begin());
    std::copy_n(moving.shape.begin() + static_cast<std::ptrdiff_t>(i), MovingRounds::lanes, four.shape.begin());
    four.size = static_cast<std::uint32_t>(moving.size);
    four.meeting = meeting;
  }
}

void KnownSpeeds::forget() {
  kept_.assign(1, {});  // so that no combination has index 0
  places_.assign(1, {});
  taken_ = 0;
}

}  // namespace allreplay
