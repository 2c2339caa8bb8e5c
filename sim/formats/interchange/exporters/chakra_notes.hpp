// Notes on what an exported Chakra trace cannot express, and its groups.
#pragma once

#include "sim/formats/interchange/exporters/exporter.hpp"

namespace allreplay {

/// True if the plan shards, accumulates, copies or updates, instead of only running one backward and one forward pass.
bool is_training_step(const Plan& plan);

/// Numbers the groups, family by family, from 1: in ASTRA-sim 0 means all workers.
std::int64_t group_number(const Plan& plan, std::uint32_t family, std::int64_t workers, std::int64_t worker);

/// Returns ASTRA-sim's file of groups: the workers of each group, by its number.
std::string groups_text(const Plan& plan, std::int64_t workers);

/// Returns what the trace cannot express. `vanished`: the compute nodes whose rounded duration is 0.
std::vector<std::string> chakra_notes(const ExportRequest& request, const Plan& plan, std::size_t vanished);

}  // namespace allreplay
