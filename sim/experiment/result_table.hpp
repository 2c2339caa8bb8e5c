// Rows of results as a CSV holds them: the one reader of what `sweep --out` and `tune --out` write, and of any other
// with a header.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/row.hpp"

namespace allreplay {

class Files;

struct ResultLine {
  int line = 0;  ///< in the file, from 1
  std::vector<std::string> cells;
  bool fits = true;  ///< into the memory that its options say there is
};

struct ResultTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<ResultLine> rows;  ///< at least one

  bool has(const std::string& column) const;
  /// Throws InputError where there is no such column.
  std::size_t place(const std::string& column) const;
  const std::string& text(const ResultLine& row, const std::string& column) const { return row.cells[place(column)]; }
  /// Throws InputError unless it is a number of at least 0.
  double number(const ResultLine& row, const std::string& column) const;
  /// Where complaints of a row, or of its cell, point.
  SourceLocation place_of(const ResultLine& row, const std::string& column = "") const;
};

/// Throws InputError.
ResultTable read_results(const Files& files, const std::string& file);

/// The same of a text, as if `file` held it.
ResultTable parse_results(const std::string& text, const std::string& file);

}  // namespace allreplay
