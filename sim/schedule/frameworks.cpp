#include "sim/schedule/frameworks.hpp"

#include "sim/schedule/gradients.hpp"

namespace allreplay {

Draft draft_ddp(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  std::vector<std::size_t> ends;
  Bytes bytes = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    bytes += list[i].bytes;
    const Bytes cap = ends.empty() ? request.options.first_bucket : request.options.bucket_cap;
    if (bytes < cap && i + 1 < list.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  Draft draft = merge("ddp", list, ends);
  draft.order = Order::AsListed;
  return draft;
}

Draft draft_horovod(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  const Time cycle = request.options.cycle;
  const auto cycle_of = [&](const Gradient& gradient) { return (gradient.ready + cycle - Time(1)) / cycle; };
  std::vector<std::size_t> ends;
  Bytes bytes = list[0].bytes;
  for (std::size_t i = 1; i < list.size(); ++i) {
    const bool fuses = cycle_of(list[i]) == cycle_of(list[i - 1]) && list[i].bytes <= request.options.threshold - bytes;
    if (!fuses) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += list[i].bytes;
  }
  ends.push_back(list.size());
  Draft draft = merge("horovod", list, ends);
  draft.tick = cycle;
  return draft;
}

}  // namespace allreplay
