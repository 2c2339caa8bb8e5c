// Drops the column wall_s from a CSV of results, so that tests can compare two of them.
#pragma once

#include <string>
#include <vector>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/file.hpp"

/// Returns the lines, header first, without the column wall_s, which differs from run to run.
inline std::vector<std::string> untimed_rows(const std::string& file) {
  const std::vector<allreplay::CsvRow> lines = allreplay::parse_csv(allreplay::Files().read_output(file), file);
  std::vector<std::string> rows;
  for (const allreplay::CsvRow& line : lines) {
    rows.emplace_back();
    for (std::size_t i = 0; i < line.fields.size(); ++i)
      if (lines[0].fields.at(i) != "wall_s") rows.back() += line.fields[i] + ",";
  }
  return rows;
}
