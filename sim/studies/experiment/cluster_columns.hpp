// The numbers of the clusters of a sweep's rows, as columns next to their names.
#pragma once

#include "sim/studies/experiment/requests.hpp"
#include "sim/studies/results/result_table.hpp"

namespace allreplay {

/// Inserts the columns `nodes`, `gpus_per_node`, `rails` and `bandwidth_GBps` after `cluster`. `table` has a row for
/// each request, in their order. Throws InputError.
void add_cluster_columns(ResultTable& table, const Inputs& inputs, const Requests& requests);

}  // namespace allreplay
