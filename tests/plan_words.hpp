// A plan in words: what waits for what, as pages and derivations write it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/plans/schedule/plan.hpp"

/// Works: F1, B1 of a layer, C1, c1, D1 of a unit (copies out, out again, in), U, H (host). Transfers by the layers
/// that they carry, in order: G1+2 a gather, R2+1 a reduction; among groups A1 an all-reduce, S1 a reduce-scatter, O1 a
/// gather; what comes again in a micro-batch has a ' more. Micro-batches from the second on are named: F1/2.
class PlanWords {
 public:
  PlanWords(const allreplay::Plan& plan, const allreplay::Profile& profile) : plan_(plan) {
    for (const allreplay::Work& work : plan.program()) works_.push_back(name_of(work));
    std::map<std::string, int> seen;
    for (const allreplay::Transfer& transfer : plan.transfers) {
      std::string name = name_of(transfer, profile);
      const int before = seen[name + batch_of(transfer.micro_batch)]++;
      transfers_.push_back(name.append(static_cast<std::size_t>(before), '\'') + batch_of(transfer.micro_batch));
    }
  }

  std::string program() const { return joined(works_); }

  std::string lane(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < transfers_.size(); ++i)
      if (plan_.lanes[plan_.transfers[i].lane].name == name) names.push_back(transfers_[i]);
    return joined(names);
  }

  /// Returns what the named transfer or work waits for by its gates, works first; "start" is the program's start.
  std::string before(const std::string& name) const {
    std::vector<std::string> starts, works, transfers;
    for (const allreplay::Gate& gate : plan_.gates) {
      if (name_of(gate.after) != name) continue;
      (gate.work_before() ? works : gate.transfer_before() ? transfers : starts).push_back(name_of(gate.before));
    }
    for (const auto& one : works) starts.push_back(one);
    for (const auto& one : transfers) starts.push_back(one);
    return joined(starts);
  }

  bool has(const std::string& name) const {
    return std::find(works_.begin(), works_.end(), name) != works_.end() ||
           std::find(transfers_.begin(), transfers_.end(), name) != transfers_.end();
  }

  std::string name_of(const allreplay::PlanPoint& point) const {
    if (const auto* work = std::get_if<allreplay::WorkPoint>(&point)) return works_[work->place];
    if (const auto* transfer = std::get_if<allreplay::TransferPoint>(&point)) return transfers_[transfer->index];
    return "start";
  }
  const std::vector<std::string>& works() const { return works_; }
  const std::vector<std::string>& transfers() const { return transfers_; }

 private:
  static std::string batch_of(std::uint32_t batch) { return batch == 0 ? "" : "/" + std::to_string(batch + 1); }

  static std::string name_of(const allreplay::Work& work) {
    constexpr const char* letters[] = {"B", "",  "",  "F", "U", "H",
                                       "C", "c", "D", "Q", "N", "O"};  // as Activity has them
    const std::string item = work.item == allreplay::everything ? "" : std::to_string(work.item + 1);
    return letters[static_cast<std::size_t>(work.kind)] + item + batch_of(work.micro_batch);
  }

  std::string name_of(const allreplay::Transfer& transfer, const allreplay::Profile& profile) const {
    using allreplay::CollectiveOp;
    const bool outer = transfer.group == allreplay::group_replica;
    std::string name = transfer.op == CollectiveOp::AllGather                ? (outer ? "O" : "G")
                       : outer && transfer.op == CollectiveOp::ReduceScatter ? "S"
                       : outer                                               ? "A"
                                                                             : "R";
    std::string last;
    for (const allreplay::Slice& slice : plan_.block_of(transfer).slices) {
      const std::string layer = std::to_string(profile.tensors[slice.tensor].layer + 1);
      if (layer != last) name += (last.empty() ? "" : "+") + layer;
      last = layer;
    }
    return name;
  }

  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  const allreplay::Plan& plan_;
  std::vector<std::string> works_, transfers_;
};
