#include "sim/output/view/plot_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/json_value.hpp"
#include "sim/output/view/strategy_looks.hpp"
#include "sim/studies/results/column.hpp"

namespace allreplay {

namespace {

std::string plain(const Json& value) { return value.is_string() ? value.text() : value.dump(); }

std::vector<std::string> one_or_several(const Json& value) {
  std::vector<std::string> texts;
  if (value.is_array())
    for (const Json& item : value.items()) texts.push_back(plain(item));
  else
    texts.push_back(plain(value));
  return texts;
}

constexpr std::string_view right_text = "a text";
constexpr std::string_view right_columns = "a column, or a list of columns";
constexpr std::string_view right_selection = "{\"column\": value or [values]}";
constexpr std::string_view right_switch = "true or false";

std::string text_of(const Json& value, std::string_view right) {
  if (!value.is_string()) value.fail("is " + value.dump(), right);
  return value.text();
}

std::vector<std::string> columns_of(const Json& value) {
  const std::vector<std::string> names = one_or_several(value);
  bool texts = !names.empty();
  if (value.is_array())
    for (const Json& item : value.items()) texts = texts && item.is_string();
  else
    texts = value.is_string();
  if (!texts) value.fail("is " + value.dump(), right_columns);
  return names;
}

RowSelection selection_of(const Json& value, std::string_view right) {
  if (!value.is_object()) value.fail("is " + value.dump(), right);
  RowSelection chosen;
  for (const auto& [column, wanted] : value.members()) chosen.emplace_back(column, one_or_several(wanted));
  return chosen;
}

bool yes(const Json& value) {
  if (value.dump() != "true" && value.dump() != "false") value.fail("is " + value.dump(), right_switch);
  return value.boolean();
}

double positive(const Json& value, std::string_view right) {
  if (!value.is_number() || !(value.number() > 0)) value.fail("is " + value.dump(), right);
  return value.number();
}

constexpr std::string_view right_kind = "a kind, or a list of kinds of curves";
constexpr std::string_view right_over = "the name of a column of numbers, or {\"column\": value}";
constexpr std::string_view right_scale = "a number above 0: one unit, in the unit of the column";
constexpr std::string_view right_labels = "{\"value\": \"the text to write instead\"}";

void read_kind(PlotOptions& options, const Json& value) {
  options.kinds.clear();
  for (const std::string& name : one_or_several(value)) {
    const PlotKindRow& kind = find_by_name(plot_kinds(), name, value.place(), "unknown kind '{}'");
    if (value.is_array() && !kind.curves)
      value.fail(fmt::format("has {}, which cannot be combined", name), "speedup, efficiency or lines together");
    options.kinds.push_back(kind.value);
  }
  if (options.kinds.empty()) value.fail("is empty", right_kind);
}

void read_over(PlotOptions& options, const Json& value) {
  options.over_column.clear();
  options.over_rows.clear();
  if (value.is_string())
    options.over_column = value.text();
  else
    options.over_rows = selection_of(value, right_over);
}

void read_labels(PlotOptions& options, const Json& value) {
  if (!value.is_object()) value.fail("is " + value.dump(), right_labels);
  options.labels.clear();
  for (const auto& [what, label] : value.members()) options.labels[what] = text_of(label, right_text);
}

constexpr PlotKey all_plot_keys[] = {
    {"kind", right_kind, read_kind},
    {"x", "the name of a column",
     [](auto& options, const Json& value) { options.x = text_of(value, "the name of a column"); }},
    {"y", "the name of a column of numbers",
     [](auto& options, const Json& value) { options.y = text_of(value, "the name of a column of numbers"); }},
    {"over", right_over, read_over},
    {"unit", right_text, [](auto& options, const Json& value) { options.unit = text_of(value, right_text); }},
    {"scale", right_scale, [](auto& options, const Json& value) { options.scale = positive(value, right_scale); }},
    {"series", right_columns, [](auto& options, const Json& value) { options.series = columns_of(value); }},
    {"panels", right_columns, [](auto& options, const Json& value) { options.panels = columns_of(value); }},
    {"where", right_selection,
     [](auto& options, const Json& value) { options.where = selection_of(value, right_selection); }},
    {"mark", right_selection,
     [](auto& options, const Json& value) { options.mark = selection_of(value, right_selection); }},
    {"labels", right_labels, read_labels},
    {"log", right_switch, [](auto& options, const Json& value) { options.log = yes(value); }},
    {"ideal", right_switch, [](auto& options, const Json& value) { options.ideal = yes(value); }},
};

}  // namespace

const std::vector<PlotKindRow>& plot_kinds() {
  static const std::vector<PlotKindRow> kinds{
      {PlotKind::Speedup, "speedup", "how many times faster than one worker, with the ideal", {"speedup"}, true},
      {PlotKind::Efficiency,
       "efficiency",
       "throughput of a worker relative to that on the fewest, in percent",
       {"efficiency"},
       true},
      {PlotKind::Lines, "lines", "any one number, a line per series, alone or relative to another row", {}, true},
      {PlotKind::Bars,
       "bars",
       "computation, with stragglers and exposed communication stacked on it",
       {"iteration_s", "codec_s", "exposed_comm_s"}},
      {PlotKind::Columns, "columns", "any one number, written above its column", {}},
      {PlotKind::Dots, "dots", "any one number, a row per series and a dot per place", {}},
      {PlotKind::Histogram, "histogram", "how one number is distributed, with some rows marked", {}},
  };
  return kinds;
}

std::string PlotOptions::label(const std::string& value) const {
  const auto found = labels.find(value);
  return found != labels.end() && !found->second.empty() ? found->second : strategy_label(value);
}

std::string PlotOptions::axis_name(const std::string& column) const {
  if (const auto found = labels.find(column); found != labels.end() && !found->second.empty()) return found->second;
  return axis_of(column);
}

std::string PlotOptions::name_of_y() const {
  if (divides()) return axis_name(y);
  const std::string_view own = unit_of(y);
  const std::string shown = unit.value_or(own == "s" || own == "B" ? std::string(own) : "");
  return shown.empty() ? axis_name(y) : fmt::format("{} ({})", axis_name(y), shown);
}

std::span<const PlotKey> plot_keys() { return all_plot_keys; }

void read_plot_options(PlotOptions& options, const Json& object) {
  for (const auto& [name, value] : object.members())
    find_by_name(all_plot_keys, name, value.place(), "unknown key '{}'").read(options, value);
}

void read_plot_option(PlotOptions& options, const std::string& key_and_value, const SourceLocation& place) {
  const std::size_t equals = key_and_value.find('=');
  if (equals == std::string::npos)
    throw InputError(place, fmt::format("'{}' has no value", key_and_value), "KEY=VALUE");
  const std::string key = key_and_value.substr(0, equals), value = key_and_value.substr(equals + 1);
  const std::string text = is_json(value) ? value : JsonValue(value).dump();
  const std::string quoted = JsonValue(key).dump();
  read_plot_options(options, Json::parse(fmt::format("{{{}: {}}}", quoted, text), place.file + ": " + place.path));
}

}  // namespace allreplay
