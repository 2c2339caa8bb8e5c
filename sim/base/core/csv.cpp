#include "sim/base/core/csv.hpp"

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// Limits that no sensible file reaches and that still fit into memory.
constexpr std::size_t most_rows = 1'000'000, most_fields = 10'000'000;

void require_text(std::string_view text, const std::string& file) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      throw InputError({file, fmt::format("line {}", line)}, "is not text", "UTF-8 without control characters");
    line += text.front() == '\n';
    text.remove_prefix(length);
  }
}

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file) {
  std::vector<CsvRow> rows;
  parse_csv(text, file, [&](CsvRow& row) { rows.push_back(std::move(row)); });
  return rows;
}

void parse_csv(std::string_view text, const std::string& file, const std::function<void(CsvRow& row)>& each) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark that spreadsheets write
  require_text(text, file);
  CsvRow row{1, {}};
  std::string field;
  int line = 1, opened = 0;
  bool quoted = false;
  std::size_t rows = 0, fields = 0;
  const auto end_field = [&] {
    row.fields.push_back(std::move(field));
    field.clear();
    if (++fields > most_fields)
      throw InputError({file, fmt::format("line {}", line)}, fmt::format("is after {} fields", most_fields),
                       "a smaller file");
  };
  const auto end_row = [&] {
    if (rows == most_rows)
      throw InputError({file, fmt::format("line {}", line)}, fmt::format("is after {} rows", most_rows),
                       "a smaller file");
    end_field();
    if (row.fields.size() > 1 || !row.fields[0].empty()) {
      each(row);
      ++rows;
    }
    row = {line, {}};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        quoted = false;
    } else if (c == '"' && field.empty()) {
      quoted = true;
      opened = line;
    } else if (c == ',') {
      end_field();
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      field += c;
    }
  }
  if (quoted) throw InputError({file, fmt::format("line {}", opened)}, "a quote is never closed", "close it with \"");
  end_row();
}

std::string csv_field(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace allreplay
