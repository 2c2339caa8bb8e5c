// Reads tables of results from CSV: the files that `sweep --out` and `tune --out` write, and any other with a header.
#pragma once

#include <string>
#include <vector>

#include "sim/studies/results/row.hpp"

namespace allreplay {

class Files;

/// A row as text, without its column names.
struct ResultLine {
  int line = 0;  ///< line number in the file, from 1
  std::vector<std::string> cells;
  bool fits = true;  ///< its memory_bytes fit into the limit in its options, if there is one
};

struct ResultTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<ResultLine> rows;  ///< at least one

  bool has(const std::string& column) const;
  /// The index of a column. Throws InputError if there is none of that name.
  std::size_t place(const std::string& column) const;
  const std::string& text(const ResultLine& row, const std::string& column) const { return row.cells[place(column)]; }
  /// The cell as a number. Throws InputError unless it is at least 0.
  double number(const ResultLine& row, const std::string& column) const;
  /// The location of a row, or of its cell in `column`, for errors.
  SourceLocation place_of(const ResultLine& row, const std::string& column = "") const;
};

/// Reads a CSV file. Throws InputError if it is malformed or has no rows.
ResultTable read_results(const Files& files, const std::string& file);

/// The same for a text; `file` is the name in errors.
ResultTable parse_results(const std::string& text, const std::string& file);

}  // namespace allreplay
