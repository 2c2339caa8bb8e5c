#include "sim/report/validation_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/csv.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

std::string count_of(std::size_t count, std::string_view noun) {
  return counted(static_cast<std::int64_t>(count), noun);
}

std::string scope_text(const FittedConstant& one) {
  std::string text = one.inside ? "inside a node" : "";
  for (const auto& [column, cell] : one.scope) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", column, cell);
  return text;
}

// A constant, and for which rows it holds where another has the same name.
std::string name_in(const Validation& validation, std::size_t place) {
  const FittedConstant& one = validation.fitted[place];
  const std::string name(name_of(constant_words, one.constant));
  const auto same = [&](const FittedConstant& other) { return other.constant == one.constant; };
  if (std::count_if(validation.fitted.begin(), validation.fitted.end(), same) < 2) return name;
  return fmt::format("{} ({})", name, scope_text(one));
}

std::string names_of(const Validation& validation, const std::vector<std::size_t>& places) {
  std::vector<std::string> names;
  for (const std::size_t place : places) names.push_back(name_in(validation, place));
  return listed(names, names.size());
}

bool is_per_byte(const FittedConstant& one) {
  return one.constant == Constant::Beta || one.constant == Constant::Server;
}

bool is_number(const FittedConstant& one) {
  return one.constant == Constant::Interference || one.constant == Constant::Spread;
}

// As files have it, with its unit.
std::string value_text(const FittedConstant& one) {
  if (is_number(one)) return fmt::format("{:.4g}", one.in_files());
  return is_per_byte(one) ? fmt::format("{:.4g} ns/B", one.value * 1e9) : format_duration(one.value);
}

// As it is where it fits as well.
FittedConstant elsewhere(FittedConstant one) {
  one.value = one.other.value();
  return one;
}

TableCell value_cell(const Validation& validation, const FittedConstant& one) {
  if (one.at_limit()) return fmt::format("at its limit of {}", value_text(one));
  if (one.known && is_number(one)) return value_text(one);
  if (one.known) return is_per_byte(one) ? cell::per_byte(one.value) : cell::seconds(one.value);
  if (one.other) return fmt::format("{} or {}", value_text(one), value_text(elsewhere(one)));
  if (one.not_told_from.empty()) return "not known";
  return fmt::format("not separable from {}", names_of(validation, one.not_told_from));
}

std::string lines_of_rows(const Validation& validation, const std::vector<std::size_t>& rows) {
  std::string text;
  for (const std::size_t row : rows) {
    const std::string& path = validation.measured.points[row].place.path;
    text += (text.empty() ? "" : ", ") + path.substr(path.find(' ') + 1);
  }
  return text;
}

std::string constant_table(const Validation& validation, const Screen& screen) {
  if (validation.fitted.empty()) return "";
  Table table({"constant", "for", "value", "lines", "scored rows"}, 2);
  for (std::size_t place = 0; place < validation.fitted.size(); ++place) {
    const FittedConstant& one = validation.fitted[place];
    table.add({name_of(constant_words, one.constant), scope_text(one), value_cell(validation, one),
               lines_of_rows(validation, one.rows), cell::count(static_cast<std::int64_t>(validation.reached[place]))});
  }
  return table.text(screen) + "\n";
}

constexpr std::string_view nowhere_it_matters =
    "There is no point where communication matters: \"no communication\" misses none by that much.\n";

std::string error_table(const Validation& validation, const Screen& screen) {
  std::vector<TableColumn> columns{"group", "points", "median", "90\u00A0%", "worst", "bias", "too fast"};
  const bool smaller = validation.all.smaller.has_value();
  if (smaller)
    columns.insert(columns.end(),
                   {"of them", "next smaller: median", "90\u00A0%", "predicted there: median", "90\u00A0%"});
  if (validation.trains())
    columns.insert(columns.end(), {"no comm.: median", "90\u00A0%", "no overlap: median", "90\u00A0%", "scaling loss",
                                   "its error", "90\u00A0%"});
  Table table(columns);
  const auto add = [&](const GroupScore& group) {
    const ErrorSummary& error = group.error;
    std::vector<TableCell> row{group.name,
                               cell::count(static_cast<std::int64_t>(error.rows)),
                               cell::percent(error.median),
                               cell::percent(error.p90),
                               cell::gain(error.worst),
                               cell::gain(error.bias),
                               cell::count(static_cast<std::int64_t>(error.too_fast))};
    if (smaller && group.smaller) {
      const auto& [there, beside] = *group.smaller;
      row.push_back(cell::count(static_cast<std::int64_t>(there.rows)));
      for (const double share : {there.median, there.p90, beside.median, beside.p90})
        row.push_back(cell::percent(share));
    } else if (smaller) {
      row.insert(row.end(), 5, "");
    }
    if (validation.trains())
      for (const double share : {group.no_communication.median, group.no_communication.p90, group.no_overlap.median,
                                 group.no_overlap.p90, group.loss, group.loss_error, group.loss_error_p90})
        row.push_back(cell::percent(share));
    table.add(std::move(row));
  };
  for (const GroupScore& group : validation.groups) add(group);
  if (validation.groups.size() > 1) add(validation.all);
  const bool some_matter = validation.matters && validation.matters->error.rows > 0;
  if (some_matter) add(*validation.matters);
  return table.text(screen) + "\n" +
         (validation.matters && !some_matter ? wrapped(nowhere_it_matters, screen.width) : "");
}

std::string verdict(const Validation& validation) {
  if (!validation.trains()) return "";
  const GroupScore& all = validation.all;
  const bool none = all.no_communication.median <= all.no_overlap.median;
  const ErrorSummary& null = none ? all.no_communication : all.no_overlap;
  return fmt::format(
      "The better null model, {}, has an error of {} in the median and {} at 90 %: the predictions are {}.\n",
      none ? "no communication" : "no overlap", percent(null.median), percent(null.p90),
      all.error.median < null.median ? "better" : "NO BETTER");
}

std::string order_text(const Validation& validation) {
  const ContestSums sums = sums_of(validation);
  if (sums.settings == 0) return "";
  return fmt::format(
      "Methods of one profile, cluster and number of workers, in {}: {:g} of {} in the right order, the winner right "
      "in {}; choosing the predicted winner loses {} on average, {} at worst.\n",
      count_of(sums.settings, "setting"), sums.right, count_of(sums.pairs, "pair"), sums.winners,
      percent(sums.mean_regret), percent(sums.worst_regret));
}

// A score of some points; of none there is nothing to say.
JsonValue score_json(std::size_t points, double score) { return points > 0 ? JsonValue(score) : JsonValue(nullptr); }

JsonValue summary_json(const ErrorSummary& error) {
  return {{"median", score_json(error.rows, error.median)},
          {"p90", score_json(error.rows, error.p90)},
          {"worst", score_json(error.rows, error.worst)},
          {"bias", score_json(error.rows, error.bias)},
          {"too_fast", error.too_fast}};
}

JsonValue group_json(const GroupScore& group, bool trains) {
  JsonValue json{{"group", group.name}, {"points", group.error.rows}, {"error", summary_json(group.error)}};
  const auto brief = [](const ErrorSummary& error) {
    return JsonValue{{"points", error.rows}, {"median", error.median}, {"p90", error.p90}};
  };
  if (group.smaller) {
    json["smaller"] = brief(group.smaller->smaller);
    json["error_where_smaller"] = brief(group.smaller->error);
  }
  if (!trains) return json;
  json["no_communication"] = summary_json(group.no_communication);
  json["no_overlap"] = summary_json(group.no_overlap);
  const std::size_t points = group.error.rows;
  json["scaling_loss"] = {{"measured_median", score_json(points, group.loss)},
                          {"error_median", score_json(points, group.loss_error)},
                          {"error_p90", score_json(points, group.loss_error_p90)}};
  return json;
}

std::int64_t line_number(const MeasuredPoint& point) {
  return std::stoll(point.place.path.substr(point.place.path.find(' ') + 1));
}

JsonValue point_json(const Validation& validation, std::size_t row) {
  const MeasuredPoint& point = validation.measured.points[row];
  const ValidatedPoint& result = validation.points[row];
  JsonValue json{{"line", line_number(point)},
                 {"group", point.group},
                 {"scored", point.scored()},
                 {"measured", point.value},
                 {"predicted", result.predicted.value},
                 {"error", result.error}};
  if (!validation.trains()) return json;
  json["no_communication"] = result.predicted.no_communication;
  json["no_overlap"] = result.predicted.no_overlap;
  json["scaling_loss"] = {{"measured", result.loss->measured}, {"predicted", result.loss->predicted}};
  return json;
}

JsonValue constant_json(const Validation& validation, std::size_t place) {
  const FittedConstant& one = validation.fitted[place];
  JsonValue json{{"constant", name_of(constant_words, one.constant)}};
  if (one.constant == Constant::Alpha || one.constant == Constant::Beta)
    json["level"] = one.inside ? "node" : "network";
  json["for"] = JsonValue::object();
  for (const auto& [column, cell] : one.scope) json["for"][column] = cell;
  json["value"] = one.known ? JsonValue(one.in_files()) : JsonValue(nullptr);
  json["at_limit"] = one.at_limit();
  json["simulated"] = one.used ? JsonValue(one.in_files()) : JsonValue(nullptr);
  json["fits_as_well"] = one.other ? JsonValue(elsewhere(one).in_files()) : JsonValue(nullptr);
  json["not_told_from"] = JsonValue::array();
  for (const std::size_t other : one.not_told_from) json["not_told_from"].push_back(name_in(validation, other));
  json["lines"] = JsonValue::array();
  for (const std::size_t row : one.rows) json["lines"].push_back(line_number(validation.measured.points[row]));
  json["scored_rows"] = validation.reached[place];
  return json;
}

JsonValue setting_json(const Validation& validation, const Setting& setting) {
  const auto line = [&](std::size_t place) { return line_number(validation.measured.points[setting.rows[place]]); };
  JsonValue lines = JsonValue::array();
  for (std::size_t place = 0; place < setting.rows.size(); ++place) lines.push_back(line(place));
  const Contest& contest = setting.contest;
  return {{"lines", lines},
          {"pairs", contest.pairs},
          {"right", contest.right},
          {"winner", line(contest.winner)},
          {"advised", line(contest.advised)},
          {"regret", contest.regret}};
}

// What is simulated of a constant that the rows do not tell.
std::string simulated_text(const FittedConstant& one) {
  if (!one.used) return "that of the files is simulated";
  return fmt::format("{} is simulated, which is consistent with the rows", value_text(one));
}

}  // namespace

std::vector<std::string> doubts_of_constants(const Validation& validation) {
  std::vector<std::string> notes;
  for (std::size_t place = 0; place < validation.fitted.size(); ++place) {
    const FittedConstant& one = validation.fitted[place];
    const std::string& line = validation.measured.points[one.rows.front()].place.path;
    if (validation.reached[place] == 0)
      notes.push_back(fmt::format("{}: no scored row uses the fitted {} ({})", line,
                                  name_of(constant_words, one.constant), scope_text(one)));
    if (one.at_limit())
      notes.push_back(fmt::format(
          "{}: {} ends at its limit of {}: its rows would need {}, so something else is {} there", line,
          name_in(validation, place), value_text(one), one.least > 0 && one.value <= one.least ? "less" : "more",
          one.least > 0 && one.value <= one.least ? "fast" : "slow"));
    if (one.known) continue;
    if (one.other) {
      notes.push_back(fmt::format("{}: {} is not known: {} and {} fit these rows equally well; {}", line,
                                  name_in(validation, place), value_text(one), value_text(elsewhere(one)),
                                  simulated_text(one)));
      continue;
    }
    notes.push_back(fmt::format(
        "{}: {}: {}", line,
        one.not_told_from.empty()
            ? fmt::format("{} is not known, since small changes of it have no effect", name_in(validation, place))
            : fmt::format("these rows cannot separate {} from {}, since one compensates for the other",
                          name_in(validation, place), names_of(validation, one.not_told_from)),
        simulated_text(one)));
  }
  return notes;
}

ContestSums sums_of(const Validation& validation) {
  ContestSums sums{.settings = validation.settings.size()};
  for (const Setting& setting : validation.settings) {
    sums.pairs += setting.contest.pairs;
    sums.right += setting.contest.right;
    sums.winners += setting.contest.winner_is_right;
    sums.mean_regret += setting.contest.regret / static_cast<double>(sums.settings);
    sums.worst_regret = std::max(sums.worst_regret, setting.contest.regret);
  }
  return sums;
}

std::string validation_text(const Validation& validation, const Screen& screen) {
  const auto& points = validation.measured.points;
  const auto scored = static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [](const auto& one) { return one.scored(); }));
  const std::size_t fitting = points.size() - scored;
  const std::string heading =
      fmt::format("{}: {} of {} scored{}; positive errors: predicted too fast\n\n", validation.measured.file,
                  count_of(scored, "point"), name_of(quantities, validation.measured.quantity),
                  fitting > 0 ? fmt::format(", {} fitted", fitting) : "");
  return wrapped(heading, screen.width) + constant_table(validation, screen) + error_table(validation, screen) +
         wrapped(verdict(validation) + order_text(validation), screen.width);
}

JsonValue validation_json(const Validation& validation) {
  const bool trains = validation.trains();
  JsonValue json{
      {"file", validation.measured.file},          {"quantity", name_of(quantities, validation.measured.quantity)},
      {"all", group_json(validation.all, trains)}, {"groups", JsonValue::array()},
      {"constants", JsonValue::array()},           {"points", JsonValue::array()}};
  if (validation.matters) json["matters"] = group_json(*validation.matters, trains);
  for (const GroupScore& group : validation.groups) json["groups"].push_back(group_json(group, trains));
  for (std::size_t place = 0; place < validation.fitted.size(); ++place)
    json["constants"].push_back(constant_json(validation, place));
  for (std::size_t row = 0; row < validation.points.size(); ++row)
    json["points"].push_back(point_json(validation, row));
  if (trains) {
    const ContestSums sums = sums_of(validation);
    json["methods"] = {{"settings", sums.settings},
                       {"pairs", sums.pairs},
                       {"right", sums.right},
                       {"winners", sums.winners},
                       {"mean_regret", sums.mean_regret},
                       {"worst_regret", sums.worst_regret},
                       {"each", JsonValue::array()}};
    for (const Setting& setting : validation.settings)
      json["methods"]["each"].push_back(setting_json(validation, setting));
  }
  return json;
}

std::string validation_csv(const Validation& validation) {
  const MeasuredFile& measured = validation.measured;
  std::string text;
  for (const std::string& column : measured.columns) text += csv_field(column) + ",";
  text += "scored,predicted,error";
  if (validation.trains()) text += ",no_communication,no_overlap,measured_loss,predicted_loss";
  for (std::size_t row = 0; row < measured.points.size(); ++row) {
    const MeasuredPoint& point = measured.points[row];
    const ValidatedPoint& result = validation.points[row];
    text += "\n";
    for (const std::string& column : measured.columns) text += csv_field(point.cells.at(column)) + ",";
    text += fmt::format("{},{},{}", point.scored(), result.predicted.value, result.error);
    if (validation.trains())
      text += fmt::format(",{},{},{},{}", result.predicted.no_communication, result.predicted.no_overlap,
                          result.loss->measured, result.loss->predicted);
  }
  return text + "\n";
}

}  // namespace allreplay
