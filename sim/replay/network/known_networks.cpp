#include "sim/replay/network/known_networks.hpp"

#include <algorithm>

#include "sim/inputs/cluster/make_topology.hpp"

namespace allreplay {

namespace {

// A search alternates between a few networks. Larger networks are not kept, since a sweep over them would then need
// several times their memory.
constexpr std::size_t most_kept = 8;
constexpr std::size_t most_bytes = 16'000'000;

std::size_t bytes_of(const Topology& topology) { return topology.links().size() * sizeof(Link); }
std::size_t bytes_of(const RoundsFabric& fabric) { return fabric.bytes(); }

}  // namespace

template <class Key, class Value, class Make>
std::shared_ptr<const Value> KnownNetworks::known(Shelf<Key, Value>& shelf, Key key, const Make& make) {
  const auto entry = [&] {
    const std::lock_guard guard(mutex_);
    const auto found = std::find_if(shelf.begin(), shelf.end(), [&](const auto& one) { return one->key == key; });
    if (found != shelf.end())
      shelf.splice(shelf.begin(), shelf, found);
    else
      shelf.push_front(std::make_shared<Entry<Key, Value>>(std::move(key)));
    if (shelf.size() > most_kept) shelf.pop_back();
    return shelf.front();
  }();
  const std::lock_guard guard(entry->mutex);
  if (entry->value) return entry->value;
  const std::shared_ptr<const Value> value = make(entry->key);
  if (bytes_of(*value) <= most_bytes) {
    entry->value = value;
  } else {
    const std::lock_guard shelves(mutex_);
    shelf.remove(entry);
  }
  return value;
}

std::shared_ptr<const Topology> KnownNetworks::topology(const TopologySpec& spec, std::int64_t workers) {
  return known(topologies_, {spec, workers}, [](const TopologyKey& key) -> std::shared_ptr<const Topology> {
    return make_topology(key.spec, key.workers);
  });
}

std::shared_ptr<const RoundsFabric> KnownNetworks::lay_on(const NetworkSetup& setup,
                                                          const std::shared_ptr<const Topology>& topology) {
  // The algorithm of a file lives only as long as the scenarios that name the file.
  if (std::any_of(setup.calls.begin(), setup.calls.end(), [](const Call& call) { return call.algorithm->from_file; }))
    return allreplay::lay_on(setup, *topology);
  return known(fabrics_, {setup, topology},
               [](const FabricKey& key) { return allreplay::lay_on(key.setup, *key.topology); })
      ->copy();
}

}  // namespace allreplay
