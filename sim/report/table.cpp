#include "sim/report/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace allreplay {

namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool numeric(const std::string& text) {
  return text.empty() || text == "-" || std::isdigit(static_cast<unsigned char>(text[0])) ||
         ((text[0] == '-' || text[0] == '+') && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])));
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  const std::size_t columns = rows[0].size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      widths[column] = std::max(widths[column], width(rows[row][column]));
      if (row > 0 && !numeric(rows[row][column])) right[column] = false;
    }
  std::string text;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string line;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::string& cell = rows[row][column];
      const std::string pad(widths[column] - width(cell), ' ');
      line += (column > 0 ? "  " : "") + (right[column] ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (row == 0) {
      std::size_t total = 2 * (columns - 1);
      for (const std::size_t one : widths) total += one;
      text += std::string(total, '-') + "\n";
    }
  }
  return text;
}

std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (const std::string& cell : row) {
      text += "| ";
      for (const char c : cell) text += c == '|' ? "\\|" : std::string(1, c);
      text += cell.empty() ? "" : " ";
    }
    text += "|\n";
    if (&row != rows.data()) continue;
    for (std::size_t column = 0; column < row.size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

}  // namespace allreplay
