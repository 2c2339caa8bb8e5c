// The price of a cluster from its parts: ports, switches, hosts and GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// The parts of a cluster. Those of a topology are all of its parts, whether workers use them or not.
struct FabricParts {
  std::int64_t gpus = 0, hosts = 0;
  std::int64_t switches = 0;
  std::int64_t ports = 0;  ///< of hosts and switches: two for each cable between them
};

/// Prices in dollars.
struct FabricPrices {
  double gpu = 0, host = 0, switches = 0, port = 0;
  std::vector<std::string> fabrics;  ///< clusters to choose from
  SourceLocation place;

  double of(const FabricParts& parts) const;
};

/// Reads gpu_usd, host_usd, switch_usd, port_usd and "fabrics". Throws InputError.
FabricPrices read_prices(const Files& files, const std::string& file);

/// Counts the parts. Throws InputError at the cluster if switches have a price, but no topology says how many there
/// are.
FabricParts parts_of(const Cluster& cluster, std::int64_t workers, const FabricPrices& prices);

}  // namespace allreplay
