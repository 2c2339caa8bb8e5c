#include "sim/output/report/table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

TableCell TableCell::marked(std::string sign) const {
  TableCell cell = *this;
  cell.text = std::move(sign);
  return cell;
}

namespace cell {

namespace {

TableCell with_decimals(TableCell::Kind kind, double value, int decimals) {
  TableCell cell(kind, value);
  cell.decimals = static_cast<std::int16_t>(decimals);
  return cell;
}

}  // namespace

TableCell count(std::int64_t number) { return {TableCell::Kind::Number, static_cast<double>(number)}; }
TableCell number(double value, int decimals) { return with_decimals(TableCell::Kind::Number, value, decimals); }
TableCell grouped(double value) {
  TableCell cell = number(value, 0);
  cell.is_grouped = true;
  return cell;
}
TableCell percent(double ratio, int decimals) { return with_decimals(TableCell::Kind::Percent, ratio, decimals); }
TableCell gain(double ratio) {
  TableCell cell = percent(ratio);
  cell.is_signed = true;
  return cell;
}
TableCell seconds(double value) { return {TableCell::Kind::Seconds, value}; }
TableCell bytes(double value) { return {TableCell::Kind::Size, value}; }
TableCell rate(double bytes_per_second) { return {TableCell::Kind::Rate, bytes_per_second}; }
TableCell per_byte(double seconds) { return {TableCell::Kind::PerByte, seconds}; }

}  // namespace cell

namespace {

using Kind = TableCell::Kind;
using Lines = std::vector<std::string>;

constexpr std::size_t gap = 2;          // between columns
constexpr std::size_t narrow_key = 24;  // the least width of a broken key column, unless one of its words is longer

FittingUnit unit_of(Kind kind, double value) {
  switch (kind) {
    case Kind::Seconds:
      return unit_of_duration(value);
    case Kind::Size:
      return unit_of_size(value);
    case Kind::Rate:
      return unit_of_rate(value);
    case Kind::PerByte:
      return {1e-9, "ns/B"};
    case Kind::Percent:
      return {0.01, "%"};
    case Kind::Text:
    case Kind::Number:
      break;
  }
  return {1, ""};
}

bool has_units(Kind kind) { return kind != Kind::Text && kind != Kind::Number && kind != Kind::Percent; }

std::string with_separators(std::string digits) {
  for (std::size_t place = digits.size(); place > 3 && digits[place - 4] != '-'; place -= 3)
    digits.insert(place - 3, ",");
  return digits;
}

std::string written(const TableCell& cell, const FittingUnit& unit, int decimals) {
  const double value = cell.value / unit.size;
  if (cell.is_signed) return fmt::format("{:+.{}f}", value, decimals);
  if (cell.is_grouped) return with_separators(fmt::format("{:.0f}", value));
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  return text.find_first_not_of("-0.") == std::string::npos ? text.substr(text.find('0')) : text;  // no "-0.0"
}

}  // namespace

std::string sentence_text(const TableCell& cell) { return sentence_text(cell, cell); }

std::string sentence_text(const TableCell& cell, const TableCell& like) {
  if (cell.kind == Kind::Text) return cell.text;
  const FittingUnit unit = unit_of(cell.kind, like.value == 0 ? 1 : like.value);
  const std::string number =
      has_units(cell.kind) ? fmt::format("{:.4g}", cell.value / unit.size) : written(cell, unit, cell.decimals);
  return fmt::format("{}{}{}{}", number, unit.name.empty() ? "" : " ", unit.name, cell.text);
}

namespace {

// The common format of a column's numbers: in the unit of their median, with at most three decimals: enough for four
// digits of the median and two of the smallest number. If three decimals are not enough for these, each number has its
// own unit.
struct Scale {
  FittingUnit unit{1, ""};
  int decimals = 0;
  bool apart = false;  // magnitudes differ too much: each number has its own unit
};

int decimals_for(double value, int digits, int most = 3) {
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(value * 1.00005))), 0, most);
}

Scale scale_of(const std::vector<const TableCell*>& numbers) {
  Scale scale;
  const Kind kind = numbers.front()->kind;
  const auto differs = [&](const TableCell* one) { return one->kind != kind; };
  if (std::any_of(numbers.begin(), numbers.end(), differs)) return {.apart = true};
  for (const TableCell* one : numbers) scale.decimals = std::max(scale.decimals, int{one->decimals});
  scale.unit = unit_of(kind, 1);
  if (!has_units(kind)) return scale;
  std::vector<double> sizes;
  for (const TableCell* one : numbers)
    if (one->value != 0) sizes.push_back(std::abs(one->value));
  if (sizes.empty()) return scale;
  std::sort(sizes.begin(), sizes.end());
  constexpr double far = 1e5;
  if (sizes.back() > far * sizes.front()) return {.apart = true};
  const double median = sizes[sizes.size() / 2];
  scale.unit = unit_of(kind, median);
  const double least = sizes.front() / scale.unit.size;
  constexpr double two_digits = 0.0095;  // rounded to three decimals
  if (least < two_digits) return {.apart = true};
  scale.decimals = std::max(decimals_for(median / scale.unit.size, 4), decimals_for(least, 2));
  return scale;
}

bool starts_like_a_number(const std::string& text) {
  const std::size_t first = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return text.empty() || text == "-" || (first < text.size() && text[first] >= '0' && text[first] <= '9');
}

using Rows = std::vector<std::vector<TableCell>>;

std::vector<const TableCell*> numbers_of(const Rows& rows, std::size_t index) {
  std::vector<const TableCell*> numbers;
  for (const auto& row : rows)
    if (row[index].kind != Kind::Text) numbers.push_back(&row[index]);
  return numbers;
}

bool is_empty(const Rows& rows, std::size_t index) {
  return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
    return row[index].kind == Kind::Text && (row[index].text.empty() || row[index].text == "-");
  });
}

// Gives the median of the numbers two digits in the scale of another column.
void refine(Scale& scale, const std::vector<const TableCell*>& numbers) {
  constexpr int most = 6;
  std::vector<double> sizes;
  for (const TableCell* one : numbers)
    if (one->value != 0) sizes.push_back(std::abs(one->value) / scale.unit.size);
  if (sizes.empty()) return;
  std::sort(sizes.begin(), sizes.end());
  scale.decimals = std::max(scale.decimals, decimals_for(sizes[sizes.size() / 2], 2, most));
}

FormattedColumn formatted_column(const std::vector<TableColumn>& columns, const Rows& rows, std::size_t index) {
  const TableColumn& column = columns[index];
  FormattedColumn result{.name = column.name, .is_command = column.is_command};
  const std::vector<const TableCell*> numbers = numbers_of(rows, index);
  std::vector<const TableCell*> scaling;
  for (std::size_t other = 0; other < columns.size(); ++other)
    if (!column.like.empty() && columns[other].name == column.like) scaling = numbers_of(rows, other);
  Scale scale = numbers.empty() ? Scale() : scale_of(scaling.empty() ? numbers : scaling);
  if (column.is_finer && !scaling.empty()) refine(scale, numbers);
  if (!scale.apart) result.unit = scale.unit.name;
  std::size_t sign = 0;
  for (const TableCell* one : numbers) sign = std::max(sign, width_of(one->text));
  for (const auto& row : rows) {
    const TableCell& cell = row[index];
    std::string text =
        cell.kind == Kind::Text || scale.apart ? sentence_text(cell) : written(cell, scale.unit, scale.decimals);
    if (cell.kind == Kind::Text) {
      if (numbers.empty() && !starts_like_a_number(text)) result.is_text = true;
    } else if (!scale.apart) {
      text += cell.text;
    }
    if (sign > 0 && (cell.kind == Kind::Text || cell.text.empty())) text += std::string(sign, ' ');
    if (scale.apart) result.sizes.push_back(cell.value);
    result.width = std::max(result.width, width_of(text));
    result.word_width = std::max(result.word_width, longest_unbroken(text, column.is_command));
    result.cells.push_back(std::move(text));
  }
  return result;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// Columns next to each other, each with its width.
using Part = std::vector<std::pair<const FormattedColumn*, std::size_t>>;

std::size_t width_of_part(const Part& part) {
  std::size_t width = part.empty() ? 0 : gap * (part.size() - 1);
  for (const auto& [column, own] : part) width += own;
  return width;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t own = width_of(text);
  const std::string blanks(width > own ? width - own : 0, ' ');
  return left ? text + blanks : blanks + text;
}

// Puts the lines of a row's cells next to each other.
std::string joined(const Part& part, const std::vector<Lines>& cells, bool at_bottom) {
  std::size_t height = 0;
  for (const Lines& lines : cells) height = std::max(height, lines.size());
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::size_t above = at_bottom ? height - cells[i].size() : 0;
      const bool there = line >= above && line - above < cells[i].size();
      text += std::string(i == 0 ? 0 : gap, ' ') +
              padded(there ? cells[i][line - above] : "", part[i].second, part[i].first->is_text);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

// Lays out a part of the table. In a `later` part, rows without any cell besides the keys are left out.
std::string rendered(const Part& part, bool later) {
  std::vector<Lines> header;
  const bool units = std::any_of(part.begin(), part.end(), [](const auto& one) { return !one.first->unit.empty(); });
  for (const auto& [column, width] : part) {
    header.push_back(lines_of(wrapped(column->name, width)));
    if (units) header.back().push_back(column->unit);
  }
  std::string text = joined(part, header, true);
  text += std::string(width_of_part(part), '-') + "\n";
  for (std::size_t row = 0; row < part.front().first->cells.size(); ++row) {
    const auto says_nothing = [&](const auto& one) { return one.first->is_key || one.first->cells[row].empty(); };
    if (later && std::all_of(part.begin(), part.end(), says_nothing)) continue;
    std::vector<Lines> cells;
    for (const auto& [column, width] : part) {
      const std::string& cell = column->cells[row];
      const auto lines = column->is_command ? wrapped_command : wrapped;
      cells.push_back(lines_of(column->is_text ? lines(cell, width, 0) : cell));
    }
    text += joined(part, cells, false);
  }
  return text;
}

std::size_t full_width(const FormattedColumn& column) {
  return std::max({width_of(column.name), width_of(column.unit), column.width});
}

// The least width that keeps words whole, and text columns legible.
std::size_t least_width(const FormattedColumn& column, const Screen& screen) {
  const std::size_t legible = column.is_key ? narrow_key : screen.width / 3;
  const std::size_t cells =
      column.is_text ? std::max(column.word_width, std::min(column.width, legible)) : column.width;
  return std::max({longest_unbroken(column.name), width_of(column.unit), cells});
}

// Gives the remaining room to text columns that were narrowed, from the last one on.
void widen(Part& part, const Screen& screen) {
  for (auto one = part.rbegin(); one != part.rend(); ++one) {
    const std::size_t used = width_of_part(part), wanted = one->first->width;
    if (one->first->is_text && one->second < wanted && used < screen.width)
      one->second += std::min(wanted - one->second, screen.width - used);
  }
}

// Returns a single part if all columns fit, otherwise narrow columns in as few parts as hold them.
std::vector<Part> parts_of(const std::vector<FormattedColumn>& columns, const Screen& screen) {
  Part whole, key_part;
  for (const FormattedColumn& column : columns) whole.emplace_back(&column, full_width(column));
  if (width_of_part(whole) <= screen.width) return {whole};
  for (const FormattedColumn& column : columns)
    if (column.is_key) key_part.emplace_back(&column, least_width(column, screen));
  std::vector<Part> parts{key_part};
  for (const FormattedColumn& column : columns) {
    if (column.is_key) continue;
    const std::size_t width = least_width(column, screen);
    if (parts.back().size() > key_part.size() && width_of_part(parts.back()) + gap + width > screen.width)
      parts.push_back(key_part);
    parts.back().emplace_back(&column, width);
  }
  for (Part& part : parts) widen(part, screen);
  return parts;
}

}  // namespace

std::vector<FormattedColumn> Table::formatted() const {
  std::vector<FormattedColumn> columns;
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    if (is_empty(rows_, index)) continue;
    columns.push_back(formatted_column(columns_, rows_, index));
    columns.back().is_key = index < keys_;
  }
  return columns;
}

std::string Table::text(const Screen& screen) const {
  const std::vector<FormattedColumn> columns = formatted();
  std::string text;
  for (const Part& part : parts_of(columns, screen))
    text += text.empty() ? rendered(part, false) : "\n" + rendered(part, true);
  return text;
}

std::string facts(const std::vector<std::pair<std::string, TableCell>>& rows, const Screen& screen) {
  std::size_t names = 0;
  for (const auto& [name, value] : rows) names = std::max(names, width_of(name));
  const std::size_t indent = names + gap;
  std::string text;
  for (const auto& [name, value] : rows) {
    const std::size_t room = screen.width > indent ? screen.width - indent : 1;
    const Lines lines = lines_of(wrapped(sentence_text(value), room));
    for (const std::string& line : lines) text += padded(&line == lines.data() ? name : "", indent, true) + line + "\n";
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

}  // namespace allreplay
