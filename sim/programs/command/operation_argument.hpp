// --operation of several commands.
#pragma once

#include <string>

#include "sim/base/core/collective_op.hpp"

namespace allreplay {

/// The operation of that name, which may be spelt as nccl-tests and MPI do: all_reduce, alltoall, reduce_scatter_perf.
CollectiveOp parse_operation(const std::string& name);

}  // namespace allreplay
