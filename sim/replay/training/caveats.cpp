#include "sim/replay/training/caveats.hpp"

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

namespace {

// Returns a warning if a hierarchical collective runs as a plain ring.
std::string caveat(const Scenario& scenario, const CollectiveChoice& choice) {
  if (!choice.algorithm->grouped) return "";
  const std::int64_t size = workers_together(scenario);
  const auto& spec = scenario.cluster.network.topology;
  if (size <= 1 && spec && !spec->placement.packed() && (hosts_of_a_switch(*spec) > 1 || spec->gpus_per_host > 1))
    return fmt::format("no consecutive workers share a host in this placement: {} runs as one group, a ring",
                       choice.algorithm->name);
  if (size <= 1 || scenario.workers <= size || hierarchy_groups(scenario.workers, 1, size) > 1) return "";
  return fmt::format("{} workers do not fill groups of {}: {} runs as one group, a ring", scenario.workers, size,
                     choice.algorithm->name);
}

// Returns a note if the cluster file describes servers but the collective has none.
std::string idle_servers(const Scenario& scenario, const CollectiveChoice& choice) {
  if (!scenario.cluster.network.server || choice.algorithm->servers || scenario.workers == 1) return "";
  return fmt::format("note: the cluster's server has no effect here: {} has no servers", choice.algorithm->name);
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() ? other : other.empty() ? one : one + "\n" + other;
}

// Returns a warning if the codec saves nothing, such as fp16 for gradients in half precision.
std::string waste(const Scenario& scenario, const Compression& compression) {
  const Bytes bytes = scenario.profile->bytes(), sent = compression.wire_bytes(bytes);
  if (sent < bytes) return "";
  return fmt::format("{} saves nothing: it sends {} for {} of gradients", scenario.codec->name, format_size(sent),
                     format_size(bytes));
}

// Returns a warning if the codec's times are from another device than the profile's, and no options replace them.
std::string device_caveat(const Scenario& scenario) {
  if (scenario.options.codec.encode && scenario.options.codec.decode) return "";
  const std::string here = lower_case(scenario.profile->device), there = lower_case(scenario.codec->device);
  if (!here.empty() && (here.find(there) != std::string::npos || there.find(here) != std::string::npos)) return "";
  return fmt::format("the times of {} are {} for {}, not for {}; measure them, or give --option encode and decode",
                     scenario.codec->name, scenario.codec->origin, scenario.codec->device,
                     scenario.profile->device.empty() ? "the profile's device" : scenario.profile->device);
}

std::string codec_caveat(const Scenario& scenario, const std::optional<Compression>& compression) {
  return compression ? joined(waste(scenario, *compression), device_caveat(scenario)) : "";
}

}  // namespace

std::string caveats_of(const Scenario& scenario, const CollectiveChoice& choice,
                       const std::optional<Compression>& compression) {
  const std::string network =
      choice.detailed() ? caveat(scenario, choice)
                        : implausible(scenario.cluster.network, *choice.algorithm, scenario.workers, choice.options);
  return joined(joined(network, by_nodes_caveat(scenario.cluster.network, scenario.workers)),
                joined(idle_servers(scenario, choice), codec_caveat(scenario, compression)));
}

}  // namespace allreplay
