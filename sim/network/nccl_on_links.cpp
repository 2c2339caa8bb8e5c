#include "sim/network/nccl_on_links.hpp"

#include <algorithm>
#include <limits>

namespace allreplay {

namespace {

constexpr double at_best = 1;  // bytes: of more no choice starts up sooner, or has more bandwidth

}  // namespace

const NcclOnLinks::Laid& NcclOnLinks::laid(const NcclChoice& choice) const {
  return *std::find_if(laid_.begin(), laid_.end(), [&](const Laid& one) { return one.algorithm == choice.algorithm; });
}

NcclWay NcclOnLinks::way(double bytes) const {
  const NcclChoice choice = price_.choice(bytes);
  const Laid& on = laid(choice);
  if (on.busy == 0) {
    const double all = choice.start_up + bytes / choice.bandwidth;
    return {on.rounds, 0, all, all};
  }
  return {on.rounds,
          1 / (choice.bandwidth * on.busy_on_rails),
          choice.start_up + on.latency,
          choice.base,
          {choice.inside, choice.between}};
}

double NcclOnLinks::start_up(double bytes) const {
  const NcclChoice choice = price_.choice(bytes);
  return choice.start_up + laid(choice).latency;
}

double NcclOnLinks::seconds(double bytes) const {
  const NcclChoice choice = price_.choice(bytes);
  const Laid& on = laid(choice);
  return choice.start_up + on.latency + bytes / choice.bandwidth * on.slower();
}

double NcclOnLinks::least(double bytes) const {
  double start_up = std::numeric_limits<double>::infinity(), per_byte = start_up;
  for (const NcclChoice& choice : price_.choices(at_best)) {
    const Laid& on = laid(choice);
    start_up = std::min(start_up, choice.start_up + on.latency);
    per_byte = std::min(per_byte, on.slower() / choice.bandwidth);
  }
  return start_up + per_byte * bytes;
}

double NcclOnLinks::least_together(double bytes) const {
  double base = std::numeric_limits<double>::infinity();
  for (const NcclChoice& choice : price_.choices(at_best)) base = std::min(base, choice.base);
  return std::max(base, least_on_links(bytes));
}

double NcclOnLinks::least_on_links(double bytes) const {
  double per_byte = std::numeric_limits<double>::infinity();
  for (const NcclChoice& choice : price_.choices(at_best)) {
    const Laid& on = laid(choice);
    per_byte = std::min(per_byte, on.busy > 0 ? on.busiest / on.busy_on_rails / choice.bandwidth : 0);
  }
  return per_byte * bytes;
}

}  // namespace allreplay
