#include "sim/output/report/result_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace allreplay {

void add_names(JsonValue& row, const ScenarioLabels& labels, std::size_t place) {
  row["names"] = JsonValue::object();
  for (const std::string_view name : named_by)
    if (name == "strategy" || labels.differs_by(name)) {
      const std::string& value = labels.name(place, name);
      row["names"][name] = value.empty() ? "data parallel" : value;
    }
}

void add_standing(JsonValue& row, const Standing& standing) {
  if (row.contains("lower_bound_s") && !row["lower_bound_s"].is_null())
    row["above_bound_share"] = row["iteration_s"].get<double>() / row["lower_bound_s"].get<double>() - 1;
  row["fits"] = standing.fits;
  row["wins"] = standing.wins;
  row["ties"] = standing.ties;
  row["tight"] = standing.fits && !standing.is_roomy;
}

void add_notes_on_marks(JsonValue& notes, const JsonValue& rows, const WinningRule& rule) {
  const auto any = [&](const char* mark, bool value) {
    return std::any_of(rows.begin(), rows.end(), [&](const JsonValue& row) { return row.at(mark) == value; });
  };
  if (any("ties", true)) notes.push_back({{"note", "tie"}, {"tie", rule.tie}});
  if (any("tight", true)) notes.push_back({{"note", "headroom"}, {"headroom", rule.headroom}});
  if (any("fits", false)) notes.push_back({{"note", "does not fit"}});
}

ViewColumn quantity(const std::string& hole, std::string_view like, std::string sign) {
  const std::string key = hole.substr(1, hole.find_first_of(":}") - 1);
  return {title_of(column_of(key)), hole, like.empty() ? "" : title_of(column_of(like)), std::move(sign)};
}

ViewTable result_table(const std::string& rows) {
  std::vector<ViewColumn> columns;
  for (const std::string_view name : named_by)
    columns.push_back({std::string(name), fmt::format("{{names/{}}}", name)});
  const ViewColumn numbers[] = {
      quantity("{iteration_s}", "", "~ ties"),
      quantity("{ci95_s}"),
      quantity("{exposed_comm_s}", "iteration_s"),
      quantity("{straggler_s:nonzero}", "iteration_s"),
      quantity("{bubble_s:nonzero}", "iteration_s"),
      quantity("{relative_efficiency}"),
      quantity("{above_bound_share}"),
      quantity("{memory_bytes}", "", "! !fits|* tight"),
      quantity("{samples_per_s}"),
      quantity("{tokens_per_s_per_gpu:0}"),
      quantity("{mfu}"),
  };
  columns.insert(columns.end(), std::begin(numbers), std::end(numbers));
  return {.rows = rows, .columns = std::move(columns), .keys = std::size(named_by)};
}

}  // namespace allreplay
