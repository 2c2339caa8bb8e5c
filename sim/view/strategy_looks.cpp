#include "sim/view/strategy_looks.hpp"

#include <iterator>
#include <map>
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
  const StrategyLabel* row = row_named(strategy_labels, strategy);
  if (!row) return std::nullopt;
  return static_cast<std::size_t>(row - std::begin(strategy_labels));
}

std::vector<std::size_t> look_places(const std::vector<std::string>& series,
                                     const std::function<std::string(const std::string&)>& called) {
  std::map<std::string, std::size_t> own;
  for (const StrategyLabel& row : strategy_labels) own.emplace(called(std::string(row.name)), *look_place(row.name));
  std::set<std::size_t> taken;
  for (const std::string& name : series)
    if (const auto strategy = own.find(name); strategy != own.end()) taken.insert(strategy->second);
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const std::string& name : series) {
    if (const auto strategy = own.find(name); strategy != own.end()) {
      places.push_back(strategy->second);
      continue;
    }
    while (taken.count(next) > 0) ++next;
    places.push_back(next++);
  }
  return places;
}

}  // namespace allreplay
