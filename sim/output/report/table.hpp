// Tables of typed cells, laid out for the width of a screen or as Markdown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/screen.hpp"

namespace allreplay {

/// A text, or a number of a kind that decides its units.
struct TableCell {
  enum class Kind : std::uint8_t { Text, Number, Percent, Seconds, Size, Rate, PerByte };

  TableCell() = default;
  TableCell(std::string words) : text(std::move(words)) {}  // NOLINT: a text is a cell
  TableCell(std::string_view words) : text(words) {}        // NOLINT
  TableCell(const char* words) : text(words) {}             // NOLINT
  TableCell(Kind one, double number) : value(number), kind(one) {}

  TableCell marked(std::string sign) const;  ///< adds a sign after the number

  std::string text;           ///< the text, or the sign after the number
  double value = 0;           ///< in seconds, bytes, bytes/s or seconds per byte; a Percent of 1 is 100 %
  std::int16_t decimals = 0;  ///< for Number and Percent; other kinds get as many as their column needs
  Kind kind = Kind::Text;
  bool is_signed = false;
  bool is_grouped = false;  ///< "4,816,059"
};

namespace cell {
TableCell count(std::int64_t number);
TableCell number(double value, int decimals);
TableCell grouped(double value);  ///< rounded, with separators of thousands
TableCell percent(double ratio, int decimals = 1);
TableCell gain(double ratio);  ///< "+12.3": percent with its sign
TableCell seconds(double value);
TableCell bytes(double value);
TableCell rate(double bytes_per_second);
TableCell per_byte(double seconds);
}  // namespace cell

/// A column. Its name is broken at blanks if the table is too wide. `like` is the column whose unit and decimals it
/// has, so that readers can add their numbers; `is_finer`: only the unit, such as of a confidence interval, whose
/// digits are after those of the mean; `is_command`: its cells are words of a command, which readers can paste.
struct TableColumn {
  TableColumn(const char* its_name) : name(its_name) {}  // NOLINT: a name is a column
  TableColumn(std::string its_name, std::string another, bool command, bool finer = false)
      : name(std::move(its_name)), like(std::move(another)), is_command(command), is_finer(finer) {}

  std::string name, like;
  bool is_command = false, is_finer = false;
};

/// A column with formatted cells: all numbers in one unit, which is in the header, with the same number of decimals or,
/// if their magnitudes differ too much, each in its own unit.
struct FormattedColumn {
  std::string name, unit;
  std::vector<std::string> cells;
  std::vector<double> sizes;  ///< the value of each cell if their units differ, for sorting; otherwise empty
  bool is_key = false, is_command = false;
  bool is_text = false;                   ///< text is left-aligned, numbers are right-aligned
  std::size_t width = 0, word_width = 0;  ///< of the widest cell, and of the longest word that stays whole
};

/// A table whose first `keys` columns identify the rows. If it is too wide, names and texts are broken into lines, and
/// columns that still have no room move into tables below, which repeat the keys. Columns with only blanks or "-" are
/// left out.
class Table {
 public:
  explicit Table(std::vector<TableColumn> columns, std::size_t keys = 1) : columns_(std::move(columns)), keys_(keys) {}

  /// Adds a row. REQUIRES: as many cells as columns.
  void add(std::vector<TableCell> row) { rows_.push_back(std::move(row)); }

  std::string text(const Screen& screen) const;

  /// Returns the columns that are shown, also for other layouts, such as a page.
  std::vector<FormattedColumn> formatted() const;

 private:
  std::vector<TableColumn> columns_;
  std::size_t keys_;
  std::vector<std::vector<TableCell>> rows_;
};

/// Lays out names and values as two columns, with long values wrapped.
std::string facts(const std::vector<std::pair<std::string, TableCell>>& rows, const Screen& screen);

/// Returns a cell as text for use outside a table: a number with its own unit, or with that of another number.
std::string sentence_text(const TableCell& cell);
std::string sentence_text(const TableCell& cell, const TableCell& like);

/// Returns the rows as a Markdown table; the first is the header.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace allreplay
