#include "sim/plans/schedule/alike.hpp"

namespace allreplay {

void open_idle_windows(Plan& plan) {
  std::vector<std::int64_t> all(plan.lanes.size(), 0);
  std::vector<double> bytes(plan.lanes.size(), 0);
  for (const Transfer& transfer : plan.transfers) {
    ++all[transfer.lane];
    bytes[transfer.lane] += transfer.bytes;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Window& window = plan.lanes[i].window;
    if (window.count >= all[i]) window.count = Window::unlimited;
    if (static_cast<double>(window.bytes) >= bytes[i]) window.bytes = Window::unlimited;
  }
}

bool replayed_alike(const Plan& a, const Plan& b) {
  return a.sharding == b.sharding && a.roles == b.roles && a.groups == b.groups && a.blocks == b.blocks &&
         a.transfers == b.transfers && a.gates == b.gates && a.lanes == b.lanes && a.copy_rate == b.copy_rate &&
         a.quantise_rate == b.quantise_rate && a.outer_update == b.outer_update && a.memory_policy == b.memory_policy;
}

std::uint64_t digest_of(const Plan& plan) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a on words
  const auto mix = [&](auto... words) {
    ((digest = (digest ^ static_cast<std::uint64_t>(words)) * 0x100000001b3), ...);
  };
  for (const Block& block : plan.blocks) {
    mix(block.slices.size(), block.priority, block.tick);
    for (const Slice& slice : block.slices) mix(slice.tensor, slice.offset, slice.bytes);
  }
  for (const Transfer& transfer : plan.transfers) mix(transfer.payload.block, transfer.lane, transfer.priority);
  for (const Lane& lane : plan.lanes) mix(lane.window.count, lane.window.bytes, lane.tick.count());
  for (const Role& role : plan.roles) mix(role.program.size(), role.workers.size());
  mix(plan.gates.size(), plan.sharding.shard_group);
  return digest;
}

}  // namespace allreplay
