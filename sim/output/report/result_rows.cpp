#include "sim/output/report/result_rows.hpp"

#include <fmt/format.h>

namespace allreplay {

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
