#include "sim/experiment/answer.hpp"

#include <utility>

namespace allreplay {

void pack(Packer& packer, const Outcome& outcome) {
  const Result& result = outcome.result;
  packer.add(result.metrics).add(result.memory.parts).add(result.memory.peak).add(result.plan.step).add(outcome.wall_s);
  packer.add_text(result.collective).add_text(result.fidelity).add_text(result.warning);
}

Outcome unpack(Unpacker& unpacker, Scenario scenario) {
  Outcome outcome{std::move(scenario), {}, 0};
  Result& result = outcome.result;
  result.metrics = unpacker.take<Metrics>();
  result.memory.parts = unpacker.take<MemoryParts>();
  result.memory.peak = unpacker.take<double>();
  result.plan.step = unpacker.take<Step>();
  outcome.wall_s = unpacker.take<double>();
  result.collective = unpacker.take_text();
  result.fidelity = unpacker.take_text();
  result.warning = unpacker.take_text();
  return outcome;
}

}  // namespace allreplay
