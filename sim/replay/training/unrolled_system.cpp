// The queues and servers that an unrolled plan runs on.
#include <algorithm>
#include <numeric>

#include "sim/replay/training/unroll.hpp"

namespace allreplay {

Influence felt(const Interference& interference, std::uint32_t network, std::vector<std::uint32_t> on) {
  Influence influence{.from = network, .on = std::move(on)};
  influence.slowdown = [interference](const Load& load) {
    if (!interference.at) return load.in_flight > 0 ? interference.compute : 1.0;
    return 1 + (interference.compute - 1) * load.rate / *interference.at;
  };
  return influence;
}

System system_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams, Clock& clock,
                 const std::vector<ServerUse>& channels, const std::optional<Interference>& interference) {
  const std::size_t computing = unrolled.separate_codec ? 2 * unrolled.classes : unrolled.classes;
  const std::size_t pairs = computing + (unrolled.pairs ? unrolled.classes : 0);
  const auto in_lanes = std::count_if(plan.lanes.begin(), plan.lanes.end(), [](const Lane& one) { return one.stream; });
  streams.assign(pairs + static_cast<std::size_t>(in_lanes), Stream());
  System system;
  const auto serve = [&](const ServerUse& server) {
    system.servers.push_back(server);
    return static_cast<std::uint32_t>(system.servers.size() - 1);
  };
  // The program is a chain of tasks; the codec's tasks run between them, first come, first served.
  for (std::size_t c = 0; c < unrolled.classes; ++c)
    system.queues.push_back({"compute",
                             {.order = unrolled.pairs ? Order::Priority : Order::FirstReady},
                             serve({&streams[c], Phase::Compute})});
  const auto first = static_cast<std::uint32_t>(system.servers.size());
  for (const ServerUse& channel : channels) serve(channel);
  if (unrolled.per_rank_start) system.queues.push_back({"arrivals", {.window = {.count = Window::unlimited}}, first});
  std::size_t next = pairs;  // stream of a lane
  for (const Lane& lane : plan.lanes)
    system.queues.push_back(
        {lane.name,
         {lane.order, lane.window},
         lane.stream ? serve({&streams[next++], Phase::Compute}) : first + (channels.size() > 1 ? lane.channel : 0)});
  for (std::size_t i = unrolled.classes; i < computing; ++i)
    system.queues.push_back({"codec", {}, serve({&streams[i], Phase::Compute})});
  if (interference) {
    std::vector<std::uint32_t> compute(unrolled.classes);  // the streams are the first servers
    std::iota(compute.begin(), compute.end(), 0U);
    system.influences.push_back(felt(*interference, first, std::move(compute)));
  }
  if (unrolled.ticks)
    system.queues.push_back({"clock", {.window = {.count = Window::unlimited}}, serve({&clock, Phase::Compute})});
  for (std::size_t i = computing; i < pairs; ++i)
    system.queues.push_back({"ep", {}, serve({&streams[i], Phase::Exchange})});
  return system;
}

}  // namespace allreplay
