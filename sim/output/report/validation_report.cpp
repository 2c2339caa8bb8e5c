#include "sim/output/report/validation_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"

namespace allreplay {

namespace {

// "beta", or "beta (cluster a, workers 8)" if other rows have a beta of their own.
std::string full_name(const Validation& validation, std::size_t place) {
  const FittedConstant& one = validation.fitted[place];
  const std::string name(name_of(constant_words, one.constant));
  const auto same = [&](const FittedConstant& other) { return other.constant == one.constant; };
  if (std::count_if(validation.fitted.begin(), validation.fitted.end(), same) < 2) return name;
  std::string scope = one.inside ? "inside a node" : "";
  for (const auto& [column, cell] : one.scope) scope += fmt::format("{}{} {}", scope.empty() ? "" : ", ", column, cell);
  return fmt::format("{} ({})", name, scope);
}

const char* unit_of(Constant constant) {
  if (constant == Constant::Beta || constant == Constant::Server) return "s/B";
  return constant == Constant::Interference || constant == Constant::Spread ? "" : "s";
}

// Null if there are no points.
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
  json["fits_as_well"] = nullptr;
  if (one.other) {
    FittedConstant other = one;
    other.value = *one.other;
    json["fits_as_well"] = other.in_files();
  }
  json["not_told_from"] = array_of(one.not_told_from, [&](std::size_t other) { return full_name(validation, other); });
  json["lines"] = array_of(one.rows, [&](std::size_t row) { return line_number(validation.measured.points[row]); });
  json["scored_rows"] = validation.reached[place];
  json["unit"] = unit_of(one.constant);
  json["known"] = one.known;
  return json;
}

JsonValue setting_json(const Validation& validation, const Setting& setting) {
  const auto line = [&](std::size_t row) { return line_number(validation.measured.points[row]); };
  const Contest& contest = setting.contest;
  return {{"lines", array_of(setting.rows, line)},
          {"pairs", contest.pairs},
          {"right", contest.right},
          {"winner", line(setting.rows[contest.winner])},
          {"advised", line(setting.rows[contest.advised])},
          {"regret", contest.regret}};
}

// The better of the two null models, and whether the predictions beat it.
JsonValue null_model_json(const GroupScore& all) {
  const bool none = all.no_communication.median <= all.no_overlap.median;
  const ErrorSummary& error = none ? all.no_communication : all.no_overlap;
  return {{"name", none ? "no communication" : "no overlap"},
          {"median", error.median},
          {"p90", error.p90},
          {"is_beaten", all.error.median < error.median}};
}

const std::vector<ViewColumn> score_columns = {{"group", "{group}"},
                                               {"points", "{points}"},
                                               {"median", "{error/median:percent}"},
                                               {"90 %", "{error/p90:percent}"},
                                               {"worst", "{error/worst:gain}"},
                                               {"bias", "{error/bias:gain}"},
                                               {"no comm.", "{no_communication/median:percent}"},
                                               {"no overlap", "{no_overlap/median:percent}"},

                                               {"loss: error", "{scaling_loss/error_median:percent}"},
                                               {"next smaller", "{smaller/median:percent}"}};

}  // namespace

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

JsonValue validation_json(const Validation& validation) {
  const bool trains = validation.trains();
  JsonValue json{
      {"file", validation.measured.file},
      {"quantity", name_of(quantities, validation.measured.quantity)},
      {"all", group_json(validation.all, trains)},
      {"groups", array_of(validation.groups, [&](const GroupScore& group) { return group_json(group, trains); })},
      {"constants", JsonValue::array()},
      {"points", JsonValue::array()}};
  if (validation.matters) json["matters"] = group_json(*validation.matters, trains);
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
                       {"each", array_of(validation.settings,
                                         [&](const Setting& setting) { return setting_json(validation, setting); })}};
    json["null_model"] = null_model_json(validation.all);
  }
  json["fitting_rows"] = validation.measured.points.size() - validation.all.error.rows;
  return json;
}

const View& validation_view() {
  static const View view{{
      ViewText{"{file}: {all/points} points of {quantity} scored[, {fitting_rows:nonzero} fitted]; positive errors: "
               "predicted too fast"},
      ViewTable{"constants",
                {{"constant", "{constant}"},
                 {"level", "{level}"},
                 {"for", "{for}"},
                 {"value", "{value:unit}", "", "* at_limit"},
                 {"fitted to lines", "{lines}"}},
                3},
      ViewList{"constants", "*: {constant} ends at its limit: something else is slow, or fast", "at_limit"},
      ViewList{"constants",
               "note: the rows do not determine {constant}[ separately from {not_told_from:nonzero}][: "
               "{simulated:unit} and {fits_as_well:unit} fit equally well][; {simulated:unit} is simulated]",
               "!known"},
      ViewList{"constants", "note: no scored row uses {constant} for {for}", "!scored_rows"},
      ViewTable{"groups all matters", score_columns, 1, "points"},
      ViewText{"There is no point where communication matters.", "matters/error !matters/points"},
      ViewText{"Median errors: {all/error/median:percent}; of the better null model, {null_model/name}, "
               "{null_model/median:percent}."},
      ViewText{
          "Methods of one setting, in {methods/settings} settings: {methods/right} of {methods/pairs} pairs are in "
          "the right order, and the winner in {methods/winners}. Choosing the predicted winner loses "
          "{methods/mean_regret:percent} on average, {methods/worst_regret:percent} at worst.",
          "methods/settings"},
  }};
  return view;
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
