// Merges the parts of a sweep, and adds columns to its table.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace allreplay {

MergedSweep merge_sweep(const SweepQuestions& sweep, const std::vector<std::string>& parts, const std::string& out,
                        bool force) {
  const Files& files = sweep.files;
  const FileRows all = sweep.check().all;
  std::vector<std::optional<std::string>> lines(all.numbers.size());
  std::vector<const std::string*> holders(lines.size());
  for (const std::string& part : parts) {
    const KeptRows kept = read_rows(files, part, all, &Files::read);
    if (!kept.others.empty())
      throw InputError({part, ""}, fmt::format("has rows that this sweep does not have: {}", kept.others),
                       "compute the part again, with --resume");
    for (std::size_t row = 0; row < lines.size(); ++row) {
      if (!kept.lines[row]) continue;
      if (lines[row])
        throw InputError({part, ""}, fmt::format("has row {}, which is also in {}", row + 1, *holders[row]),
                         "each share once");
      lines[row] = kept.lines[row];
      holders[row] = &part;
    }
  }
  SweepFile file(files, out, all, {.resume = false, .force = force});
  std::vector<std::size_t> missing;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    if (lines[row]) {
      file.write(row, *lines[row]);
    } else {
      file.leave_out();
      missing.push_back(row);
    }
  }
  file.finish();
  return {std::move(missing), lines.size()};
}

std::string missing_rows(const std::vector<std::size_t>& missing, std::size_t rows) {
  constexpr int most = 20;  // ranges, to keep the line short
  std::string text;
  int shown = 0;
  for (std::size_t i = 0, end = 0; i < missing.size(); i = end) {
    for (end = i + 1; end < missing.size() && missing[end] == missing[end - 1] + 1;) ++end;
    if (shown++ == most) return fmt::format("{} of {} rows are missing: {}, …", missing.size(), rows, text);
    const std::size_t first = missing[i] + 1, last = missing[end - 1] + 1;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return fmt::format("{} of {} rows {} missing: {}", missing.size(), rows, missing.size() == 1 ? "is" : "are", text);
}

namespace {

constexpr std::array<const char*, 4> cluster_keys{"nodes", "gpus_per_node", "rails", "bandwidth_GBps"};

std::array<std::string, 4> cluster_cells(const Network& network, std::int64_t workers) {
  const std::optional<double> bandwidth = port_bandwidth(network);
  if (!network.topology && !network.node && !bandwidth) return {};  // only costs of whole collectives are known
  const std::int64_t rails = network.topology ? network.topology->ports_of_host()
                             : network.node   ? network.node->rails
                                              : 1;
  return {fmt::format("{}", nodes_of(network, workers)), fmt::format("{}", node_workers_of(network)),
          fmt::format("{}", rails), bandwidth ? fmt::format("{}", *bandwidth / 1e9) : ""};
}

}  // namespace

void add_cluster_columns(ResultTable& table, const Inputs& inputs, const Requests& requests) {
  Library library(inputs);
  const std::size_t place = table.place("cluster") + 1;
  table.columns.insert(table.columns.begin() + static_cast<std::ptrdiff_t>(place), cluster_keys.begin(),
                       cluster_keys.end());
  auto row = table.rows.begin();
  for (const Request request : requests) {
    const Scenario scenario = library.resolve_network(request);
    Texts cells;
    for (std::size_t i = 0; i < row->cells.size(); ++i) {
      if (i == place)
        for (const std::string& cell : cluster_cells(scenario.cluster.network, scenario.workers)) cells.push_back(cell);
      cells.push_back(row->cells[i]);
    }
    row->cells = std::move(cells);
    ++row;
  }
}

}  // namespace allreplay
