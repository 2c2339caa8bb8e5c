#include "sim/formats/interchange/exporters/chakra_notes.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/units.hpp"

namespace allreplay {

bool is_training_step(const Plan& plan) {
  return !(plan.sharding == ShardingConfig()) ||
         std::any_of(plan.program().begin(), plan.program().end(),
                     [](const Work& one) { return one.kind != Activity::Forward && one.kind != Activity::Backward; });
}

std::int64_t group_number(const Plan& plan, std::uint32_t family, std::int64_t workers, std::int64_t worker) {
  std::int64_t number = 1 + plan.groups[family].group.of(workers).index_of(worker);
  for (std::uint32_t other = group_all + 1; other < family; ++other)
    number += plan.groups[other].group.of(workers).repeats;
  return number;
}

std::string groups_text(const Plan& plan, std::int64_t workers) {
  std::map<std::int64_t, std::vector<std::int64_t>> members;
  for (std::uint32_t family = group_all + 1; family < plan.groups.size(); ++family)
    for (std::int64_t worker = 0; worker < workers; ++worker)
      members[group_number(plan, family, workers, worker)].push_back(worker);
  std::string text;
  for (const auto& [number, ranks] : members)
    text += fmt::format("{}\"{}\": [{}]", text.empty() ? "{" : ",\n ", number, fmt::join(ranks, ", "));
  return text + "}\n";
}

std::vector<std::string> chakra_notes(const ExportRequest& request, const Plan& plan, std::size_t vanished) {
  const Profile& profile = request.profile;
  std::vector<std::string> notes;
  if (!request.plan) notes.push_back("without --strategy every tensor is all-reduced separately, one after another");
  const auto rounded = std::count_if(profile.layers.begin(), profile.layers.end(), [](const Layer& layer) {
    return layer.forward.count() % 1'000'000 != 0 || layer.backward.count() % 1'000'000 != 0;
  });
  if (rounded > 0)
    notes.push_back(fmt::format(
        "durations are whole microseconds: those of {} layers were rounded{}, so that every end is right to 0.5 us if "
        "nothing waits; duration_ps, which `allreplay import` reads, is exact",
        rounded, vanished > 0 ? fmt::format(" ({} nodes to 0, which ASTRA-sim reads as 1 ns)", vanished) : ""));
  notes.push_back("the work is given by durations only, without num_ops and tensor_size, so a roofline must be off");
  if (request.collective == "parameter-server")
    notes.push_back("parameter-server: pushes to servers and pulls from them became collectives among the workers");
  if (plan.sharding.shard_group > 0)
    notes.push_back(
        fmt::format("groups: pg_name is a number: first the shard groups of {0} consecutive workers, then the groups "
                    "of workers at the same place in them; this is worker {1}'s file, and --per-worker writes those of "
                    "all workers and the file of groups",
                    plan.sharding.shard_group, request.worker));
  if (plan.sharding.has_expert_groups())
    notes.push_back(fmt::format(
        "groups: pg_name is a number; those of experts come last; this is worker {}'s file, and --per-worker "
        "writes those of all workers and the file of groups",
        request.worker));
  if (plan.sharding.accumulate > 1)
    notes.push_back(
        fmt::format("{} micro-batches: names of passes end in _1_FWD, _1_BWD and so on, and `allreplay import` reads "
                    "each as a layer",
                    plan.sharding.accumulate));
  if (is_training_step(plan)) notes.push_back("the trace does not say when memory is freed");
  notes.push_back(
      "tensors, batch size, device, precision, the update, activations and groups are in attributes that other "
      "programs do not read");
  const auto any = [&](auto&& is) { return std::any_of(plan.lanes.begin(), plan.lanes.end(), is); };
  const bool urgent = any([](const Lane& lane) { return lane.order == Order::Priority; });
  if (urgent)
    notes.push_back(
        "the simulator decides which ready block goes first: the lowest id, as in ASTRA-sim, or the largest "
        "comm_priority");
  if (urgent || any([](const Lane& lane) { return lane.window.count != 1; }))
    notes.push_back(
        "the simulator decides how many blocks may be in flight: ASTRA-sim sends one at a time, as bytescheduler does "
        "with `-o credit=1`");
  if (any([](const Lane& lane) { return lane.window.bytes != Window::unlimited; }))
    notes.push_back("a window in bytes has no counterpart");
  if (plan.lanes.size() > 1)
    notes.push_back(fmt::format(
        "{} lanes share the network: if only one collective is in flight at a time, the first lane's goes first",
        plan.lanes.size()));
  for (const Lane& lane : plan.lanes)
    if (lane.tick > Time(0)) notes.push_back(fmt::format("the tick of {} was left out", write_duration(lane.tick)));
  return notes;
}

}  // namespace allreplay
