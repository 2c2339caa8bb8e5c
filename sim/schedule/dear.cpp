#include "sim/schedule/dear.hpp"

#include "sim/schedule/gradients.hpp"

namespace allreplay {

Draft draft_dear(const PlanRequest& request) {
  const auto list = gradients(request.profile);
  std::vector<std::size_t> ends;
  Bytes bytes = list[0].bytes;
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (list[i].bytes > request.options.threshold - bytes) {
      ends.push_back(i);
      bytes = 0;
    }
    bytes += list[i].bytes;
  }
  ends.push_back(list.size());
  Draft draft = merge("dear", list, ends);
  // The last gradient of a block is the nearest to the input. Reduce-scatters become ready as they are listed.
  for (Block& block : draft.blocks) block.priority = request.profile.tensors[block.slices.back().tensor].layer;
  draft.order = Order::Priority;
  draft.barrier = Barrier::Layer;
  draft.split = true;
  return draft;
}

}  // namespace allreplay
