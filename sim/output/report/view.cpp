#include "sim/output/report/view.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/studies/results/column.hpp"

namespace allreplay {

namespace {

using Value = JsonValue;

bool ends_with_any(std::string_view key, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view one) { return key.ends_with(one); });
}

// Returns the format that a key's ending stands for.
std::string_view format_of(std::string_view key) {
  if (ends_with_any(key, {"bytes_per_s", "bandwidth"})) return "rate";
  if (ends_with_any(key, {"GBps"})) return "GBps";
  if (ends_with_any(key, {"per_byte"})) return "per_byte";
  if (ends_with_any(key, {"per_s", "per_s_per_gpu"})) return "per_s";
  if (ends_with_any(key, {"_s"})) return "time";
  if (ends_with_any(key, {"bytes"})) return "size";
  if (is_percentage(key)) return "percent";
  if (ends_with_any(key, {"gain"})) return "gain";
  return "";
}

// Lists the first names; objects as "name=value, name=value", without the blanks that a command could not hold.
std::string text_of(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  std::vector<std::string> parts;
  if (value.is_array()) {
    for (const Value& item : value) parts.push_back(text_of(item));
    return listed(parts, most_listed);
  }
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [name, one] : value.items()) {
    std::string words = text_of(one);
    std::erase(words, ' ');
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, words);
  }
  return text;
}

TableCell cell_of(const Value& value, std::string_view format) {
  if (format == "words") {
    std::vector<std::string> words;
    for (const Value& word : value) words.push_back(text_of(word));
    return shell_words(words);
  }
  if (format == "sizes" || format == "times") {  // of an object: "parameters 102 MB, gradients 102 MB"
    std::string text;
    for (const auto& [name, one] : value.items())
      if (const auto number = one.get<double>(); number > 0)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                            format == "sizes" ? format_size(std::llround(number)) : format_duration(number));
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
  }
  if (format == "runs") return runs_text(value);
  if (!value.is_number()) return text_of(value);
  const auto number = value.get<double>();
  if (format == "time") return cell::seconds(number);
  if (format == "size") return cell::bytes(number);
  if (format == "rate") return cell::rate(number);
  if (format == "GBps") return cell::rate(1e9 * number);
  if (format == "long") return format_long_duration(number);
  if (format == "per_byte") return cell::per_byte(number);
  if (format == "percent") return cell::percent(number);
  if (format == "gain") return cell::gain(number);
  if (format == "per_s") return cell::number(number, rate_decimals(number));
  if (format == "longer") return longer_text(number);
  if (format == "portion") return number == 0.5 ? TableCell("half") : cell::percent(number);
  if (format == "grouped") return cell::grouped(number);
  if (format == "exact") return write_size(value.get<Bytes>());
  if (!format.empty()) return cell::number(number, format.front() - '0');
  return value.is_number_float() ? TableCell(text_of(value)) : cell::count(value.get<std::int64_t>());
}

bool has_content(const Value& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  if (value.is_string()) return value != "";
  return !value.empty();  // null is empty
}

// Finds keys in an item and in the document around it.
class Place {
 public:
  Place(const Value& document, const Value& item, std::set<std::string>* read)
      : document_(document), item_(item), read_(read) {}

  Place at(const Value& item) const { return {document_, item, read_}; }

  // Null if there is no such key.
  const Value& value(std::string_view key) const {
    static const Value none;
    const bool from_document = key.starts_with('/');
    const Value::json_pointer pointer((from_document ? "" : "/") + std::string(key));
    const auto within = [&](const Value& json) -> const Value* {
      return json.contains(pointer) ? &json.at(pointer) : nullptr;
    };
    const Value* found = from_document ? nullptr : key == "." ? &item_ : within(item_);
    if (!found) found = within(document_);
    if (found && found->is_number_float() && !std::isfinite(found->get<double>())) found = nullptr;  // null as JSON
    if (found && !found->is_null() && read_) read_->insert(std::string(key));
    return found ? *found : none;
  }

  bool holds(std::string_view condition) const {
    if (condition.empty()) return true;
    const auto keys = split(condition, " ");
    return std::all_of(keys.begin(), keys.end(), [&](std::string_view key) {
      const bool negated = key.starts_with('!');
      if (negated) key.remove_prefix(1);
      const std::size_t equals = key.find('=');
      const Value& found = value(key.substr(0, equals));
      const bool holds =
          equals == std::string_view::npos ? has_content(found) : text_of(found) == key.substr(equals + 1);
      return holds != negated;
    });
  }

 private:
  const Value& document_;
  const Value& item_;
  std::set<std::string>* read_;  // the keys that had values; null if they are not needed
};

// The format for values in the unit that an item states.
std::string_view format_of_unit(const Value& unit) {
  if (unit == "s") return "time";
  if (unit == "s/B") return "per_byte";
  return "";
}

std::string_view key_of_hole(std::string_view inside) { return inside.substr(0, inside.find(':')); }

// Returns the cell for a hole, "key" or "key:format", or nothing if the value is missing.
std::optional<TableCell> cell_of_hole(std::string_view inside, const Place& place) {
  const std::string_view key = key_of_hole(inside);
  std::string_view format = key.size() < inside.size() ? inside.substr(key.size() + 1) : format_of(key);
  const Value& value = place.value(key);
  if (value.is_null()) return std::nullopt;
  if (format == "nonzero") {
    if (!has_content(value)) return std::nullopt;
    format = format_of(key);
  }
  if (format == "unit") format = format_of_unit(place.value("unit"));
  if (constexpr std::string_view like = "like "; format.starts_with(like)) {
    const Value& other = place.value(format.substr(like.size()));
    const TableCell cell = cell_of(value, format_of(key));
    return TableCell(other.is_null() ? sentence_text(cell) : sentence_text(cell, cell_of(other, format_of(key))));
  }
  return cell_of(value, format);
}

// Fills the holes of a text; returns nothing if a value is missing outside of brackets.
std::optional<std::string> filled(std::string_view text, const Place& place) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{' && text[at] != '[') {
      result += text[at];
      continue;
    }
    const std::size_t end = text.find(text[at] == '{' ? '}' : ']', at);
    const std::string_view inside = text.substr(at + 1, end - at - 1);
    if (text[at] == '[') {
      result += filled(inside, place).value_or("");
    } else {
      const auto cell = cell_of_hole(inside, place);
      if (!cell) return std::nullopt;
      result += sentence_text(*cell);
    }
    at = end;
  }
  return result;
}

// The sign of the first condition that holds.
std::string_view sign_of(const ViewColumn& column, const Place& place) {
  for (const std::string_view one : split(column.sign, "|")) {
    const std::size_t blank = one.find(' ');
    if (blank != std::string_view::npos && place.holds(one.substr(blank + 1))) return one.substr(0, blank);
  }
  return "";
}

// A single hole is a number; everything else is text.
TableCell table_cell(const ViewColumn& column, const Place& place) {
  const std::string& text = column.cell;
  TableCell cell("-");
  if (text.starts_with('{') && text.find('}') == text.size() - 1) {
    if (const auto value = cell_of_hole(std::string_view(text).substr(1, text.size() - 2), place)) cell = *value;
  } else if (const auto words = filled(text, place)) {
    cell = *words;
  }
  if (const std::string_view sign = sign_of(column, place); !sign.empty()) {
    if (cell.kind == TableCell::Kind::Text) return cell.text + std::string(sign);
    return cell.marked(std::string(sign));
  }
  return cell;
}

// The text so far, on a screen.
class Output {
 public:
  explicit Output(const Screen& screen) : screen_(screen) {}

  const Screen& screen() const { return screen_; }
  void blank_line() {
    if (!text_.empty() && !text_.ends_with("\n\n")) text_ += "\n";
  }
  void sentence(const std::string& text) { text_ += wrapped(text, screen_.width, 2) + "\n"; }
  void code(std::string_view text, bool is_command) {
    const auto broken = is_command ? wrapped_command : wrapped;
    for (const std::string_view line : split(text, "\n"))
      text_ += broken(fmt::format("    {}", line), screen_.width, 8) + "\n";
  }
  void block(const std::string& text) {
    if (text.empty()) return;
    blank_line();
    text_ += text;
    blank_line();
  }
  std::string text() && {
    if (text_.ends_with("\n\n")) text_.pop_back();
    return std::move(text_);
  }

 private:
  const Screen& screen_;
  std::string text_;
};

void render(const View& view, const Place& place, Output& out);

void render(const ViewText& part, const Place& place, Output& out) {
  if (!place.holds(part.when)) return;
  if (const auto text = filled(part.text, place)) out.sentence(*text);
}

void render(const ViewCode& part, const Place& place, Output& out) {
  if (const auto text = filled(part.text, place)) out.code(*text, part.is_command);
}

void render(const ViewFacts& part, const Place& place, Output& out) {
  std::vector<std::pair<std::string, TableCell>> lines;
  for (const auto& [name, text] : part.lines)
    if (const auto value = filled(text, place); value && !value->empty()) lines.emplace_back(name, *value);
  out.block(facts(lines, out.screen()));
}

void render(const ViewNotes&, const Place& place, Output& out) {
  out.blank_line();
  std::set<std::string> shown;  // several tables may have the same note
  for (const Value& note : place.value("notes"))
    if (const auto text = filled(sentence_of_note(note.at("note").get<std::string>()), place.at(note));
        text && shown.insert(*text).second)
      out.sentence(*text);
  out.blank_line();
}

// The rows of a table that are shown.
std::vector<const Value*> rows_of(const ViewTable& part, const Place& place) {
  std::vector<const Value*> rows;
  for (const std::string_view key : split(part.rows, " ")) {
    const Value& value = place.value(key);
    if (value.is_object()) rows.push_back(&value);
    if (value.is_array())
      for (const Value& item : value) rows.push_back(&item);
  }
  std::erase_if(rows, [&](const Value* row) { return !place.at(*row).holds(part.when); });
  return rows;
}

Table table_at(const ViewTable& part, const Place& place) {
  const std::vector<const Value*> rows = rows_of(part, place);
  std::vector<TableColumn> columns;
  for (const ViewColumn& one : part.columns)
    columns.emplace_back(filled(one.title, place).value_or(""), one.like, one.is_command, one.is_finer);
  Table table(columns, part.keys);
  for (const Value* item : rows) {
    const Place row = place.at(*item);
    std::vector<TableCell> cells;
    for (const ViewColumn& column : part.columns) cells.push_back(table_cell(column, row));
    table.add(std::move(cells));
  }
  return table;
}

void render(const ViewTable& part, const Place& place, Output& out) {
  if (!rows_of(part, place).empty()) out.block(table_at(part, place).text(out.screen()));
}

void render(const ViewList& part, const Place& place, Output& out) {
  std::size_t shown = 0, left_out = 0;
  for (const Value& item : place.value(part.items)) {
    const Place one = place.at(item);
    const auto text = one.holds(part.when) ? filled(part.text, one) : std::nullopt;
    if (!text) continue;
    if (shown < part.most)
      out.sentence(*text), ++shown;
    else
      ++left_out;
  }
  if (left_out > 0) out.sentence(fmt::format("and {} more", left_out));
}

void render(const ViewEach& part, const Place& place, Output& out) {
  for (const Value& item : place.value(part.items)) {
    out.blank_line();
    render(*part.view, place.at(item), out);
  }
}

void render(const View* part, const Place& place, Output& out) { render(*part, place, out); }

void render(const View& view, const Place& place, Output& out) {
  for (const auto& part : view.parts) std::visit([&](const auto& one) { render(one, place, out); }, part);
}

std::string render(const View& view, const JsonValue& document, const Screen& screen,
                   std::set<std::string>* read = nullptr) {
  Output out(screen);
  render(view, Place(document, document, read), out);
  return std::move(out).text();
}

// The keys of the holes of a text.
void add_keys(std::string_view text, std::set<std::string>& keys) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1))
    keys.emplace(key_of_hole(text.substr(at + 1, text.find('}', at) - at - 1)));
}

void add_keys(const View& view, std::set<std::string>& keys);
void add_keys(const ViewText& part, std::set<std::string>& keys) { add_keys(part.text, keys); }
void add_keys(const ViewCode& part, std::set<std::string>& keys) { add_keys(part.text, keys); }
void add_keys(const ViewFacts& part, std::set<std::string>& keys) {
  for (const auto& [name, text] : part.lines) add_keys(text, keys);
}
void add_keys(const ViewNotes&, std::set<std::string>& keys) { keys.insert("notes"); }
void add_keys(const ViewTable& part, std::set<std::string>& keys) {
  for (const std::string_view key : split(part.rows, " ")) keys.emplace(key);
  for (const ViewColumn& column : part.columns) add_keys(column.title, keys), add_keys(column.cell, keys);
}
void add_keys(const ViewList& part, std::set<std::string>& keys) { keys.insert(part.items), add_keys(part.text, keys); }
void add_keys(const ViewEach& part, std::set<std::string>& keys) {
  keys.insert(part.items);
  add_keys(*part.view, keys);
}
void add_keys(const View* part, std::set<std::string>& keys) { add_keys(*part, keys); }
void add_keys(const View& view, std::set<std::string>& keys) {
  for (const auto& part : view.parts) std::visit([&](const auto& one) { add_keys(one, keys); }, part);
}

}  // namespace

std::string rendered(const View& view, const JsonValue& document, const Screen& screen) {
  return render(view, document, screen);
}

Table table_of(const ViewTable& view, const JsonValue& document) {
  return table_at(view, Place(document, document, nullptr));
}

std::set<std::string> keys_of(const View& view) {
  std::set<std::string> keys;
  add_keys(view, keys);
  return keys;
}

std::vector<std::string> unresolved(const View& view, const std::vector<JsonValue>& samples) {
  const std::set<std::string> keys = keys_of(view);
  std::set<std::string> read;
  for (const JsonValue& sample : samples) render(view, sample, {}, &read);
  std::vector<std::string> missing;
  std::set_difference(keys.begin(), keys.end(), read.begin(), read.end(), std::back_inserter(missing));
  return missing;
}

}  // namespace allreplay
