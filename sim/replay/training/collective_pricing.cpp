#include "sim/replay/training/collective_pricing.hpp"

#include <chrono>

#include "sim/replay/training/fidelity_note.hpp"
#include "sim/replay/training/job.hpp"

namespace allreplay {

double bus_factor(const Algorithm& algorithm, std::int64_t workers) {
  const auto n = static_cast<double>(workers);
  return gathers_payloads(algorithm) ? n - 1 : operation_row(algorithm.operation).bus_factor(n);
}

CollectivePricing price_collective(const Scenario& scenario, const std::vector<Bytes>& sizes,
                                   const std::function<void()>& after_each) {
  const CollectiveOp op = scenario.operation.value_or(CollectiveOp::AllReduce);
  const Job job = job_of(scenario);
  const Algorithm& algorithm = *job.choice.algorithm;
  const Fabric& fabric = *job.fabric;
  const Network& network = scenario.cluster.network;
  std::optional<NcclPrice> nccl;
  if (algorithm.name == "nccl" && network.nccl && scenario.workers > 1)
    nccl.emplace(nccl_levels(network), scenario.workers, op);
  const bool sends = algorithm.operation == CollectiveOp::AllToAll && job.choice.named == "nccl";
  const double of_algbw = scenario.operation ? operation_row(op).bus_factor(static_cast<double>(scenario.workers))
                                             : bus_factor(algorithm, scenario.workers);
  CollectivePricing pricing{{}, fabric.messages(op), job.warning, fidelity_note(job, op, sizes)};
  for (const Bytes bytes : sizes) {
    const std::int64_t events = fabric.pricing_events();
    const auto begin = std::chrono::steady_clock::now();
    CollectiveRow row{.bytes = bytes, .operation = scenario.operation, .time_s = to_seconds(fabric.alone(bytes, op))};
    if (network.topology && network.topology->routing.given) row.routing = in_words(network.topology->routing);
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
    if (after_each) after_each();
  }
  return pricing;
}

}  // namespace allreplay
