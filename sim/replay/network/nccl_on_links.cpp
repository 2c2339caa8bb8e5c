#include "sim/replay/network/nccl_on_links.hpp"

#include <algorithm>
#include <limits>

namespace allreplay {

namespace {

constexpr double at_best = 1;  // bytes; no choice has a shorter start-up or more bandwidth at a larger size

}  // namespace

const NcclOnLinks::Laid& NcclOnLinks::laid(const NcclChoice& choice) const {
  return *std::find_if(laid_.begin(), laid_.end(), [&](const Laid& one) { return one.algorithm == choice.algorithm; });
}

// Scales the time per byte of each level on the rails of NCCL's model, if only that level's links limited NCCL, by how
// much busier the links here are. The bandwidths of the rails cancel out.
double NcclOnLinks::on_links(const NcclChoice& choice, const Laid& on) {
  double longest = 0;
  const auto consider_level = [&](double here, double on_rails, double bandwidth) {
    if (here <= 0) return;
    const double of_rails = on_rails > 0 ? on_rails : std::max(on.on_rails.inside, on.on_rails.between);
    longest = std::max(longest, here / of_rails / (on_rails > 0 ? bandwidth : choice.bandwidth));
  };
  consider_level(on.levels.inside, on.on_rails.inside, choice.on_links[0]);
  consider_level(on.levels.between, on.on_rails.between, choice.on_links[1]);
  return longest;
}

double NcclOnLinks::moving(const NcclChoice& choice, const Laid& on, double bytes) {
  return links_bind(choice, on) ? on_links(choice, on) * bytes : bytes / choice.bandwidth;
}

double NcclOnLinks::travelling(const NcclChoice& choice, const Laid& on) {
  return links_bind(choice, on) ? on_links(choice, on) / on.busy : 1 / (choice.bandwidth * on.busy);
}

NcclWay NcclOnLinks::way(double bytes) const {
  const NcclChoice choice = price_.choice(bytes);
  const Laid& on = laid(choice);
  if (on.busy == 0) {
    const double all = choice.start_up + bytes / choice.bandwidth;
    return {on.rounds, 0, all, all};
  }
  return {
      on.rounds, travelling(choice, on), choice.start_up + on.latency, choice.base, {choice.inside, choice.between}};
}

SizePrice::Cost NcclOnLinks::of(double bytes) const {
  const NcclChoice choice = price_.choice(bytes);
  const Laid& on = laid(choice);
  const double start_up = choice.start_up + on.latency;
  return {start_up + moving(choice, on, bytes), start_up};
}

double NcclOnLinks::least(double bytes) const {
  double start_up = std::numeric_limits<double>::infinity(), least_per_byte = start_up;
  for (const NcclChoice& choice : price_.choices(at_best)) {
    const Laid& on = laid(choice);
    start_up = std::min(start_up, choice.start_up + on.latency);
    least_per_byte = std::min(least_per_byte, moving(choice, on, 1));
  }
  return start_up + least_per_byte * bytes;
}

double NcclOnLinks::least_combined(double bytes) const {
  double base = std::numeric_limits<double>::infinity();
  for (const NcclChoice& choice : price_.choices(at_best)) base = std::min(base, choice.base);
  return std::max(base, least_on_links(bytes));
}

double NcclOnLinks::least_on_links(double bytes) const {
  double least_per_byte = std::numeric_limits<double>::infinity();
  for (const NcclChoice& choice : price_.choices(at_best)) {
    const Laid& on = laid(choice);
    least_per_byte = std::min(least_per_byte, on.busy > 0 ? on.busiest * travelling(choice, on) : 0);
  }
  return least_per_byte * bytes;
}

}  // namespace allreplay
