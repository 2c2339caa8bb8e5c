// The tasks of a replayed plan, found by their labels.
#pragma once

#include <map>
#include <tuple>

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

struct Tasks {
  explicit Tasks(const Result& result)
      : unrolled(result.unrolled), graph(unrolled.graph), classes(unrolled.classes), layers(unrolled.works(0) / 2) {
    for (TaskId id = 0; id < unrolled.labels.size(); ++id) {
      const Label& label = unrolled.labels[id];
      ids_[{label.kind, label.worker_class, label.item}] = id;
      if (label.kind == Activity::Transfer) by_block_[result.plan.transfers[label.item].payload.block].push_back(id);
    }
    blocks = by_block_.size();
    stages = blocks == 0 ? 0 : by_block_.at(0).size();
  }

  TaskId lead_in(std::size_t c) const { return unrolled.lead_in(c); }
  TaskId backward(std::size_t c, std::size_t layer) const { return id(Activity::Backward, c, layer); }
  TaskId forward(std::size_t c, std::size_t layer) const { return id(Activity::Forward, c, layer); }
  TaskId encode(std::size_t c, std::size_t block) const { return id(Activity::Encode, c, block); }
  TaskId decode(std::size_t c, std::size_t block) const { return id(Activity::Decode, c, block); }
  TaskId block(std::size_t index, std::size_t stage = 0) const {
    return by_block_.at(static_cast<std::uint32_t>(index)).at(stage);
  }
  TaskId transfer(std::size_t index) const { return unrolled.transfer(index); }
  std::size_t transfers() const { return unrolled.transfers; }

  const Unrolled& unrolled;
  const TaskGraph& graph;
  std::size_t classes, layers, blocks = 0, stages = 0;

 private:
  TaskId id(Activity kind, std::size_t c, std::size_t item) const {
    return ids_.at({kind, static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(item)});
  }

  std::map<std::tuple<Activity, std::uint32_t, std::uint32_t>, TaskId> ids_;
  std::map<std::uint32_t, std::vector<TaskId>> by_block_;
};

}  // namespace allreplay
