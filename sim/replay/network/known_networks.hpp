// Topologies and fabrics that scenarios share: those on the same network lay their collectives once.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/replay/network/rounds_fabric.hpp"

namespace allreplay {

/// Keeps the latest ones. Thread-safe.
class KnownNetworks {
 public:
  /// make_topology(), or the same topology as for an equal description.
  std::shared_ptr<const Topology> topology(const TopologySpec& spec, std::int64_t workers);

  /// lay_on(), or a copy of the fabric of an equal setup on the same topology. It behaves like a new one.
  std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup,
                                             const std::shared_ptr<const Topology>& topology);

 private:
  // The value for a key. It is made by the first thread that needs it, while others that need the same wait.
  template <class Key, class Value>
  struct Entry {
    explicit Entry(Key its_key) : key(std::move(its_key)) {}
    Key key;
    std::mutex mutex;
    std::shared_ptr<const Value> value;
  };
  template <class Key, class Value>
  using Shelf = std::list<std::shared_ptr<Entry<Key, Value>>>;  // the latest first

  struct TopologyKey {
    TopologySpec spec;
    std::int64_t workers;
    bool operator==(const TopologyKey&) const = default;
  };
  struct FabricKey {
    NetworkSetup setup;
    std::shared_ptr<const Topology> topology;
    bool operator==(const FabricKey& other) const { return topology == other.topology && setup == other.setup; }
  };

  template <class Key, class Value, class Make>
  std::shared_ptr<const Value> known(Shelf<Key, Value>& shelf, Key key, const Make& make);

  std::mutex mutex_;
  Shelf<TopologyKey, Topology> topologies_;
  Shelf<FabricKey, RoundsFabric> fabrics_;
};

}  // namespace allreplay
