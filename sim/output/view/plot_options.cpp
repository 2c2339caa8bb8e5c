#include "sim/output/view/plot_options.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/output/view/strategy_looks.hpp"
#include "sim/studies/results/column.hpp"
#include "sim/studies/results/result_table.hpp"

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

std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ",")) words.emplace_back(word);
  return words;
}

// Splits a text at its first "=": the short form of an object with one member.
std::optional<std::pair<std::string, std::string>> as_member(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.text();
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

constexpr std::string_view right_text = "a text";
constexpr std::string_view right_columns = "a column, or a list of columns";
constexpr std::string_view right_selection = "{\"column\": value or [values]}, or COLUMN=VALUE,...";
constexpr std::string_view right_switch = "true or false";

std::string text_of(const Json& value, std::string_view right) {
  if (!value.is_string()) value.fail("is " + value.dump(), right);
  return value.text();
}

std::vector<std::string> columns_of(const Json& value) {
  const std::vector<std::string> names = value.is_string() ? at_commas(value.text()) : one_or_several(value);
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

// An object replaces the selection; COLUMN=VALUE,... adds a condition to it.
void read_selection(RowSelection& selection, const Json& value) {
  if (const auto member = as_member(value)) {
    std::erase_if(selection, [&](const auto& condition) { return condition.first == member->first; });
    selection.emplace_back(member->first, at_commas(member->second));
  } else {
    selection = selection_of(value, right_selection);
  }
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
constexpr std::string_view right_labels = "{\"value\": \"the text to write instead\"}, or VALUE=TEXT";
constexpr std::string_view right_error = "half the length of error bars; two columns: their lower and upper ends";
constexpr std::string_view right_band = "as error, drawn as filled areas behind lines";
constexpr std::string_view right_order = "values that come first among series, panels and places along x";
constexpr std::string_view right_log = "true, false, or a base, 2 or 10; {\"x\": base, \"y\": base}, or x=BASE, y=BASE";
constexpr std::string_view right_limits = "[from, to], or FROM:TO; either end may be left out";
constexpr std::string_view right_xlim = "ends of x's axis: [from, to], or FROM:TO; either may be left out";
constexpr std::string_view right_ylim = "ends of the axis of numbers, likewise";
constexpr std::string_view right_width = "width of the picture: column, page, or a length in mm, cm, in or pt";
constexpr std::string_view right_across = "panels next to each other, 1 to 10";
constexpr std::string_view right_font = "a family of letters: letters, digits and blanks";
constexpr std::string_view right_size = "size of most letters in points, 4 to 40";
constexpr std::string_view right_legend = "top, right, bottom or none";

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
  if (const auto member = as_member(value)) {
    options.labels[member->first] = member->second;
    return;
  }
  if (!value.is_object()) value.fail("is " + value.dump(), right_labels);
  options.labels.clear();
  for (const auto& [what, label] : value.members()) options.labels[what] = text_of(label, right_text);
}

std::vector<std::string> ends_of(const Json& value, std::string_view right) {
  std::vector<std::string> ends = columns_of(value);
  if (ends.size() > 2) value.fail("is " + value.dump(), right);
  return ends;
}

void read_series(PlotOptions& options, const Json& value) {
  options.series = columns_of(value);
  options.usual_series = false;
}

void read_order(PlotOptions& options, const Json& value) {
  options.order = value.is_string() ? at_commas(value.text()) : one_or_several(value);
}

// Reads true (none: by the values), false (linear) or a base.
std::optional<Spacing> spacing_of(const std::string& text, const Json& value) {
  if (text == "true") return std::nullopt;
  if (text == "false") return Spacing::Linear;
  if (text == "2") return Spacing::Log2;
  if (text == "10") return Spacing::Log10;
  value.fail("is " + value.dump(), right_log);
}

void read_log_of_axis(PlotLog& log, const std::string& axis, const std::string& text, const Json& value) {
  if (axis != "x" && axis != "y") value.fail(fmt::format("has '{}', which is no axis", axis), right_log);
  (axis == "x" ? log.x : log.y) = spacing_of(text, value);
  (axis == "x" ? log.asked_x : log.asked_y) = true;
}

void read_log(PlotOptions& options, const Json& value) {
  if (const auto member = as_member(value)) return read_log_of_axis(options.log, member->first, member->second, value);
  options.log = {};
  if (!value.is_object())
    options.log.x = options.log.y = spacing_of(plain(value), value);
  else
    for (const auto& [axis, base] : value.members()) read_log_of_axis(options.log, axis, plain(base), base);
}

void read_limits(PlotLimits& limits, const Json& value) {
  std::vector<std::string> ends;
  if (value.is_string()) {
    const std::string text = value.text();
    for (const std::string_view end : split(text, ":")) ends.emplace_back(end);
  } else if (value.is_array())
    for (const Json& item : value.items()) ends.push_back(item.dump() == "null" ? "" : plain(item));
  if (ends.size() != 2) value.fail("is " + value.dump(), right_limits);
  const auto number = [&](const std::string& text) -> std::optional<double> {
    if (text.empty()) return std::nullopt;
    const double end = parse_number(text, value.place()), size = std::abs(end);
    if (size > most_drawn || (size > 0 && size < 1 / most_drawn)) value.fail("is " + value.dump(), right_limits);
    return end;
  };
  limits = {number(ends[0]), number(ends[1])};
  if (limits.from && limits.to && *limits.from >= *limits.to)
    value.fail("is " + value.dump(), "the first limit below the second");
}

// The widths of ACM's two-column pages (acmart, sigconf: letter paper, margins of 54 TeX points, 24 between columns).
constexpr double mm_per_inch = 25.4, mm_per_tex_point = mm_per_inch / 72.27;
constexpr double page_mm = (8.5 * 72.27 - 2 * 54) * mm_per_tex_point;
constexpr double column_mm = (8.5 * 72.27 - 2 * 54 - 24) / 2 * mm_per_tex_point;

void read_width(PlotOptions& options, const Json& value) {
  const std::string text = plain(value);
  constexpr std::pair<std::string_view, double> units[] = {
      {"mm", 1}, {"cm", 10}, {"in", mm_per_inch}, {"pt", mm_per_inch / 72}};
  double mm = text == "column" ? column_mm : text == "page" ? page_mm : 0;
  for (const auto& [unit, size] : units)
    if (mm == 0 && text.ends_with(unit))
      mm = size * parse_number(text.substr(0, text.size() - unit.size()), value.place());
  if (!(mm >= 40 && mm <= 1000)) value.fail("is " + value.dump(), fmt::format("{}; 40 mm to 1000 mm", right_width));
  options.page.width = mm;
}

void read_font(PlotOptions& options, const Json& value) {
  const std::string name = text_of(value, right_font);
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const bool fits = !name.empty() && letters.find(name[0]) != std::string_view::npos &&
                    name.find_first_not_of(std::string(letters) + "0123456789 -") == std::string::npos;
  if (!fits) value.fail("is " + value.dump(), right_font);
  options.page.font = name;
}

void read_font_size(PlotOptions& options, const Json& value) {
  options.page.font_size = positive(value, right_size);
  if (options.page.font_size < 4 || options.page.font_size > 40) value.fail("is " + value.dump(), right_size);
}

void read_legend(PlotOptions& options, const Json& value) {
  constexpr Word<LegendPlace> places[] = {{LegendPlace::Top, "top"},
                                          {LegendPlace::Right, "right"},
                                          {LegendPlace::Bottom, "bottom"},
                                          {LegendPlace::None, "none"}};
  options.page.legend = find_by_name(places, text_of(value, right_legend), value.place(), "unknown place '{}'").value;
}

constexpr std::string_view column = "COLUMN", columns = "COLUMN,...", selection = "COLUMN=VALUE,...";

constexpr PlotKey all_plot_keys[] = {
    {"kind", "KIND", right_kind, read_kind},
    {"x", column, "the name of a column",
     [](auto& options, const Json& value) { options.x = text_of(value, "the name of a column"); }},
    {"y", column, "the name of a column of numbers",
     [](auto& options, const Json& value) { options.y = text_of(value, "the name of a column of numbers"); }},
    {"error", columns, right_error,
     [](auto& options, const Json& value) { options.error = ends_of(value, right_error); }},
    {"band", columns, right_band, [](auto& options, const Json& value) { options.band = ends_of(value, right_band); }},
    {"over", column, right_over, read_over},
    {"unit", "UNIT", right_text, [](auto& options, const Json& value) { options.unit = text_of(value, right_text); }},
    {"scale", "N", right_scale, [](auto& options, const Json& value) { options.scale = positive(value, right_scale); }},
    {"series", columns, right_columns, read_series},
    {"panels", columns, right_columns, [](auto& options, const Json& value) { options.panels = columns_of(value); }},
    {"order", "VALUE,...", right_order, read_order},
    {"where", selection, right_selection,
     [](auto& options, const Json& value) { read_selection(options.where, value); }},
    {"mark", selection, right_selection, [](auto& options, const Json& value) { read_selection(options.mark, value); }},
    {"labels", "VALUE=TEXT", right_labels, read_labels},
    {"log", "BASE", right_log, read_log},
    {"xlim", "FROM:TO", right_xlim, [](auto& options, const Json& value) { read_limits(options.x_limits, value); }},
    {"ylim", "FROM:TO", right_ylim, [](auto& options, const Json& value) { read_limits(options.y_limits, value); }},
    {"ideal", "BOOL", right_switch, [](auto& options, const Json& value) { options.ideal = yes(value); }},
    {"legend", "PLACE", right_legend, read_legend},
    {"width", "LENGTH", right_width, read_width},
    {"across", "N", right_across, [](auto& options, const Json& value) { options.page.across = value.integer(1, 10); }},
    {"font", "FAMILY", right_font, read_font},
    {"font_size", "N", right_size, read_font_size},
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
      {PlotKind::Boxes,
       "boxes",
       "distribution over seeds: quartiles as a box, the median in it, a line to the extremes",
       {"least_s", "p25_s", "p50_s", "p75_s", "most_s"}},
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

bool PlotOptions::in_percent() const { return !divides() && !unit && scale == 1 && is_percentage(y); }

std::string PlotOptions::name_of_y() const {
  if (divides()) return axis_name(y);
  const std::string_view own = unit_of(y);
  const std::string shown = unit.value_or(in_percent() ? "%" : own == "s" || own == "B" ? std::string(own) : "");
  return shown.empty() ? axis_name(y) : fmt::format("{} ({})", axis_name(y), shown);
}

std::span<const PlotKey> plot_keys() { return all_plot_keys; }

void read_plot_options(PlotOptions& options, const Json& object) {
  for (const auto& [name, value] : object.members())
    find_by_name(all_plot_keys, name, value.place(), "unknown key '{}'").read(options, value);
}

void read_plot_option(PlotOptions& options, const PlotKey& key, const std::string& value, const SourceLocation& place) {
  const std::string text = JsonValue::accept(value) ? value : json_text(value);
  key.read(options, Json::parse(text, fmt::format("{}: {}", place.file, place.path)));
}

void read_plot_option(PlotOptions& options, const std::string& key_and_value, const SourceLocation& place) {
  const std::size_t equals = key_and_value.find('=');
  if (equals == std::string::npos)
    throw InputError(place, fmt::format("'{}' has no value", key_and_value), "KEY=VALUE");
  const std::string name = key_and_value.substr(0, equals);
  const PlotKey& key = find_by_name(all_plot_keys, name, place, "unknown key '{}'");
  read_plot_option(options, key, key_and_value.substr(equals + 1),
                   {place.file, fmt::format("{} {}", place.path, name)});
}

}  // namespace allreplay
