#include "sim/base/core/random.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>

namespace allreplay {

// Boost's distributions, unlike the standard library's, give the same numbers on all platforms.
struct Random::State {
  boost::random::mt19937_64 engine;
  boost::random::normal_distribution<double> normal;
};

namespace {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): spreads neighbouring seeds over all 64 bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream)
    : state_(new State{boost::random::mt19937_64(mix(mix(seed) + stream)),
                       boost::random::normal_distribution<double>()}) {}
Random::~Random() = default;
Random::Random(Random&&) noexcept = default;
Random& Random::operator=(Random&&) noexcept = default;

double Random::uniform() { return boost::random::uniform_01<double>()(state_->engine); }
double Random::normal() { return state_->normal(state_->engine); }
std::uint64_t Random::below(std::uint64_t end) {
  return boost::random::uniform_int_distribution<std::uint64_t>(0, end - 1)(state_->engine);
}

}  // namespace allreplay
