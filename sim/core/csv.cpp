#include "sim/core/csv.hpp"

#include <fmt/format.h>

#include "sim/core/error.hpp"

namespace allreplay {

namespace {

// The length of the UTF-8 sequence that starts here, or 0 if it is none (RFC 3629; control characters are refused).
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x20) return first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

void require_text(std::string_view text, const std::string& file) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0)
      throw InputError({file, fmt::format("line {}", line)}, "is not text", "UTF-8 without control characters");
    line += text.front() == '\n';
    text.remove_prefix(length);
  }
}

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark that spreadsheets write
  require_text(text, file);
  std::vector<CsvRow> rows;
  CsvRow row{1, {}};
  std::string field;
  int line = 1, opened = 0;
  bool quoted = false;
  const auto end_row = [&] {
    row.fields.push_back(std::move(field));
    field.clear();
    if (row.fields.size() > 1 || !row.fields[0].empty()) rows.push_back(std::move(row));
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
      row.fields.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      field += c;
    }
  }
  if (quoted) throw InputError({file, fmt::format("line {}", opened)}, "a quote is never closed", "close it with \"");
  end_row();
  return rows;
}

std::string csv_field(std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace allreplay
