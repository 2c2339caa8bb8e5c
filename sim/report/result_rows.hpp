// The numbers of a row of results, as every table of them shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  bool tight = false;                            ///< fits_tightly()
};

/// What they show.
struct NumberColumns {
  std::int64_t reference_workers = 1;  ///< what efficiency is relative to
  bool memory = false;
  bool bubble = false;
  bool samples = false;  ///< a second, where iterations do not all have as many
  bool all = true;       ///< else those alone that stand beside long names
};

std::vector<TableColumn> number_columns(const std::vector<ResultNumbers>& rows, const NumberColumns& how);
std::vector<TableCell> number_cells(const ResultNumbers& row, const NumberColumns& how);

inline constexpr const char* unfit_note = "!: does not fit into a worker's memory\n";
inline constexpr const char* tight_note =
    "^: fits with less than a tenth of the memory free, which allocators and libraries may need\n";
std::string ties_note(double tie);
/// unfit_note, tight_note, and likewise "~ …" for ties; "" where the rows have none.
std::string marks_note(const std::vector<ResultNumbers>& rows, double tie);

/// "eff.", or "eff. from 8": scaling from so many workers.
std::string efficiency_column(std::int64_t reference_workers);

TableCell exposed_cell(const Metrics& metrics);
TableCell above_bound_cell(const Metrics& metrics);
/// Bytes, marked "!" where they do not fit, "^" where they do tightly.
TableCell memory_cell(double bytes, bool fits, bool tight);
inline constexpr const char* collectives_column = "colls";
inline const TableColumn exposed_column = TableColumn("exposed comm.").like("iteration");

}  // namespace allreplay
