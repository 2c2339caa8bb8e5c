#include "sim/report/collective_report.hpp"

#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/table.hpp"
#include "sim/training/job.hpp"

namespace allreplay {

std::vector<Bytes> parse_sizes(std::string_view text, const SourceLocation& place) {
  constexpr std::string_view right = "one size, or a range like 8B:1GiB:x2";
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) {
    const Bytes bytes = parse_size(text, place);
    if (bytes < 1) throw InputError(place, fmt::format("'{}' is nothing to send", text), right);
    return {bytes};
  }
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos || second + 1 >= text.size() || text[second + 1] != 'x')
    throw InputError(place, fmt::format("'{}' is no range of sizes", text), right);
  const Bytes from = parse_size(text.substr(0, first), place),
              to = parse_size(text.substr(first + 1, second - first - 1), place);
  const double factor = parse_number(text.substr(second + 2), place);
  if (from < 1 || to < from || !(factor > 1)) throw InputError(place, fmt::format("'{}' leads nowhere", text), right);
  std::vector<Bytes> sizes;
  for (double size = static_cast<double>(from); size <= static_cast<double>(to); size *= factor) {
    const auto bytes = static_cast<Bytes>(std::llround(size));
    if (sizes.empty() || bytes > sizes.back()) sizes.push_back(bytes);
    if (sizes.size() > 10'000)
      throw InputError(place, fmt::format("'{}' has more than 10000 sizes", text), "a larger factor");
  }
  return sizes;
}

double bus_factor(Purpose purpose, std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  switch (purpose) {
    case Purpose::AllReduce:
    case Purpose::Selection:
      return 2 * (n - 1) / n;
    case Purpose::ReduceScatter:
      return (n - 1) / n;
    case Purpose::AllGather:
      return n - 1;
    default:
      return 1;
  }
}

CollectivePricing collective_pricing(const Scenario& scenario) {
  const Job job = job_of(scenario);
  const auto fabric = job.fabric;
  CollectivePricing pricing{job.choice.algorithm->purpose, scenario.workers, {}, 0, {}, {}, job.warning};
  pricing.time = [fabric](Bytes bytes) { return fabric->alone(bytes, CollectiveOp::AllReduce); };
  pricing.messages = fabric->messages(CollectiveOp::AllReduce);
  pricing.events = [fabric] { return fabric->pricing_events(); };
  const Network& network = scenario.cluster.network;
  if (job.choice.algorithm->name == "nccl" && network.nccl && scenario.workers > 1)
    pricing.choice = [price = NcclPrice(network, scenario.workers, CollectiveOp::AllReduce)](Bytes bytes) {
      return price.choice(static_cast<double>(bytes));
    };
  return pricing;
}

std::string collective_heading(const Scenario& scenario, const CollectivePricing& pricing) {
  const CollectiveChoice choice = collective_of(scenario);
  std::string text = fmt::format("{} among {} on {}, {}", choice.algorithm->name, counted(scenario.workers, "worker"),
                                 scenario.cluster.name, to_string(choice.fidelity));
  if (pricing.messages > 0) text += fmt::format(": {} each", counted(pricing.messages, "message"));
  return text + "\n\n";
}

std::vector<CollectiveRow> measure_collective(const CollectivePricing& pricing, const std::vector<Bytes>& sizes) {
  std::vector<CollectiveRow> rows;
  for (const Bytes bytes : sizes) {
    const std::int64_t events = pricing.events ? pricing.events() : 0;
    const auto begin = std::chrono::steady_clock::now();
    CollectiveRow row{.bytes = bytes, .time_s = to_seconds(pricing.time(bytes))};
    row.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    row.events = pricing.events ? pricing.events() - events : 0;
    row.messages = bytes > 0 ? pricing.messages : 0;
    if (pricing.choice) row.choice = pricing.choice(bytes);
    if (row.time_s > 0) row.algbw_GBps = static_cast<double>(bytes) / row.time_s * 1e-9;
    row.busbw_GBps = row.algbw_GBps * bus_factor(pricing.purpose, pricing.workers);
    rows.push_back(row);
  }
  return rows;
}

std::string collective_table(const std::vector<CollectiveRow>& rows, const Screen& screen) {
  std::vector<TableColumn> columns{{"size", "B"}, {"time", "us"}, {"algbw", "GB/s"}, {"busbw", "GB/s"}};
  const bool choices = !rows.empty() && rows.front().choice;
  if (choices) columns.insert(columns.end(), {"algorithm", "protocol"});
  Table table(columns);
  for (const CollectiveRow& row : rows) {
    std::vector<TableCell> cells{cell::count(row.bytes), cell::number(row.time_s * 1e6, 2),
                                 cell::number(row.algbw_GBps, 4), cell::number(row.busbw_GBps, 4)};
    if (choices) cells.insert(cells.end(), {row.choice->algorithm, row.choice->protocol});
    table.add(std::move(cells));
  }
  return table.text(screen);
}

std::string collective_json(const std::vector<CollectiveRow>& rows) {
  auto array = JsonValue::array();
  for (const CollectiveRow& row : rows) {
    array.push_back({{"bytes", row.bytes},
                     {"time_s", row.time_s},
                     {"algbw_GBps", row.algbw_GBps},
                     {"busbw_GBps", row.busbw_GBps},
                     {"messages", row.messages},
                     {"events", row.events},
                     {"wall_s", row.wall_s}});
    if (!row.choice) continue;
    array.back()["algorithm"] = row.choice->algorithm;
    array.back()["protocol"] = row.choice->protocol;
  }
  return array.dump(2) + "\n";
}

}  // namespace allreplay
