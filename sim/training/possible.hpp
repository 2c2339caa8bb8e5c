// What can be simulated, asked before anything is built.
#pragma once

#include "sim/schedule/codec.hpp"
#include "sim/training/collective_choice.hpp"

namespace allreplay {

/// The scenario's collective. Throws InputError for all that collective_of() does, for one that cannot carry the
/// gradients if there are any, for costs that the cluster file does not give, for numbers of workers that the algorithm
/// or the topology cannot have, and for what would take hours, or fill the memory.
CollectiveChoice require_possible(const Scenario& scenario);

/// All that plans of the scenario can ask for: calls of everybody and, where the state is shared out, of shard groups.
std::vector<Call> possible_calls(const Scenario& scenario, const CollectiveChoice& choice);

/// Throws InputError where an iteration would be beyond the clock, or a day long.
void require_within_clock(const Scenario& scenario, const BlockCost& cost);

/// The scenario's codec at work on a worker slowed so much.
std::optional<Compression> compression_of(const Scenario& scenario, const Algorithm& algorithm, double slowdown);

/// Whether somebody asks how fast bytes move.
bool asks_for_rates(const Scenario& scenario);

/// Whether the network has nodes with ports: all-reduces are rings of them.
bool on_rails(const Network& network);

/// How many ports those have; 1 where there are no such nodes.
std::int64_t ports_of_a_node(const Network& network);

}  // namespace allreplay
