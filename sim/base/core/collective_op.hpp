// The communication operations (all-reduce, send, …) and the table of their names and properties, which the readers of
// cluster files, profiles, collective files and logs use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/named.hpp"

namespace allreplay {

enum class CollectiveOp : std::uint8_t {
  AllReduce,      ///< every rank gets the sum
  AllGather,      ///< every rank gets the parts of all ranks
  ReduceScatter,  ///< every rank gets one part of the sum
  AllToAll,       ///< every rank gets the piece that each rank holds for it
  Broadcast,      ///< every rank gets rank 0's buffer
  Send,           ///< one rank gets another rank's buffer
  Selection,      ///< every rank gets the k largest elements of the sum
  Gather,         ///< one rank gets the parts of all ranks
  Scatter,        ///< every rank gets its part of one rank's buffer
};

struct OperationRow {
  CollectiveOp value;
  std::string_view name;
  /// The collective that carries it out unless the cluster names a suitable one; "" if clusters never choose one.
  std::string_view usual = "";
  /// Bytes through the busiest port per byte of the buffer, as nccl-tests defines them (its doc/PERFORMANCE.md).
  double (*bus_factor)(double workers) = [](double) { return 1.0; };
  bool in_layers = false;  ///< a layer of a profile may contain it
  bool measured = false;   ///< collective files may define its rounds, and logs its times
};

inline constexpr OperationRow operation_rows[] = {
    {CollectiveOp::AllReduce, "all-reduce", "ring", [](double n) { return 2 * (n - 1) / n; }, true, true},
    {CollectiveOp::AllGather, "all-gather", "ring", [](double n) { return (n - 1) / n; }, true, true},
    {CollectiveOp::ReduceScatter, "reduce-scatter", "ring", [](double n) { return (n - 1) / n; }, true, true},
    {CollectiveOp::AllToAll, "all-to-all", "all-to-all", [](double n) { return (n - 1) / n; }, true, false},
    {CollectiveOp::Broadcast, "broadcast", "binary-tree", [](double) { return 1.0; }, false, true},
    {CollectiveOp::Send, "send"},
    {CollectiveOp::Selection, "selection", "", [](double n) { return 2 * (n - 1) / n; }},
    {CollectiveOp::Gather, "gather", "", [](double n) { return (n - 1) / n; }},
    {CollectiveOp::Scatter, "scatter", "", [](double n) { return (n - 1) / n; }},
};

/// The operation as which a transfer is priced: a gather to one rank, or a scatter, is a broadcast, since collectives
/// have no rounds for them.
constexpr CollectiveOp carried_as(CollectiveOp op) {
  return op == CollectiveOp::Gather || op == CollectiveOp::Scatter ? CollectiveOp::Broadcast : op;
}

constexpr const OperationRow& operation_row(CollectiveOp op) {
  return *std::find_if(std::begin(operation_rows), std::end(operation_rows),
                       [&](const OperationRow& row) { return row.value == op; });
}
inline std::string to_string(CollectiveOp op) { return std::string(operation_row(op).name); }

/// The rows in which `column` is set, in the order of the table.
template <class Column>
std::vector<OperationRow> operations_with(Column OperationRow::*column) {
  std::vector<OperationRow> rows;
  std::copy_if(std::begin(operation_rows), std::end(operation_rows), std::back_inserter(rows),
               [&](const OperationRow& row) { return row.*column != Column(); });
  return rows;
}

/// is_reduction(): the operation sums the workers' buffers. is_gathering(): every worker ends with the whole buffer.
inline bool is_reduction(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter; }
inline bool is_gathering(CollectiveOp op) { return op == CollectiveOp::AllReduce || op == CollectiveOp::AllGather; }

}  // namespace allreplay
