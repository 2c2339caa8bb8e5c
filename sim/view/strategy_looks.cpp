#include "sim/view/strategy_looks.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/core/named.hpp"

namespace allreplay {

namespace {

struct StrategyLabel {
  std::string_view name, label;
};

// A strategy's row is its place among the looks: a new one goes to the end, so that none changes.
constexpr StrategyLabel strategy_labels[] = {
    {"wfbp", "WFBP"},         {"sync-easgd", "SyncEASGD"},
    {"mg-wfbp", "MG-WFBP"},   {"optimal-merge", "Optimal merge"},
    {"s-sgd", "S-SGD"},       {"ddp", "DDP"},
    {"horovod", "Horovod"},   {"bytescheduler", "ByteScheduler"},
    {"us-byte", "US-Byte"},   {"p3", "P3"},
    {"dear", "DeAR"},         {"mergecomp", "MergeComp"},
    {"zero-1", "ZeRO-1"},     {"zero-2", "ZeRO-2"},
    {"zero-3", "ZeRO-3"},     {"fsdp1", "FSDP1"},
    {"fsdp2", "FSDP2"},       {"best", "Best found"},
    {"megatron", "Megatron"},
};

}  // namespace

std::string strategy_label(std::string_view name) {
  const StrategyLabel* row = row_named(strategy_labels, name);
  return std::string(row ? row->label : name);
}

std::optional<std::size_t> look_place(std::string_view strategy) {
  const auto found =
      std::find_if(std::begin(strategy_labels), std::end(strategy_labels),
                   [&](const StrategyLabel& row) { return row.name == strategy || row.label == strategy; });
  if (found == std::end(strategy_labels)) return std::nullopt;
  return static_cast<std::size_t>(found - std::begin(strategy_labels));
}

std::vector<std::size_t> look_places(const std::vector<std::string>& series) {
  std::set<std::size_t> taken;
  for (const std::string& name : series)
    if (const auto own = look_place(name)) taken.insert(*own);
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const std::string& name : series) {
    if (const auto own = look_place(name)) {
      places.push_back(*own);
      continue;
    }
    while (taken.count(next) > 0) ++next;
    places.push_back(next++);
  }
  return places;
}

}  // namespace allreplay
