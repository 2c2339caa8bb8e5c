// Checks that a scenario can be simulated, before anything is built.
#pragma once

#include "sim/plans/schedule/codec.hpp"
#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

/// Returns the scenario's collective. Throws InputError like collective_of(), and if the collective cannot carry the
/// gradients, the cluster file lacks costs, the algorithm or topology does not support the number of workers, or the
/// simulation would take hours or fill the memory.
CollectiveChoice require_possible(const Scenario& scenario);

/// Returns the calls that plans of the scenario may make: among all workers and, with sharded state, in shard groups.
std::vector<Call> possible_calls(const Scenario& scenario, const CollectiveChoice& choice);

/// The place to blame for times that are too long: the change of bandwidths or latencies, else the cluster file.
const SourceLocation& blamed_for_times(const Scenario& scenario);

/// Throws InputError if an iteration would take longer than a day, or than times can represent.
void require_within_clock(const Scenario& scenario, const BlockCost& cost);

/// Returns the scenario's codec on a worker with this slowdown; none without a codec or tensors.
std::optional<Compression> compression_of(const Scenario& scenario, const Algorithm& algorithm, double slowdown);

/// True if the interference depends on the rate of transfers.
bool asks_for_rates(const Scenario& scenario);

/// True if the network has nodes with ports, along which all-reduces form rings.
bool on_rails(const Network& network);

/// Returns the number of ports of such a node; 1 if there are none.
std::int64_t ports_of_a_node(const Network& network);

}  // namespace allreplay
