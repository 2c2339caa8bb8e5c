#include "sim/studies/experiment/cluster_columns.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"

namespace allreplay {

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
