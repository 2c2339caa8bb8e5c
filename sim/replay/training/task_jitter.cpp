#include "sim/replay/training/task_jitter.hpp"

#include <algorithm>

namespace allreplay {

std::vector<DrawOrder> draw_orders(const Unrolled& unrolled) {
  std::vector<DrawOrder> orders(unrolled.classes);
  std::uint32_t last = 0;  // micro-batch
  for (TaskId task = 0; task < unrolled.labels.size(); ++task) {
    const Label& label = unrolled.labels[task];
    if (!is_on_stream(label.kind)) continue;
    DrawOrder& order = orders[label.worker_class];
    (is_pass(label.kind) ? order.passes : order.others).push_back(task);
    if (is_pass(label.kind)) last = std::max(last, label.micro_batch);
  }
  const auto place_of = [&](TaskId task) {
    const auto& [kind, worker_class, item, micro_batch, in_pair] = unrolled.labels[task];
    const bool backward = kind != Activity::Forward;
    return backward && micro_batch == last ? 0 : 1 + 2 * micro_batch + (backward ? 1 : 0);
  };
  for (DrawOrder& order : orders) std::ranges::stable_sort(order.passes, {}, place_of);
  return orders;
}

}  // namespace allreplay
