// The operations of communication: what each of a group has before, and what each has after. A row says all that is
// asked of one by name; cluster files, profiles, collective files, logs and commands read the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.hpp"

namespace allreplay {

enum class CollectiveOp : std::uint8_t {
  AllReduce,      ///< everybody has the sum
  AllGather,      ///< everybody has everybody's part
  ReduceScatter,  ///< everybody has a part of the sum
  AllToAll,       ///< everybody has what each had for it
  Broadcast,      ///< everybody has what rank 0 had
  Send,           ///< one has what another had
  Selection,      ///< everybody has the k largest of the sum
};

struct OperationRow {
  CollectiveOp value;
  std::string_view name;
  /// The collective that carries it out where a cluster names none that can; "": nobody asks a cluster for it.
  std::string_view usual = "";
  /// Bytes that the busiest port carries for each of the buffer, as nccl-tests counts both (doc/PERFORMANCE.md).
  double (*bus_factor)(double workers) = [](double) { return 1.0; };
  bool in_layers = false;  ///< a layer of a profile may have it
  bool measured = false;   ///< collective files give its rounds, logs its times
};

inline constexpr OperationRow operation_rows[] = {
    {CollectiveOp::AllReduce, "all-reduce", "ring", [](double n) { return 2 * (n - 1) / n; }, true, true},
    {CollectiveOp::AllGather, "all-gather", "ring", [](double n) { return (n - 1) / n; }, true, true},
    {CollectiveOp::ReduceScatter, "reduce-scatter", "ring", [](double n) { return (n - 1) / n; }, true, true},
    {CollectiveOp::AllToAll, "all-to-all", "all-to-all", [](double n) { return (n - 1) / n; }, true, false},
    {CollectiveOp::Broadcast, "broadcast", "binary-tree", [](double) { return 1.0; }, false, true},
    {CollectiveOp::Send, "send"},
    {CollectiveOp::Selection, "selection", "", [](double n) { return 2 * (n - 1) / n; }},
};

constexpr const OperationRow& operation_row(CollectiveOp op) {
  return *std::find_if(std::begin(operation_rows), std::end(operation_rows),
                       [&](const OperationRow& row) { return row.value == op; });
}
inline std::string to_string(CollectiveOp op) { return std::string(operation_row(op).name); }

/// The rows that may stand in one place (a column that is set), in the order of the table.
template <class Column>
std::vector<OperationRow> operations_with(Column OperationRow::*column) {
  std::vector<OperationRow> rows;
  std::copy_if(std::begin(operation_rows), std::end(operation_rows), std::back_inserter(rows),
               [&](const OperationRow& row) { return row.*column != Column(); });
  return rows;
}

/// Whether it sums what workers have made; and whether it brings a whole to everybody.
inline bool is_reduction(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter; }
inline bool is_gathering(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::AllGather; }

}  // namespace allreplay
