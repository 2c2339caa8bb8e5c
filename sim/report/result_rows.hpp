// The numbers of a row of results, as every table of them shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/experiment/ranking.hpp"
#include "sim/experiment/row.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

struct ResultNumbers {
  const Metrics& metrics;
  SpeedPerGpu speed;
  double relative_efficiency = 0;
  double memory_bytes = 0;
  bool fits = true, wins = false, ties = false;  ///< the last: within the tie, which another one wins
  std::optional<double> bubble_s = {};           ///< of a pipeline, the mean of its ranks
  bool roomy = true;                             ///< it leaves as much memory free as the winner must
};

/// What they show.
struct NumberColumns {
  std::int64_t reference_workers = 1;  ///< what efficiency is relative to
  bool memory = false;
  bool bubble = false;
  bool stragglers = false;
  bool samples = false;  ///< a second, where iterations do not all have as many
  bool speed = true;     ///< of a GPU, with its MFU
  bool all = true;       ///< else those alone that stand beside long names
};

std::vector<TableColumn> number_columns(const std::vector<ResultNumbers>& rows, const NumberColumns& how);
std::vector<TableCell> number_cells(const ResultNumbers& row, const NumberColumns& how);

inline constexpr const char* unfit_note = "!: does not fit into a worker's memory\n";
std::string ties_note(double tie);
/// "*: leaves less than 10 % …".
std::string headroom_note(const WinningRule& rule);
/// unfit_note, and likewise "~ …" for ties and "* …" for little headroom; "" where the rows have none.
std::string marks_note(const std::vector<ResultNumbers>& rows, const WinningRule& rule);

/// "eff.", or "eff. from 8": scaling from so many workers.
std::string efficiency_column(std::int64_t reference_workers);

TableCell exposed_cell(const Metrics& metrics);
/// True if stragglers cost any of them time, or save some.
bool have_stragglers(const std::vector<ResultNumbers>& rows);
TableCell above_bound_cell(const Metrics& metrics);
/// Bytes, marked "!" where they do not fit, and "*" where they leave too little free.
TableCell memory_cell(double bytes, bool fits, bool roomy = true);
inline constexpr const char* collectives_column = "colls";
inline const TableColumn straggler_column = TableColumn("stragglers").like("iteration");
inline const TableColumn exposed_column = TableColumn("exposed comm.").like("iteration");

}  // namespace allreplay
