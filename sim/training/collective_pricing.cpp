#include "sim/training/collective_pricing.hpp"

#include <chrono>

#include "sim/training/fidelity_note.hpp"
#include "sim/training/job.hpp"

namespace allreplay {

double bus_factor(Purpose purpose, std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  switch (purpose) {
    case Purpose::AllReduce:
    case Purpose::Selection:
      return 2 * (n - 1) / n;
    case Purpose::ReduceScatter:
    case Purpose::AllToAll:
      return (n - 1) / n;
    case Purpose::AllGather:
      return n - 1;
    default:
      return 1;
  }
}

double bus_factor(CollectiveOp op, std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  return op == CollectiveOp::Broadcast ? 1 : (op == CollectiveOp::AllReduce ? 2 : 1) * (n - 1) / n;
}

CollectivePricing price_collective(const Scenario& scenario, const std::vector<Bytes>& sizes) {
  const CollectiveOp op = scenario.operation.value_or(CollectiveOp::AllReduce);
  const Job job = job_of(scenario);
  const Algorithm& algorithm = *job.choice.algorithm;
  const Fabric& fabric = *job.fabric;
  const Network& network = scenario.cluster.network;
  std::optional<NcclPrice> nccl;
  if (algorithm.name == "nccl" && network.nccl && scenario.workers > 1)
    nccl.emplace(nccl_levels(network), scenario.workers, op);
  const bool sends = algorithm.purpose == Purpose::AllToAll && job.choice.named == "nccl";
  const double of_algbw = scenario.operation || algorithm.from_file
                              ? bus_factor(scenario.operation.value_or(operation_of(algorithm)), scenario.workers)
                              : bus_factor(algorithm.purpose, scenario.workers);
  CollectivePricing pricing{{}, fabric.messages(op), job.warning, fidelity_note(job, op, sizes)};
  for (const Bytes bytes : sizes) {
    const std::int64_t events = fabric.pricing_events();
    const auto begin = std::chrono::steady_clock::now();
    CollectiveRow row{.bytes = bytes, .operation = scenario.operation, .time_s = to_seconds(fabric.alone(bytes, op))};
    if (network.topology && network.topology->routing.given) row.routing = to_string(network.topology->routing);
    row.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    row.events = fabric.pricing_events() - events;
    if (bytes > 0)
      row.messages =
          job.rounds ? job.rounds->messages_laid(job.rounds->sent(fabric.id_of(op), static_cast<double>(bytes)).rounds)
                     : pricing.messages;
    if (nccl) row.choice = nccl->choice(static_cast<double>(bytes));
    if (sends) row.choice = NcclChoice{"p2p", "Simple"};
    if (row.time_s > 0) row.algbw_GBps = static_cast<double>(bytes) / row.time_s * 1e-9;
    row.busbw_GBps = row.algbw_GBps * of_algbw;
    pricing.rows.push_back(row);
  }
  return pricing;
}

}  // namespace allreplay
