// Tables: rows of typed cells, which lay themselves out for the width of a screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/screen.hpp"

namespace allreplay {

/// What a cell is to the reader, in colour.
enum class Tone : std::uint8_t { Plain, Best, Exposed };

/// What stands at one place: a text, or a number of a kind that has units of its own.
struct TableCell {
  enum class Kind : std::uint8_t { Text, Number, Percent, Seconds, Size, Rate, PerByte };

  TableCell() = default;
  TableCell(std::string words) : text(std::move(words)) {}  // NOLINT: a text is a cell
  TableCell(std::string_view words) : text(words) {}        // NOLINT
  TableCell(const char* words) : text(words) {}             // NOLINT
  TableCell(Kind one, double number) : value(number), kind(one) {}

  TableCell with(Tone one) const;
  TableCell marked(std::string sign) const;  ///< the sign stands behind the number

  std::string text;           ///< the text, or the sign
  double value = 0;           ///< in seconds, bytes, bytes per second, seconds per byte; of percent 1 is 100
  std::int16_t decimals = 0;  ///< of a number or percent; all else has as many as its column needs
  Kind kind = Kind::Text;
  bool is_signed = false;
  Tone tone = Tone::Plain;
};

namespace cell {
TableCell count(std::int64_t number);
TableCell number(double value, int decimals);
TableCell percent(double ratio, int decimals = 1);
TableCell gain(double ratio);  ///< "+12.3": percent with its sign
TableCell seconds(double value);
TableCell bytes(double value);
TableCell rate(double bytes_per_second);
TableCell per_byte(double seconds);
}  // namespace cell

/// A column's name may be broken at blanks, after hyphens, and at soft hyphens (U+00AD) where it is wider than what
/// stands below it. Its unit stands in the header, too, if its cells do not bring one.
struct TableColumn {
  TableColumn(std::string its_name, std::string its_unit = "")  // NOLINT: a name is a column
      : name(std::move(its_name)), unit(std::move(its_unit)) {}
  TableColumn(const char* its_name) : name(its_name) {}  // NOLINT

  /// This column with the unit and the decimals of another, so that their numbers can be added.
  TableColumn like(std::string other) const {
    TableColumn column = *this;
    column.scaled_like = std::move(other);
    return column;
  }

  /// This column with cells that are words of a command, to be pasted.
  TableColumn of_commands() const {
    TableColumn column = *this;
    column.commands = true;
    return column;
  }

  std::string name, unit, scaled_like;
  bool commands = false;
};

/// A column as every layout writes it: all of its numbers in one unit and with as many decimals, or, if they lie far
/// apart, each with its own unit.
struct FormattedColumn {
  std::string name, unit;
  std::vector<std::string> cells;
  bool is_text = false;       ///< words, to the left; otherwise numbers, to the right
  std::vector<double> sizes;  ///< of each cell, if their units differ; otherwise empty
};

/// Numbers stand to the right, with one unit a column and their points below each other; only where numbers lie far
/// apart each has its own unit. What does not fit gives way in this order: the last column, where it is text, is broken
/// into lines, as long as it has a third of the screen; names of columns are broken; the first columns, the keys, are
/// broken where they are text; the last texts move into a table below; the rest does, as many columns at a time as
/// fit. Each table starts with the keys, or where these leave no
/// room with numbers of rows. A column that says nothing (blanks, "-") is left out.
class Table {
 public:
  explicit Table(std::vector<TableColumn> columns, std::size_t keys = 1) : columns_(std::move(columns)), keys_(keys) {}

  /// REQUIRES: as many cells as columns.
  void add(std::vector<TableCell> row) { rows_.push_back(std::move(row)); }

  std::string text(const Screen& screen) const;
  std::string markdown() const;

  /// The columns for a layout that is not a screen's.
  std::vector<FormattedColumn> formatted() const;

 private:
  bool says_nothing(std::size_t column) const;

  std::vector<TableColumn> columns_;
  std::size_t keys_;
  std::vector<std::vector<TableCell>> rows_;
};

/// Names and what is said of them, a line each or more: the values stand below each other.
std::string facts(const std::vector<std::pair<std::string, TableCell>>& rows, const Screen& screen);

/// A cell outside of a table: a number with its own unit.
std::string in_a_sentence(const TableCell& cell);

/// Rows in Markdown. The first is the header.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows);

/// The text in the colour of its tone, where the screen has colours.
std::string toned(const std::string& text, Tone tone, const Screen& screen);

}  // namespace allreplay
