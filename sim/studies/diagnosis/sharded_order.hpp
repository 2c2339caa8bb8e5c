// The ops of a sharded job (FSDP, ZeRO-3, Megatron's distributed optimizer) and their dependencies. Unlike those of
// job_graph.hpp, these are read from each rank and step: when a rank prefetches is up to it. docs/diagnosis.md.
#pragma once

#include "sim/studies/diagnosis/job_graph.hpp"

namespace allreplay {

/// True if some op of the job has a kind that only sharded jobs have.
bool is_sharded(const MeasuredJob& job);

/// "backward-compute of unit 3, micro-batch 0", "unit-reduce 3".
std::string sharded_op_name(OpKind kind, std::int32_t chunk, std::uint32_t seq);

/// The stream of an op on its rank. Collectives of different kinds are on different streams, unless the file says
/// which.
std::uint32_t stream_of(const JobOp& op);

/// Lays out the ops of a sharded job. Throws InputError, naming file and op, unless all ranks ran the same ops in all
/// steps, in the same groups, and nothing waits for itself.
MeasuredSteps lay_out_sharded(MeasuredJob job);

}  // namespace allreplay
